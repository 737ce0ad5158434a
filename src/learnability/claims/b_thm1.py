"""B-thm1: the three-layer ResNet has population risk alpha^4, where learning F alone leaves alpha^2 (Theorem 1).

Risk is E||out - H(x)||^2 against the noiseless H, G(F) has size g = E||G(F)||^2 (k for parities), labels have noise
of variance OPT = k sigma^2 in all (in the units of the risk: the paper's OPT has a factor 1/2). Theorem 1 bounds
the risk by O(OPT) + O~(alpha^4) from N = d / alpha^8 samples on, for small alpha; here with every constant set to
1, (k p_G C_s(G))^4 included, and G's size restored:

    met      the interval of 3resnet's mean risk lies at or below OPT + g alpha^4
    broken   it lies above (Bonferroni over all settings), although N >= d / alpha^8
    trivial  else, if the bound is no less than g alpha^2 / 2, half the risk of F alone: being below says little
    open     else: above with fewer samples than the theorem asks for, or undecided, or some seed has no result

Being met with fewer samples than the theorem needs is more than it promises; missing it with fewer is no
objection. Supported: nothing is broken, the alphas met in a row span a factor of ``decade`` on parities without
noise and of ``span`` on every other target (smooth, and both with noise), and no kernel has a risk below
g alpha^2 / 2 on parities without noise. Contradicted: something is broken, or a kernel's risk lies below g alpha^4
on parities without noise. Otherwise inconclusive. Each method counts at its largest width and N.

The number reported is the exponent p with risk = g alpha^p, least over alpha, on parities without noise: 2 is F
alone, 4 is Theorem 1. The slope of log risk on log alpha is reported too but cannot decide: alpha^4 is an upper
bound, and at a fixed N and training time the risk does not fall to zero with alpha. (For a kernel, linear in the
labels, it is a + c alpha^2 in the mean over samples at a fixed ridge.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy
import pandas
from pydantic import Field

from learnability.claims import Judgement
from learnability.claims.stats import Interval, bootstrap_mean, clear_mean
from learnability.claims.tables import by_seed, largest, risk, slope
from learnability.schema.base import Strict
from learnability.theory.paper_b import parity_family, resnet_samples, table1

ID = "B-thm1"
PAPER = "B"
STATEMENT = "SGD on the three-layer ResNet reaches population risk alpha^4 (+ OPT); F alone leaves alpha^2"
AXES = {"m", "N", "alpha", "noise"}
UNIT = "least exponent p in risk = g alpha^p, 3resnet, parities without noise"


class Parameters(Strict):
    """What ``claims.B-thm1`` in the experiment file may hold."""

    hero: str = "3resnet"
    kernels: Annotated[list[str], Field(min_length=1)]
    decade: Annotated[float, Field(gt=1)] = 10.0
    span: Annotated[float, Field(gt=1)] = 4.0
    min_seeds: Annotated[int, Field(ge=5)] = 5


@dataclass
class Target:
    """One method on one target at one noise level: risks, seeds x alphas."""

    name: str
    risks: pandas.DataFrame
    g: float
    opt: float
    d: int
    n: int

    def bound(self, alpha: float) -> float:
        """OPT + g alpha^4."""
        return self.opt + self.g * alpha**4

    def trivial(self, alpha: float) -> bool:
        """Whether half the risk g alpha^2 of F alone is within the bound."""
        return self.bound(alpha) >= self.g * alpha**2 / 2


def targets(scores: pandas.DataFrame, learner: str) -> dict[tuple[str, float], Target]:
    """What ``learner`` was run on, by (experiment, noise)."""
    scores = largest(scores[(scores.learner == learner) & (scores.alpha > 0)], "m", "N")
    scores, found = scores.assign(risk=risk(scores)), {}
    for (experiment, noise), rows in scores.groupby(["experiment", "noise"]):
        first = rows.iloc[0]
        name = f"{experiment}, noise {noise:g}" if noise else experiment
        found[experiment, noise] = Target(
            name, by_seed(rows, "alpha", "risk"), first.g_size, first.k * noise**2, int(first.d), int(first.N)
        )
    return found


def judge(scores: pandas.DataFrame, given: Parameters) -> Judgement:
    """See the module's text. ``scores`` has a row per learner x point x replica, of all experiments joined."""
    hero, parities = targets(scores, given.hero), (scores.experiment.iloc[0], 0.0)
    main = hero.get(parities)
    kernels = {name: targets(scores, name).get(parities) for name in given.kernels}
    if missing := [name for name, target in {given.hero: main, **kernels}.items() if target is None]:
        note = f"not run on the parities without noise: {', '.join(missing)}"
        return Judgement("inconclusive", None, None, None, 4.0, 0, note)
    seeds = min(len(target.risks.dropna()) for target in [*hero.values(), *kernels.values()])
    exponents = {alpha: _exponent(main, alpha) for alpha in main.risks if alpha < 1 and seeds > 1}
    if seeds < max(2, given.min_seeds) or not exponents:
        few = f"{seeds} seeds with all alphas finished, {given.min_seeds} needed"
        note = few if seeds < given.min_seeds else "no alpha below 1 on the parities without noise"
        return Judgement("inconclusive", None, None, None, 4.0, seeds, note)
    checks = {
        target.name: _check(target, sum(len(t.risks.columns) for t in hero.values())) for target in hero.values()
    }
    least = min(exponents.values(), key=lambda interval: interval.mean)
    verdict, reason = _decide(checks, main.name, kernels, given)
    slopes = {f"{given.hero} {t.name}": _slope(t) for t in hero.values()}
    slopes |= {name: _slope(target) for name, target in kernels.items()}
    details = {
        "checks": {name: {f"{a:g}": state for a, state in states.items()} for name, states in checks.items()},
        "slope of log risk on log alpha": {name: [s.mean, s.low, s.high] for name, s in slopes.items() if s},
        "exponents": {f"{a:g}": [i.mean, i.low, i.high] for a, i in exponents.items()},
        "travelled": _travelled(scores, given),
    }
    words = ", ".join(f"{name} {s}" for name, s in slopes.items() if s and "noise" not in name)
    note = "; ".join(
        [reason, *([f"slopes of risk in alpha: {words}"] if words else []), _far(details["travelled"])]
    )
    return Judgement(verdict, least.mean, least.low, least.high, 4.0, seeds, note, details)


