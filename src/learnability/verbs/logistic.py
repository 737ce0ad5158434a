"""Fitting one part with paper D's descents: the way down from a small loss, trained and scaled (Theorem 3.1).

Logarithms are natural inside and base 10 in what is written: ``least`` has the smallest slack of every inequality
on the way, log10(greater side / lesser side), negative where it failed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from torch import Tensor

from learnability.learners.logistic import Data, Learner
from learnability.learners.smoothed import ACTIVATIONS
from learnability.plan import Job, Part
from learnability.seeding import stream
from learnability.theory import paper_d
from learnability.training import flow, paths
from learnability.training.descent import Descent, DescentModule, scaled
from learnability.training.fit import fit
from learnability.training.stack import Replica
from learnability.training.walk import walk

Tensors = dict[str, Tensor]
LN10 = math.log(10)
SECONDS = 5.0  # between checkpoints
PLAIN = ("norm", "fallen", "moved")  # written as they are; all else on the way is a logarithm
INEQUALITIES = ("I1", "I2", "I3", "4.2", "4.3", "4.4", "4.5")


def network_of(job: Job, part: Part, activation: str = "huber") -> Learner:
    """The network of a part; as wide as the inputs unless the config says otherwise."""
    return Learner(part.teacher.d, job.spec.width or part.teacher.d, part.depth, activation)


def random_starts(network: Learner, seeds: list[int], draws: int = 1) -> Tensor:
    """Section 3.2's random starts of every seed, draws in a row: (S draws, P)."""
    sizes = (network.d, network.width, network.depth)
    return torch.stack(
        [network.init(stream("init", "logistic", *sizes, seed, draw)) for seed in seeds for draw in range(draws)]
    )


