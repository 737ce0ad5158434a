"""Made-up scores for the figures of paper A's theory claims, one set a claim, and what training logged for them."""

from __future__ import annotations

import math

import pandas as pd

from claim_scores import together
from dense_scores import HERO, VARIANCE, by_seed, scores

SEEDS, SPREAD = 5, 0.2
KERNELS = ["polynomial", "gaussian", "tangent", "conjugate", "features"]
GIVEN = {
    "A-thm1": {"open": ["dense3-signs"]},
    "A-toy": {"methods": ["layerwise"]},
    "A-layerwise": {"hero": "together", "methods": ["layerwise", HERO, "frozen"]},
    "A-kernels": {"kernels": KERNELS},
    "A-two-layer": {"methods": ["two-layer"]},
}
LOGGED = ["experiment", "learner", "point", "replica", "seed", "epoch", "split", "name", "value"]
PASSES = 8
STAGES = {"2-triangle": 0.0, "2-nabla": 2.0, "3-triangle": 4.0, "3-nabla": 6.0}  # -> the pass they begin at


def fits(
    name: str = HERO,
    error: float = 1e-7,
    corrects: bool = True,
    experiment: str = "dense3",
    depth: int = 3,
    **more,
) -> pd.DataFrame:
    """Scores of one way to train, with this error / Var(G*), on teachers with ``depth`` layers.

    f_2 is alpha^2 when layer 3 is released; at the end alpha^4 / 10 if that ``corrects`` it. Replicas are numbered
    within their job: the picked one of a seed has the seed's number.
    """

    def measures(point: dict[str, float], luck: float) -> dict[str, float]:
        before = point["alpha"] ** 2
        after = luck * (before**2 / 10 if corrects else before)
        found = {"test_error": VARIANCE * error * luck, "test_tilde_error": VARIANCE * 2 * error * luck}
        found |= {"at_3-triangle_f2": before, "test_f2": after, "found_k2": 4.0}
        for layer in range(3, depth + 1):
            found |= {f"test_f{layer}": after, f"teacher_k{layer}": 5.0 - layer, f"found_k{layer}": 5.0 - layer}
        return found

    frame = scores(name, measures, SEEDS, experiment=experiment, spread=SPREAD, **more)
    point = "alpha" + frame.alpha.astype(str) if experiment == "dense3" else "all"
    return frame.assign(point=point, replica=frame.seed + SEEDS * ~frame.picked)


def dense3() -> pd.DataFrame:
    """Four ways to train with three layers, Algorithm 1 at three alphas, and Algorithm 1 with four layers."""
    return together(
        fits(alpha=[0.05, 0.1, 1.0]),
        fits("layerwise", 1e-2, corrects=False),
        fits("frozen", 1e-3, corrects=False),
        fits("together", 2e-7).drop(columns="at_3-triangle_f2"),
        fits(error=1e-6, experiment="dense4", depth=4, d=6),
    )


def depths() -> pd.DataFrame:
    """Four settings, of three and of four layers; the one with signs is not there yet, and is open."""
    other = {"dense3-mixture": 1e-6, "dense3-signs": 3e-3}
    return together(dense3(), *[fits(error=error, experiment=name) for name, error in other.items()])


def layerwise() -> pd.DataFrame:
    """The same, the claim's hero first."""
    return dense3().sort_values("learner", key=lambda names: names != "together", kind="stable", ignore_index=True)


def trained(found: pd.DataFrame) -> pd.DataFrame:
    """What the picked replicas of Algorithm 1 log: every number falls tenfold a pass, layer 4 is not released."""
    rows = []
    for one in found[(found.learner == HERO) & found.picked].to_dict("records"):
        layers = [n for n in (2, 3, 4) if one.get(f"teacher_k{n}", math.nan) > 0]
        luck = one["test_error"] / VARIANCE
        said = [(PASSES - 1, "event", f"{n}-{kind}") for n in layers for kind in ("triangle", "nabla")]
        logged = {at: STAGES.get(at[2], math.nan) for at in said}
        for epoch in range(PASSES):
            size = 10.0 ** -(epoch + 1)
            logged[epoch, "train", "objective"] = VARIANCE * size
            logged[epoch, "val", "error"] = VARIANCE * size + luck
            logged[epoch, "val", "tilde_error"] = VARIANCE * 2 * size + luck
            logged |= {(epoch, "val", f"f{n}"): size * 10.0 ** (n - 2) for n in layers}
        job = [one[column] for column in LOGGED[:5]]
        rows += [[*job, *at, value] for at, value in logged.items()]
    return pd.DataFrame(rows, columns=LOGGED)


