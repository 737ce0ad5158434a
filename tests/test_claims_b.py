"""What the rules of B-fig2b and B-fig2c say to made-up scores. (B-fig2a: test_stats.py.)"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from claim_scores import judged, lose, method, together
from learnability.claims.b_fig2b import Parameters, needed
from learnability.claims.stats import clear_mean

pytestmark = pytest.mark.filterwarnings("error")
LEVEL, SIZES = 0.72, [500, 1000, 2000, 5000, 10000]
METHODS = ["3resnet", "3layer", "2layer"]


def by_size(name: str, star: float, sizes: list[int] = SIZES, **more) -> pd.DataFrame:
    """Errors that cross k alpha^2 at N = ``star`` exactly, times a seed's luck."""

    def measures(point, luck):
        return {"test_error": LEVEL * star * luck / point["N"], "test_cG": 0.1}

    return method(name, measures, N=list(sizes), **more)


def fig2b(hero=800, layer3=4000, layer2=1e6, **more) -> pd.DataFrame:
    stars = zip(METHODS, (hero, layer3, layer2), strict=True)
    return together(*[by_size(name, star, **more) for name, star in stars])


def judge_b(frame, **given):
    found = judged("B-fig2b", frame, **({"methods": METHODS} | given))
    assert found.threshold == 1.0
    return found


def test_2b_supported():
    found = judge_b(fig2b())
    assert found.verdict == "supported" and found.seeds == 6
    assert found.value == pytest.approx(5, rel=0.03) and 4.5 < found.low < found.high < 5.5
    assert "all 2 rivals need more" in found.note and "closest rival 3layer" in found.note
    assert "3resnet needs about 8" in found.note and "(ratio is a bound): 2layer" in found.note
    assert found.details["ratio"]["2layer"][0] == pytest.approx(10000 / 800, rel=0.03)
    assert found.details["N*"]["2layer"] == [None] * 6
    assert found.details["N*"]["3layer"] == pytest.approx([4000] * 6, rel=0.1)


def test_2b_contradicted_by_a_rival():
    found = judge_b(fig2b(hero=3000, layer3=600))
    assert found.verdict == "contradicted" and "3layer needs fewer" in found.note
    assert found.value == pytest.approx(0.2, rel=0.05) and found.high < 1
    early = judge_b(fig2b(layer3=100))  # at most 500
    assert early.verdict == "contradicted" and early.value == pytest.approx(500 / 800, rel=0.03)


def test_2b_contradicted_by_the_hero():
    found = judge_b(fig2b(hero=1e6))
    assert found.verdict == "contradicted" and "3resnet never gets there" in found.note
    assert "needs about" not in found.note
    beaten = judge_b(fig2b(hero=1e6, layer2=600))
    assert beaten.verdict == "contradicted" and beaten.value == pytest.approx(600 / 10000, rel=0.05)


def seeds_lost(frame: pd.DataFrame, name: str, *seeds: int, sizes=SIZES) -> pd.DataFrame:
    return lose(frame, frame.learner.eq(name) & frame.seed.isin(seeds) & frame.N.isin(sizes))


def one_seed(frame: pd.DataFrame, name: str, error: float) -> pd.DataFrame:
    mine = frame.learner.eq(name) & frame.seed.eq(2)
    return frame.assign(test_error=frame.test_error.mask(mine, error))