def _check(target: Target, comparisons: int) -> dict[float, str]:
    """alpha -> trivial, met, broken or open."""
    states = {}
    for alpha in target.risks:
        values = target.risks[alpha].dropna()
        above = clear_mean(values, comparisons).low > target.bound(alpha)
        if above and alpha < 1 and target.n >= resnet_samples(target.d, alpha):
            states[alpha] = "broken"
        elif target.trivial(alpha):
            states[alpha] = "trivial"
        else:
            met = bootstrap_mean(values).high <= target.bound(alpha) and len(values) == len(target.risks)
            states[alpha] = "met" if met else "open"
    return states


def _exponent(target: Target, alpha: float) -> Interval:
    """p with risk = g alpha^p, of the mean risk and the ends of its interval."""
    found = bootstrap_mean(target.risks[alpha].dropna())
    ends = [max(v, 1e-300) for v in (found.mean, found.high, found.low)]  # zero has no logarithm
    p = [float(numpy.log(v / target.g) / numpy.log(alpha)) for v in ends]
    return Interval(*p, found.n)


def _slope(target: Target) -> Interval | None:
    """None where fewer than two seeds have two risks that have logarithms."""
    found = [slope(target.risks.columns, row) for _, row in target.risks.dropna().iterrows()]
    found = [value for value in found if numpy.isfinite(value)]
    return bootstrap_mean(found) if len(found) > 1 else None


