"""Fitting one part where nothing is trained: margins of tangent features at random starts (Assumption 3.2,
Proposition C.1), and Definition 2.1 of an activation.
"""

from __future__ import annotations

import math

import numpy
import torch

from learnability import teachers
from learnability.kernels.clustered import proof_direction
from learnability.kernels.margin import hard_margin
from learnability.learners.logistic import Data, Learner
from learnability.plan import Job, Part
from learnability.seeding import stream
from learnability.theory import paper_d, smoothed_relu
from learnability.training.stack import Replica

Tensors = dict[str, torch.Tensor]


def by_margin(job: Job, part: Part, points, curves, say, rows) -> Tensors:
    """The exact margin gamma of every seed at ``starts`` random starts; for clustered data the proof's too."""
    spec, (x, y) = job.spec, points
    network = Learner(part.teacher.d, spec.width or part.teacher.d, part.depth)
    n, p = x.shape[1], network.width
    h = paper_d.h_nt(p, n, part.depth) if spec.h == "nt" else paper_d.clustered_h(p)
    teacher = teachers.build(**part.teacher.model_dump(mode="json"))
    replicas, found, best = [], [], []
    for i, seed in enumerate(part.data.seeds):
        for draw in range(spec.starts):
            init = network.init(stream("init", "logistic", network.d, p, part.depth, seed, draw))
            data = Data(x[i : i + 1], y[i : i + 1], x.new_full((1,), h))
            margin = hard_margin(network.tangent_gram(init[None], data)[0], y[i])
            one = {
                "gamma": margin.value / math.sqrt(p),
                "certified": margin.certified / math.sqrt(p),
                "gap": margin.gap,
                "support": float((margin.weights > 0).sum()),
                "h": h,
            }
            if part.teacher.points == "clustered" and part.depth == 1:
                one |= _proof(network, init, teacher.of_seed(seed), h, x[i], y[i])
            replicas.append(Replica(seed, math.nan, math.nan))
            found.append(one)
            best.append(margin.weights)
    for name in found[0]:
        values = [one[name] for one in found]
        rows.add(replicas, 0, 0, 0, "margin", name, values)
        curves(0, f"margin/{name}", numpy.asarray(values))
    gammas = [one["gamma"] for one in found]
    say(f"gamma {min(gammas):.3g}..{max(gammas):.3g} at p = {p}, L = {part.depth}, n = {n}")
    return {"weights": torch.stack([torch.as_tensor(w) for w in best])}


def _proof(network: Learner, init, teacher, h: float, x, y) -> dict[str, float]:
    """What Appendix C's construction gets of the margin, and whether its event happened."""
    v1, v2 = network.matrices(init[None])
    proof = proof_direction(v1[0], v2[0, 0], teacher.mu, h, x, y)
    return {
        "proof": float(proof.margin),
        "proof_bound": float(proof.bound),
        "part_c": float(proof.part_c),
        "plus": float(proof.plus.sum()) / network.width,
        "minus": float(proof.minus.sum()) / network.width,
    }


def by_definition(job: Job, part: Part, points, curves, say, rows) -> Tensors:
    """Definition 2.1 on the samples' arguments, at every h, and proved (or refuted) for all of them at once."""
    name, hs = job.spec.activation, sorted(job.spec.h)
    u = points[0][0, :, 0].numpy()
    bounds = smoothed_relu.certify(name)
    replicas = [Replica(part.data.seeds[0], math.nan, math.nan)] * len(hs)
    found: dict[tuple[str, str], list[float]] = {("given", "h"): hs}
    for h in hs:
        report = smoothed_relu.check_on_grid(*smoothed_relu.at_scale(name, h), h, h * u)
        for condition, one in report.items():
            values = {"worst": one.worst, "allowed": one.allowed, "where": one.where / h, "holds": one.holds}
            for what, value in values.items():
                found.setdefault((what, condition), []).append(float(value))
    for condition, bound in bounds.items():
        values = {"proved": bound.holds, "refuted": bound.fails, "sup": bound.upper, "sup_at": bound.where}
        found |= {(what, condition): [float(value)] * len(hs) for what, value in values.items()}
    for (split, what), values in found.items():
        rows.add(replicas, 0, 0, 0, split, what, values)
        curves(0, f"{split}/{what}", numpy.asarray(values))
    failed = smoothed_relu.failed(bounds)
    say(f"{name}: " + (f"refuted, {', '.join(failed)} fails" if failed else "proved h-smoothly approximately ReLU"))
    return {"u": points[0][0]}