@pytest.mark.parametrize(
    "frame, words",
    [
        (fig2b(seeds=4), "4 seeds with all methods finished, 5 needed"),
        (fig2b(seeds=1), "1 seeds with all"),
        (seeds_lost(fig2b(), "2layer", 0, 4), "4 seeds with all methods finished, 5 needed"),
        (seeds_lost(fig2b(), "3resnet", *range(6)), "0 seeds with all methods"),
        (fig2b()[lambda f: f.learner != "2layer"], "not run: 2layer"),
        (fig2b()[lambda f: f.learner != "3resnet"], "not run: 3resnet"),
        (fig2b(layer3=800, spread=0.3), "intervals do not decide: 3layer"),
        (one_seed(fig2b(), "3resnet", 5.0), "3resnet gets there on 5 of 6 seeds"),
        (seeds_lost(fig2b(), "3resnet", 3), "3resnet gets there on 5 of 6 seeds"),
        (fig2b(hero=100, layer3=100), "there at their smallest N already, may need fewer: 3layer"),
        (together(fig2b(), by_size("ntk", 100, [2000, 5000])), "smallest N already, may need fewer: ntk"),
    ],
    ids=[
        "few", "one", "rival lost", "hero lost", "no rival", "no hero", "wide", "hero late", "hero lost once",
        "both early", "rival starts later",
    ],
)  # fmt: skip
def test_2b_inconclusive(frame, words):
    methods = METHODS + (["ntk"] if "ntk" in set(frame.learner) else [])
    found = judge_b(frame, methods=methods)
    assert found.verdict == "inconclusive" and words in found.note


def test_2b_a_bound_does_not_beat_the_hero():
    """A rival given up to N = 2000 that never gets there may need any number: not fewer than the hero's 5000."""
    frame = together(fig2b(hero=5000, layer3=8000), by_size("ntk", 1e6, [500, 2000]))
    found = judge_b(frame, methods=[*METHODS, "ntk"])
    assert found.verdict == "inconclusive" and "intervals do not decide: ntk" in found.note
    assert found.value == pytest.approx(0.4, rel=0.05)


def test_2b_a_bound_ends_where_the_rival_still_finished():
    frame = fig2b(hero=3000, layer2=9000)
    frame = seeds_lost(frame, "3layer", *range(6), sizes=[5000, 10000])  # 3layer needs 4000: never seen
    found = judge_b(frame)
    assert found.verdict == "inconclusive"
    assert found.value == pytest.approx(2000 / 3000, rel=0.03) and "closest rival 3layer" in found.note


def test_2b_some_seeds_off_the_grid_are_enough():
    early = together(fig2b(), by_size("ntk", 2000, [2000, 5000], spread=0.1))
    found = judge_b(early, methods=[*METHODS, "ntk"])
    stars = found.details["N*"]["ntk"]
    assert (
        min(stars) == 2000 < max(stars) and found.verdict == "inconclusive" and "may need fewer: ntk" in found.note
    )
    late = judge_b(fig2b(layer3=10000, spread=0.05))
    assert None in late.details["N*"]["3layer"] and late.details["N*"]["3layer"] != [None] * 6
    assert late.verdict == "supported" and "(ratio is a bound): 2layer" in late.note and late.value < 10000 / 780


def test_2b_a_size_lost_leaves_the_seed():
    found = judge_b(seeds_lost(fig2b(), "3resnet", 3, sizes=[5000]))
    assert found.verdict == "supported" and found.seeds == 6 and None not in found.details["N*"]["3resnet"]


def test_2b_an_early_hero_still_wins():
    found = judge_b(fig2b(hero=100))
    assert found.verdict == "supported" and found.value == pytest.approx(4000 / 500, rel=0.03)


def test_2b_other_rows_change_nothing():
    frame = fig2b()
    extra = together(frame, by_size("svm", 10), by_size("3resnet", 1e6, m=50), by_size("3layer", 600, m=50))
    assert judge_b(extra) == judge_b(frame)


def test_2b_pairs_by_seed():
    """Seeds that need more samples of every method cancel."""
    frame, hard = fig2b(layer3=1200, spread=0.0), np.array([0.7, 0.8, 1.0, 1.3, 1.8, 2.4])
    frame["test_error"] *= hard[frame.seed]
    assert judge_b(frame).verdict == "supported"
    swap = frame.learner.eq("3layer")
    assert judge_b(frame.assign(seed=frame.seed.mask(swap, 5 - frame.seed))).verdict == "inconclusive"