def trained(job: Job, part: Part, network: Learner, x: Tensor, y: Tensor, place: Path, device, say) -> Tensor:
    """One trained network a seed, (S, P), the best of its draws: gradient descent from random starts, with h as
    (3a) has it for a network of that size at the loss that is aimed at. NaN where none fits its data.
    """
    spec, seeds = job.spec, part.data.seeds
    start = random_starts(network, seeds, spec.draws)
    target = paper_d.log_threshold(x.shape[1], network.depth)
    norms = start.norm(dim=1).numpy()
    h = torch.as_tensor(paper_d.h_max(network.depth, network.width, norms, target))
    data = Data(x.repeat_interleave(spec.draws, 0), y.repeat_interleave(spec.draws, 0), h)
    descent = Descent(network, start, data, None, spec.rate)
    module = DescentModule(descent, spec.passes, max(1, spec.passes // 10))
    fit(module, device, place / "stack.safetensors", SECONDS, say)
    descent.cpu()
    margins = network.margins(descent.v, data).amin(1).nan_to_num(nan=-1.0)
    loss = network.log_loss(descent.v, data).where(margins > 0, math.inf).unflatten(0, (-1, spec.draws))
    best = loss.argmin(1)
    v = descent.v.unflatten(0, (-1, spec.draws))[torch.arange(len(seeds)), best]
    return v.where(loss.amin(1).isfinite()[:, None], math.nan)


@dataclass(frozen=True)
class Networks:
    """Every seed's network at every h_times and alpha_times, scaled to its starting loss; those that there are."""

    start: paths.Start
    replicas: list[Replica]
    h_times: list[float]
    alpha_times: list[float]
    lost: list[int]  # seeds whose networks do not fit their data, once for each setting

    @classmethod
    def of(cls, job: Job, part: Part, network: Learner, v: Tensor, x: Tensor, y: Tensor) -> Networks:
        """From one trained network a seed, (S, P), NaN where there is none."""
        spec, seeds, alive = job.spec, part.data.seeds, v.isfinite().all(1)
        kept = [seed for seed, one in zip(seeds, alive.tolist(), strict=True) if one]
        v, x, y = v[alive], x[alive], y[alive]
        target = spec.start_loss * paper_d.log_threshold(x.shape[1], network.depth)
        weights, hs, settings = [], [], list(itertools.product(spec.h_times, spec.alpha_times))
        for h_times, _ in settings:

            def h_of(norm: Tensor, h_times: float = h_times) -> Tensor:
                return h_times * torch.as_tensor(paper_d.h_max(network.depth, network.width, norm.numpy(), target))

            there, h = scaled(network, v, Data(x, y, v.new_ones(len(v))), target, h_of)
            weights.append(there)
            hs.append(h)
        many = len(settings)
        data = Data(x.repeat(many, 1, 1), y.repeat(many, 1), torch.cat(hs))
        times = [pair for pair in settings for _ in kept]
        alpha_times = torch.tensor([alpha for _, alpha in times], dtype=v.dtype)
        start = paths.Start.of(network, torch.cat(weights), data, alpha_times)
        replicas = [Replica(s, _finite(a), math.nan) for s, a in zip(kept * many, start.log_alpha, strict=True)]
        lost = [seed for seed in seeds if seed not in kept] * many
        return cls(start, replicas, [h for h, _ in times], [a for _, a in times], lost)


def _finite(log: float) -> float:
    """e^log where a float can hold it."""
    return math.exp(log) if abs(log) < 700 else math.nan


def by_interpolation(job: Job, part: Part, points, place: Path, device, curves, say, rows) -> Tensors:
    """Theorem 3.1: exact steps from a scaled start, then the flow until the loss has fallen by e^s."""
    spec, (x, y) = job.spec, points
    network = network_of(job, part, spec.activation)
    found = Networks.of(job, part, network, trained(job, part, network, x, y, place, device, say), x, y)
    start, replicas = found.start, found.replicas
    lost = [Replica(seed, math.nan, math.nan) for seed in found.lost]
    rows.add(lost, len(replicas), 0, 0, "train", "lost", [1.0] * len(lost))
    if not replicas:
        say("no network fits its data")
        return {"start": start.v}
    say(f"{len(replicas)} networks, J_1 = {paths.factor(start.log_loss.max())}")
    ends = {("train", "lost"): [0.0] * len(replicas), ("given", "h_times"): found.h_times}
    ends |= {("given", "alpha_times"): found.alpha_times}
    ends |= {("given", "smooth"): [ACTIVATIONS[spec.activation].smooth] * len(replicas)}
    ends |= {("start", name): value / LN10 for name, value in start.hypotheses().items()}
    ends |= {("start", "h"): start.h, ("start", "norm"): start.norm}
    ends |= {("start", f"log10_{n}"): getattr(start, f"log_{n}") / LN10 for n in ("loss", "alpha", "q")}
    ends |= steps(job, start, place, device, say)
    last = start.v.clone()
    if spec.s:
        last, seen = down(spec, start, place, say)
        write(seen, replicas, curves, rows)
        ends |= summary(start, seen)
    for (split, name), values in ends.items():
        rows.add(replicas, 0, spec.points, spec.points, split, name, values)
    return {"start": start.v, "end": last}


def steps(job: Job, start: paths.Start, place: Path, device, say) -> dict[tuple[str, str], numpy.ndarray]:
    """Exact steps of alpha: Theorem 3.1's slack at every step logged, and how far they differ from the flow."""
    spec = job.spec
    descent = Descent(start.network, start.v, start.data, torch.as_tensor(start.log_alpha))
    module = DescentModule(descent, spec.steps, max(1, spec.steps // 32))
    history = fit(module, device, place / "steps.safetensors", SECONDS, say)
    fallen = numpy.stack([-record.values["train", "log_ratio"].numpy() for record in history])  # (G, R)
    elapsed = numpy.log([[record.step] for record in history])
    slack = start.slack(fallen, elapsed)
    slack = numpy.where(fallen > 0, slack, -numpy.inf)  # a loss that rose is above every bound
    speed = start.network.gradient(start.v, start.data)[1].norm(dim=1).log().numpy() * 2
    straight = start.log_alpha + start.log_loss + speed + elapsed[-1]  # log of alpha |grad J|^2 t / J
    with numpy.errstate(divide="ignore", invalid="ignore"):
        off = numpy.abs(numpy.expm1(numpy.log(fallen[-1]) - straight))
    return {
        ("steps", "I1"): slack.min(0) / LN10,
        ("steps", "monotone"): (numpy.diff(fallen, axis=0, prepend=0.0) > 0).all(0),
        ("steps", "log10_fallen"): numpy.log10(numpy.maximum(fallen[-1], 1e-300)),
        ("steps", "off_straight"): off,
        ("steps", "flow_gap"): flow_gap(spec.rtol, start, fallen[-1], spec.steps),
    }


def flow_gap(rtol: float, start: paths.Start, fallen: numpy.ndarray, count: int) -> numpy.ndarray:
    """|t of the flow / t of ``count`` exact steps - 1| at the same loss, (R,), where steps were large enough to get
    anywhere: NaN where the loss fell by less than 0.1%, or did not.
    """
    both = torch.as_tensor((fallen > 1e-3) & (fallen < 50))
    rows, found = both.nonzero().squeeze(1), numpy.full(len(fallen), numpy.nan)
    if len(rows):
        data = start.data.rows(rows)
        state = flow.begin(start.network, start.v[rows], data)
        arrived = flow.advance(
            start.network, state, data, torch.as_tensor(start.log_loss - fallen)[rows], rtol, 10**4
        )
        off = numpy.abs(numpy.expm1(state.log_time.numpy() - start.log_alpha[rows] - math.log(count)))
        found[rows] = numpy.where(arrived, off, numpy.nan)
    return found


def down(spec, start: paths.Start, place: Path, say) -> tuple[Tensor, list[paths.Logs]]:
    """The flow from ``start`` until the loss has fallen by e^s, seen at ``points`` marks, probed at some."""
    log_loss = torch.as_tensor(start.log_loss)
    falls = torch.linspace(0, spec.s, spec.points + 1, dtype=log_loss.dtype)[1:]
    marks = log_loss - falls[:, None]
    probed = {round(i * (spec.points - 1) / max(1, spec.probes - 1)) for i in range(spec.probes)}

    def look(i: int, state) -> paths.Logs:
        found = paths.along(start, state.v, state.log_loss, state.log_time - torch.as_tensor(start.log_alpha))
        return found | (paths.probe(start, state.v, state.log_loss) if i in probed else {})

    way = (start.network, start.v, start.data, marks, look, spec.rtol, spec.most_rounds)
    state, seen = walk(*way, place / "flow.safetensors", SECONDS, say)
    say(f"{int(state.kept.sum())} steps of the flow kept, {int(state.tried.sum())} tried")
    return state.v, seen


def write(seen: list[paths.Logs], replicas: list[Replica], curves, rows, split: str = "path") -> None:
    """What was seen, a row for each mark; logarithms to base 10."""
    for i, found in enumerate(seen):
        for name, values in found.items():
            named = name.replace("log_", "log10_")
            values = values if name in PLAIN else values / LN10
            rows.add(replicas, 0, i + 1, i + 1, split, named, values)
            curves(i + 1, f"{split}/{named}", values)


def summary(start: paths.Start, seen: list[paths.Logs]) -> dict[tuple[str, str], numpy.ndarray]:
    """The least slack of every inequality on the way, and how the loss decays."""
    found = {("least", name): over(numpy.fmin, seen, name) / LN10 for name in INEQUALITIES}
    fallen, log_t = (numpy.stack([one[name] for one in seen]) for name in ("fallen", "log_t"))
    return found | {
        ("end", "fallen"): over(numpy.fmax, seen, "fallen"),
        ("end", "log10_t"): over(numpy.fmax, seen, "log_t") / LN10,
        ("end", "log10_alpha_lip"): over(numpy.fmax, seen, "log_alpha_lip") / LN10,
        ("end", "exponent"): paths.exponent(fallen, log_t),
        ("end", "proof_exponent"): paths.proof_exponent(start, fallen),
    }


def over(choose, seen: list[paths.Logs], name: str) -> numpy.ndarray:
    """The least or the largest of a measurement over the marks that were reached, NaN if none was: (R,)."""
    return choose.reduce([one[name] for one in seen if name in one])