def toy() -> pd.DataFrame:
    """Section 6.1 at three alphas, (1.2) at one: the wrong coefficient is alpha, and goes away if corrected."""
    found = []
    for experiment, alphas in (("toy", [0.05, 0.1, 0.2]), ("example", [0.1])):
        for name, share in ((HERO, 1e-5), ("layerwise", 1.0)):

            def measures(point: dict[str, float], luck: float, share: float = share) -> dict[str, float]:
                f2 = {"test_f2": 1e-2 * share, "at_3-triangle_f2": 1e-2}
                return {"test_error": 1e-6, "learner_wrong2": point["alpha"] * share * luck, **f2}

            found.append(scores(name, measures, SEEDS, alpha=alphas, experiment=experiment, spread=SPREAD))
    return together(*found)


def agnostic() -> pd.DataFrame:
    """E(F - Y)^2 = 0.001 + (1 + 400 / N) OPT: too much with the fewer samples."""

    def measures(point: dict[str, float], luck: float) -> dict[str, float]:
        return {"test_error": 1e-3 + (1 + 400 * luck / point["N"]) * point["noise"] ** 2}

    return scores(HERO, measures, SEEDS, N=[2500, 10_000], noise=[0.0, 0.3, 1.0, 2.0], spread=SPREAD)


def classify() -> pd.DataFrame:
    """Rates of 20 / N; with the most samples one seed has no wrong sign at all."""

    def measures(point: dict[str, float], luck: float) -> dict[str, float]:
        return {"test_error": 20 * luck / point["N"], "at_3-triangle_error": 0.03 * luck}

    frame = scores(HERO, measures, SEEDS, N=[2500, 10_000, 40_000], spread=SPREAD)
    return by_seed(frame, "test_error", [0.0, 3e-4, 5e-4, 6e-4, 8e-4], frame.N == 40_000)


def search() -> pd.DataFrame:
    """Three alphas by three graphs for each of five teachers; one teacher's wrong alphas all diverged."""
    found = []
    for graph in range(3):
        for gap in (0.01, 0.1, 1.0):
            error = 1e-6 * (1 if gap == 0.1 else 2) * (1 if graph == 0 else 5)

            def measures(_, luck: float, error=error, gap=gap, graph=graph) -> dict[str, float]:
                tried = {"learner_alpha": gap, "learner_graph": graph, "learner_graph_is_true": float(graph == 0)}
                return {"test_error": error * luck, **tried}

            found.append(scores("grid", measures, SEEDS, experiment="search", spread=SPREAD))
    frame = together(*found)
    gone = (frame.seed == SEEDS - 1) & (frame.learner_alpha != frame.alpha)
    return frame.assign(val_error=frame.val_error.mask(gone), diverged=gone)


def risks(name: str, share: float, power: float = 0.0, **more) -> pd.DataFrame:
    """Errors of one method: ``share`` of Var(G*) at N = 100 (at width 4 if it has one), falling with ``power``."""

    def measures(point: dict[str, float], luck: float) -> dict[str, float]:
        size = point["N"] / 100 if math.isnan(point["m"]) else point["m"] / 4
        return {"test_error": VARIANCE * share * size**-power * luck}

    return scores(name, measures, SEEDS, **({"spread": 0.02} | more))


def kernels() -> pd.DataFrame:
    """The DenseNet learns, kernels hardly do; one is worse than a constant."""
    point = {"d": 20, "alpha": 0.05}
    found = [risks("densenet", 0.8, 3.0, N=[100, 500, 2000, 4000], **point, spread=SPREAD)]
    for i, name in enumerate(KERNELS[:-1]):
        found.append(risks(name, 1.05 - i / 50, 0.03, N=[100, 500, 2000], **point))
    return together(*found, risks("features", 1.0, 0.01, N=2000, m=[250, 1000, 4000], **point))


def two_layer() -> pd.DataFrame:
    """Theorems I.6 and I.7: errors fall with the width, far above the DenseNet's."""
    found = []
    for experiment, widths in (("hard-widths", [4, 16, 200]), ("hard-widths-even", [4, 16])):
        point = {"experiment": experiment, "d": 8, "alpha": 0.02, "N": 4000, "spread": SPREAD}
        found += [risks("densenet", 1e-8, **point), risks("two-layer", 1e-2, 1.0, m=widths, **point)]
    return together(*found)


SCORES = {"A-thm1": depths, "A-thm2": dense3, "A-toy": toy, "A-layerwise": layerwise, "A-gap": dense3}
SCORES |= {"A-thm3": agnostic, "A-thm4": classify, "A-search": search, "A-kernels": kernels}
SCORES |= {"A-two-layer": two_layer}