def test_2b_allows_for_the_number_of_rivals():
    """Seven seeds, one of which goes the other way: below 0 at 95%, not at 1 - 0.05 / 9."""
    logs = np.array([-0.3, -0.3, -0.3, -0.3, -0.3, -0.3, 0.13])
    assert clear_mean(logs, 1).high < 0 < clear_mean(logs, 9).high
    few, many = ["3resnet", "a"], ["3resnet", *"abcdefghi"]
    frame = together(*[by_size(name, 2000, seeds=7, spread=0.0) for name in many])
    one = frame.learner.eq("a")
    frame["test_error"] *= np.where(one, np.exp(logs)[frame.seed], 1.0)
    assert judge_b(frame, methods=few).verdict == "contradicted"
    assert judge_b(frame, methods=many).verdict == "inconclusive"


def test_2b_five_seeds_ahead_may_be_luck():
    """3layer needs fewer on all of them, on one by far: so would any bootstrap's interval say, not Student's."""
    frame = fig2b(hero=3000, layer3=3000, seeds=5, spread=0.0)
    shares = np.array([0.99, 0.99, 0.99, 0.99, 0.2])
    frame["test_error"] *= np.where(frame.learner.eq("3layer"), shares[frame.seed], 1.0)
    found = judge_b(frame)
    assert found.details["N*"]["3layer"] == pytest.approx(list(3000 * shares))
    assert found.verdict == "inconclusive" and "intervals do not decide: 3layer" in found.note


def test_2b_names_other_widths():
    assert "width" not in judge_b(fig2b()).note
    narrow = [by_size("ntk", 1e6, m=100), by_size("last", 1e6, m=[50, 400]), by_size("svm", 1e6, m=50)]
    found = judge_b(together(fig2b(), *narrow), methods=[*METHODS, "ntk", "last"])
    assert "; width 200, but last 400, ntk 100; " in found.note and found.verdict == "supported"


def test_2b_names_methods_at_the_end_of_a_grid():
    """Everyone picks wd = 0.001 of 0.001 and 0.01; with 0.0001 below it that is no end."""
    frame, words = fig2b(), "most seeds picked the end of a grid somewhere: "
    assert judge_b(frame).note.endswith(words + "2layer, 3layer, 3resnet")
    below = together(frame, frame[~frame.picked].assign(wd=1e-4))
    assert words not in judge_b(below).note
    at = below.learner.eq("3layer") & below.N.eq(2000) & below.seed.ne(0)
    ends = below.assign(wd=below.wd.mask(at & below.picked, 1e-2))
    assert judge_b(ends).note.endswith(words + "3layer") and judge_b(ends).verdict == "supported"


def test_2b_noise_moves_the_level():
    noisy = fig2b(spread=0.0).assign(noise=0.1)  # 8 * (0.09 + 0.01) = 0.8
    assert judge_b(noisy).details["N*"]["3layer"][0] == pytest.approx(4000 * 0.72 / 0.8)
    assert needed(noisy, "3layer", 0.72)[0] == pytest.approx(4000)


def test_2b_the_hero_is_a_method():
    with pytest.raises(ValueError, match="must be one of methods"):
        Parameters(methods=["a", "b"])


BETAS = [0.1, 0.2, 0.3, 0.4, 0.6, 1.0]


def fig2c(star=0.2, betas=BETAS, name="3resnet", **more) -> pd.DataFrame:
    """Errors that cross k alpha^2 at beta = ``star`` exactly."""

    def measures(point, luck):
        share = star * luck / point["beta"] if point["beta"] else 0.0
        return {"test_error": LEVEL * share, "test_cG": 0.3 * point["beta"]}

    return method(name, measures, beta=list(betas), **more)


def judge_c(frame, **given):
    found = judged("B-fig2c", frame, **given)
    assert found.threshold == given.get("tolerates", 1.0)
    return found


