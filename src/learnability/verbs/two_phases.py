"""Fitting one part with both phases of paper D's Theorem 3.3, from a random start."""

from __future__ import annotations

import math
from pathlib import Path

import numpy
import torch
from torch import Tensor

from learnability.kernels.margin import hard_margins
from learnability.learners.logistic import Data, Learner
from learnability.plan import Job, Part
from learnability.theory import paper_d
from learnability.training import flow, paths
from learnability.training.stack import Replica
from learnability.training.walk import walk
from learnability.verbs.logistic import LN10, SECONDS, network_of, over, random_starts, write

Tensors = dict[str, Tensor]


def by_two_phases(job: Job, part: Part, points, place: Path, curves, say, rows) -> Tensors:
    """Theorem 3.3: from a random start with h_NT and alpha_NT to below n^-(1+24L), then on with alpha_max."""
    spec, (x, y), seeds = job.spec, points, part.data.seeds
    network = network_of(job, part)
    p, n, depth = network.width, x.shape[1], network.depth
    first = random_starts(network, seeds)
    h = paper_d.h_nt(p, n, depth)
    data = Data(x, y, x.new_full((len(seeds),), h))
    gamma = numpy.array([m.value for m in hard_margins(network.tangent_gram(first, data), y)]) / math.sqrt(p)
    log_alpha = paper_d.log_alpha_nt(p, depth, spec.c_alpha)
    begun = network.log_loss(first, data)
    target = 1.001 * paper_d.log_threshold(n, depth)  # strictly below
    falls = torch.linspace(0, 1, spec.points + 1, dtype=x.dtype)[1:, None]
    marks = begun + falls * (target - begun)

    def look(i: int, state) -> paths.Logs:
        elapsed = (state.log_time - log_alpha).numpy()
        moved = [m.flatten(1).norm(dim=1) for m in network.matrices(state.v - first)]
        found = {"log_loss": state.log_loss.numpy(), "log_t": numpy.logaddexp(0.0, elapsed)}
        return found | {"moved": torch.stack(moved).amax(0).numpy()}

    way = (network, first, data, marks, look, spec.rtol, spec.most_rounds)
    state, seen = walk(*way, place / "flow.safetensors", SECONDS, say)
    replicas = [Replica(seed, math.exp(log_alpha), math.nan) for seed in seeds]
    write(seen, replicas, curves, rows, "phase1")
    reached = (state.log_loss <= target).numpy()
    say(f"phase 1: {reached.sum()} of {len(seeds)} reached {paths.factor(target)}")
    constants = {"n": n, "L": depth, "gamma": numpy.maximum(gamma, 1e-300), "delta": spec.delta, "c_1": spec.c_1}
    log_T = paper_d.log_T(p, **constants, constant=spec.c_alpha)
    latest = torch.as_tensor(log_T + log_alpha)  # V^(T+1) is the best of T steps, which is the last
    flow.advance(network, state, data, state.log_loss - 1e6, spec.rtol, spec.most_rounds, latest)
    short = (latest - state.log_time).numpy()
    tau = paper_d.tau(p, **constants)
    moved = look(0, state)["moved"]
    ends = {
        ("train", "lost"): numpy.zeros(len(seeds)),
        ("start", "gamma"): gamma,
        ("start", "h"): numpy.full(len(seeds), h),
        ("start", "log10_loss"): begun.numpy() / LN10,
        ("start", "norm_share"): first.norm(dim=1).numpy() / math.sqrt(5 * p * depth),  # event E_2
        ("phase1", "reached"): reached,
        ("phase1", "log10_T"): log_T / LN10,
        ("phase1", "log10_end"): state.log_loss.numpy() / LN10,
        ("phase1", "log10_short"): short / LN10,
        ("start", "log10_alpha_lip"): (log_alpha + paths.hessian_norm(network, first, data).numpy()) / LN10,
        ("phase1", "log10_alpha_lip"): (log_alpha + paths.hessian_norm(network, state.v, data).numpy()) / LN10,
        ("phase1", "ball"): moved / tau,
        ("phase1", "tau_share"): tau / paper_d.tau_limit(p, depth, spec.c_tau),
        ("phase1", "norm_share"): state.v.norm(dim=1).numpy() / math.sqrt(6 * p * depth),
        ("needed", "log10_width"): paper_d.needed_width(**constants, c=spec.c_tau),
    }
    for (split, name), values in ends.items():
        rows.add(replicas, 0, spec.points, spec.points, split, name, values)
    rows_of = numpy.flatnonzero(reached)
    if len(rows_of):
        _second_phase(
            spec,
            network,
            state.v[rows_of],
            data.rows(torch.as_tensor(rows_of)),
            place,
            say,
            rows_of,
            rows,
            replicas,
        )
    return {"start": first, "end": state.v}


def _second_phase(spec, network: Learner, v: Tensor, data: Data, place: Path, say, rows_of, rows, replicas) -> None:
    """Theorem 3.1 from where phase 1 ended, and the rate of Theorem 3.3, 50 L^((3L+7)/2) ... / (t - T - 1)."""
    start = paths.Start.of(network, v, data, v.new_ones(len(v)))
    marks = torch.as_tensor(start.log_loss) - torch.linspace(0, spec.s, spec.points + 1, dtype=v.dtype)[1:, None]

    def look(i: int, state) -> paths.Logs:
        elapsed = state.log_time - torch.as_tensor(start.log_alpha)
        found = paths.along(start, state.v, state.log_loss, elapsed)
        rate = paper_d.log_rate_3_3(network.width, data.y.shape[1], network.depth, elapsed.numpy())
        return found | {"rate": rate - state.log_loss.numpy()}

    way = (network, v, data, marks, look, spec.rtol, spec.most_rounds)
    _, seen = walk(*way, place / "flow2.safetensors", SECONDS, say)
    all_of = len(replicas)

    def spread(values: numpy.ndarray) -> numpy.ndarray:
        found = numpy.full(all_of, numpy.nan)
        found[rows_of] = values
        return found

    wide = [{name: spread(values) for name, values in one.items()} for one in seen]
    write(wide, replicas, lambda *a: None, rows, "phase2")
    ends = {("phase2", name): value / LN10 for name, value in start.hypotheses().items()}
    ends |= {("least2", name): over(numpy.fmin, seen, name) / LN10 for name in ("I1", "I2", "I3", "4.5", "rate")}
    ends |= {("end2", "fallen"): over(numpy.fmax, seen, "fallen")}
    for (split, name), values in ends.items():
        rows.add(replicas, 0, spec.points, spec.points, split, name, spread(values))