def _in_a_row(states: dict[float, str]) -> list[float]:
    """The alphas met one after the other, with none between them that is not, that span the most."""
    runs: list[list[float]] = [[]]
    for alpha in sorted(states):
        if states[alpha] == "met":
            runs[-1].append(alpha)
        else:
            runs.append([])
    return max(runs, key=lambda run: run[-1] / run[0] if run else 0.0)


def _decide(checks: dict, main: str, kernels: dict[str, Target], given: Parameters) -> tuple[str, str]:
    broken = [
        f"{name} at alpha = {a:g}" for name, s in checks.items() for a, state in s.items() if state == "broken"
    ]
    if broken:
        return "contradicted", f"risk above OPT + g alpha^4 with N >= d / alpha^8: {', '.join(broken)}"
    too_good, learned = [], []
    for name, target in kernels.items():
        comparisons = len(kernels) * len(target.risks.columns)
        for alpha in target.risks:
            values = target.risks[alpha].dropna()
            if not target.trivial(alpha) and clear_mean(values, comparisons).high < target.bound(alpha):
                too_good.append(f"{name} at alpha = {alpha:g}")
            if bootstrap_mean(values).low < target.g * alpha**2 / 2:
                learned.append(f"{name} at alpha = {alpha:g}")
    if too_good:
        return "contradicted", f"kernels get below g alpha^4 too: {', '.join(too_good)}"
    spans = {name: _in_a_row(states) for name, states in checks.items()}
    factors = {name: given.decade if name == main else given.span for name in spans}
    short = [name for name, met in spans.items() if not met or max(met) / min(met) < factors[name] * (1 - 1e-9)]
    if short or learned:
        why = [f"alphas met in a row do not span a factor of {factors[n]:g} on {n}" for n in short]
        why += [f"kernels below g alpha^2 / 2: {', '.join(learned)}"] if learned else []
        return "inconclusive", "; ".join(why)
    ranges = ", ".join(f"{name} {min(met):g}..{max(met):g}" for name, met in spans.items())
    words = f"risk <= OPT + g alpha^4 for alpha in: {ranges}"
    missed = [f"{name} at {a:g}" for name, s in checks.items() for a, state in s.items() if state == "open"]
    if missed:
        words += f"; neither met nor broken: {', '.join(missed)}"
    return "supported", words


def _travelled(scores: pandas.DataFrame, given: Parameters) -> dict[str, Any]:
    """Distances from the start (mean over seeds) against Table 1's tau with C* = 1, on parities without noise.

    Table 1 is for ||x|| = 1 and H / sqrt(k): there W is sqrt(d / k) times ours, which acts on x in {-1, 1}^d.
    """
    mine = scores[(scores.learner == given.hero) & (scores.experiment == scores.experiment.iloc[0])]
    mine, found = largest(mine[mine.alpha > 0], "m", "N"), {}
    for alpha, rows in mine[mine.picked & (mine.noise == 0)].groupby("alpha"):
        first = rows.iloc[0]
        family = parity_family(int(first.d), int(first.k), 1.0)
        choice = table1(first.m, int(first.k), alpha, family.p_f, family.c_s_f, family.p_g, family.c_s_g)
        found[f"{alpha:g}"] = {
            "moved_W": float(rows.train_moved_W.mean() * numpy.sqrt(first.d / first.k)),
            "tau_w": choice.tau_w,
            "moved_V": float(rows.train_moved_V.mean()),
            "tau_v": choice.tau_v,
        }
    return found


def _far(travelled: dict[str, Any]) -> str:
    w = max(t["moved_W"] / t["tau_w"] for t in travelled.values())
    v = max(t["moved_V"] / t["tau_v"] for t in travelled.values())
    return f"W moves at most {w:.2g} tau_w, V {v:.2g} tau_v (Table 1 with all constants 1)"