def test_2c_supported():
    found = judge_c(fig2c())
    assert found.verdict == "supported" and found.seeds == 6 and found.low > 1
    assert found.value == pytest.approx(1.5, rel=0.03) and "stops at beta = 0.2" in found.note
    assert "N = 1000" in found.note and "lower bound" not in found.note
    assert found.details["test_cG"]["0.6"] == pytest.approx(0.18)
    assert len(found.details["alpha / beta*"]["3resnet"]) == 6


def test_2c_contradicted():
    found = judge_c(fig2c(star=0.5))
    assert found.verdict == "contradicted" and found.value == pytest.approx(0.6, rel=0.03) and found.high < 1
    assert "stops at beta = 0.5" in found.note and "already" in found.note
    assert judge_c(fig2c(), tolerates=2.0).verdict == "contradicted"
    never = judge_c(fig2c(star=50.0))
    assert never.verdict == "contradicted" and (never.value, never.high) == (0.0, 0.0)
    assert "never gets there" in never.note and "at any beta up to 1: 3resnet" in never.note


LOST = fig2c()


@pytest.mark.parametrize(
    "frame, words",
    [
        (fig2c(seeds=4), "4 seeds finished, 5 needed"),
        (lose(LOST, LOST.seed > 3), "4 seeds finished, 5 needed"),
        (lose(LOST, LOST.seed == 3), "3resnet diverged altogether on 1 seeds"),
        (fig2c(name="3layer"), "not run: 3resnet"),
        (fig2c(star=0.3, spread=0.3), "the interval does not decide"),
        (fig2c(betas=[0.5, 1.0]), "some seeds still hold at the least beta, 0.5: the value is a lower bound"),
        (fig2c(star=0.5, betas=[0.1, 0.2]), "never below k alpha^2 at any beta up to 0.2: 3resnet"),
    ],
    ids=["few", "few left", "one lost", "no hero", "wide", "holds at all", "holds at none"],
)
def test_2c_inconclusive(frame, words):
    found = judge_c(frame)
    assert found.verdict == "inconclusive" and words in found.note


def test_2c_some_seeds_off_the_grid_are_enough():
    found = judge_c(fig2c(star=0.5, betas=[0.5, 1.0], spread=0.1))
    values = found.details["alpha / beta*"]["3resnet"]
    assert min(values) < 0.6 == max(values) and found.high < 1
    assert found.verdict == "inconclusive" and "lower bound" in found.note
    late = judge_c(fig2c(star=1.0, spread=0.1))
    assert 0 in late.details["alpha / beta*"]["3resnet"] and 0 < late.value < 0.3
    assert late.verdict == "contradicted" and "never" not in late.note


def test_2c_diverged_points_are_left_out():
    frame = fig2c(star=0.2)
    found = judge_c(lose(frame, frame.beta < 0.25))  # holds from 0.3 on: a lower bound, but of 1
    assert found.value == pytest.approx(1.0) and "least beta" in found.note and found.verdict == "supported"
    assert judge_c(lose(fig2c(star=0.5), frame.beta.isin([0.1, 0.4]))).verdict == "contradicted"


def test_2c_other_rows_change_the_remarks_alone():
    frame, plain = fig2c(), judge_c(fig2c())
    extra = together(frame, fig2c(star=50.0, name="2layer"), fig2c(star=0.8, name="3layer"), fig2c(9.0, m=50))
    found = judge_c(together(extra, fig2c(betas=[0.0])))
    same = ("verdict", "value", "low", "high", "seeds")
    assert [getattr(found, n) for n in same] == [getattr(plain, n) for n in same]
    assert "at any beta up to 1: 2layer" in found.note and "3layer holds up to alpha / beta = 0.3" in found.note
    assert not any(math.isinf(v) for values in found.details["alpha / beta*"].values() for v in values)
