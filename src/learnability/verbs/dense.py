"""Fitting one part with paper A's learners: Algorithm 1 on a stack of DenseNets, and two-layer polynomial
networks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from learnability import teachers
from learnability.learners.densenet import Learner, binom2, union
from learnability.plan import Job, Part
from learnability.theory import paper_a
from learnability.training.algorithm1 import NEVER, Stages
from learnability.training.densenet import DenseReplica, DenseStack, Settings
from learnability.training.exact_risk import affordable, population_errors, top_share
from learnability.training.stack import Split, grid

Tensors = dict[str, torch.Tensor]
EPSILON = 0.01  # Theorem 1's eps in what is reported of Definition B.3: an error of eps^2 = 1e-4


@dataclass(frozen=True)
class Setup:
    """What a part trains, before any training."""

    stack: DenseStack
    teachers: list


def replicas_of(job: Job, part: Part) -> list[DenseReplica]:
    """Seeds x learning rates x the alphas and graphs that the learner is given (the teacher's if none are)."""
    spec, teacher = job.spec, part.teacher
    layers = teacher.layers
    gaps = spec.alphas or [teacher.alpha]
    graphs = [tuple(tuple(sorted(s)) for s in g) for g in spec.graphs or [teacher.resolved()[1]]]
    found = []
    for lr in sorted(spec.lr):
        for gap in gaps:
            alphas = tuple(teacher.scale * gap**i for i in range(layers))
            found += [DenseReplica(s, lr, math.nan, alphas, g) for g in graphs for s in part.data.seeds]
    return found


def set_up(job: Job, part: Part, train: Split) -> Setup:
    """The stack of a part, at its start."""
    spec, training = job.spec, job.training
    teacher = teachers.build(**part.teacher.model_dump(mode="json"))
    ours = [teacher.of_seed(seed) for seed in part.data.seeds]
    replicas = replicas_of(job, part)
    graph = union([replica.graph for replica in replicas])
    room = tuple(k + spec.spare for k in teacher.widths)
    rows = tuple(spec.rows * binom2(k) for k in room)
    plain = Learner(teacher.d, room, graph, (1,) * len(room), rows, spec.bound)
    m = tuple(spec.over * plain.inputs(layer) for layer, _ in plain.layers())
    network = Learner(teacher.d, room, graph, m, rows, spec.bound)
    stages = Stages(
        spec.how, tuple(spec.stages), spec.constants, spec.anneal, patience=spec.patience, gain=spec.gain
    )
    settings = Settings(
        batch=training.batch,
        optimiser=spec.optimiser,
        momentum=training.momentum,
        clip=spec.clip,
        layer_rates=tuple(spec.layer_rates),
        lambdas=tuple(spec.lambdas),
        decay=spec.decay,
        noise=spec.noise_w,
        draws=spec.draws,
        rows=spec.rows,
        distill=spec.distill,
        kappa=teacher.kappa,
        signs=teacher.signs,
        classes=teacher.classes,
        sharpness=spec.sharpness,
        cache_bytes=training.cache_mb * 2**20,
        diverged_at=training.diverged_at,
        theory_c=spec.theory_c,
    )
    start = torch.ones(len(ours)) * math.log(2.0) if teacher.classes else train.zero_error.cpu()
    stack = DenseStack(network, replicas, part.data.seeds, stages, settings, teacher.centre, start, teacher.widths)
    return Setup(stack, ours)


def gap(replica: DenseReplica) -> float:
    """alpha_{l+1} / alpha_l, the same for all l; 1 where there is one layer."""
    return replica.alphas[1] / replica.alphas[0] if len(replica.alphas) > 1 else 1.0


def asked_for(setup: Setup, part: Part) -> dict[str, list[float]]:
    """log10 of what Definition B.3 asks for, of every replica's teacher; Gaussian inputs only, whose c_1, c_3, c_4
    Section 5 gives.
    """
    if part.teacher.distribution != "gaussian":
        return {}
    tables = []
    for teacher in setup.teachers:
        sums = [*teacher.sums().values()]
        shape = (teacher.d, teacher.widths, teacher.graph, teacher.alphas, sums, teacher.kappa)
        tables.append(paper_a.report(paper_a.DefinitionB3(*shape, epsilon=EPSILON)))
    rows = setup.stack.row_of.tolist()
    return {name: [tables[row][name] for row in rows] for name in tables[0]}


def exact(job: Job, part: Part, setup: Setup, picked: list[int]) -> dict[tuple[str, str], list[float]]:
    """E(G* - F)^2 of each seed's picked replica and the share of Var(G*) that takes all L layers, of every replica.

    Not for searches (dozens of replicas), nor where errors are not squares against G* itself (classes, noise).
    """
    searches, teacher = job.spec.alphas or job.spec.graphs, setup.teachers[0]
    if searches or teacher.classes or teacher.noise or not affordable(teacher):
        return {}
    shares = [top_share(one) for one in setup.teachers]
    errors = population_errors(setup.stack, setup.teachers, picked)
    return {
        ("population", "error"): errors.tolist(),
        ("teacher", "top_share"): [shares[row] for row in setup.stack.row_of.tolist()],
    }


def by_algorithm1(job: Job, part: Part, splits, place, device, curves, say, rows) -> Tensors:
    """Lightning, one run for the stack; the weights of each seed's best replica."""
    from learnability.training.dense_fit import DenseModule
    from learnability.training.features import Judge, forms
    from learnability.training.fit import Record, fit
    from learnability.verbs.part import pick

    setup = set_up(job, part, splits["train"])
    stack, training = setup.stack, job.training

    def listen(record: Record) -> None:
        best = int(record.values["val", "error"].nan_to_num(nan=float("inf")).argmin())
        for (split, name), values in record.values.items():
            curves(record.step, f"{split}/{name}", values.numpy(), best)

    module = DenseModule(stack, setup.teachers, splits["train"], splits["val"], training.log_every, listen)
    stages = stack.machine.stages
    sizes = f"{len(stack.replicas)} replicas in {len(stack.chunks())} chunk(s)"
    say(f"{sizes}, {stages.how}, {list(stages.lengths)} passes")
    history = fit(module, device, place / "stack.safetensors", training.checkpoint_seconds, say)
    for record in history:
        for (split, name), values in record.values.items():
            rows.add(stack.replicas, 0, record.epoch, record.step, split, name, values)
    last = history[-1]
    stack.to(device)

    def add(split: str, name: str, values) -> None:
        rows.add(stack.replicas, 0, last.epoch, last.step, split, name, values)

    for name, values in asked_for(setup, part).items():
        add("theory", f"log10_{name}", values)

    for name, values in Judge(setup.teachers, splits["test"])(stack).items():
        add("test", name, values)
    for name, values in forms(stack, setup.teachers).items():
        add("learner", name, values)
    add("train", "diverged_at", stack.died)
    for i, stage in enumerate(stages.names):
        entered = stack.machine.entered[:, i].double()
        add("event", stage, entered.masked_fill(entered == NEVER, math.nan))
    for i, stage in enumerate((*stages.names, "end")):
        for j, name in enumerate(module.measured):
            add(f"at_{stage}", name, module.at[:, i, j])
    for layer, _ in stack.network.layers():
        add("found", f"k{layer}", stack.found[:, layer - 2])
        add("teacher", f"k{layer}", [setup.teachers[0].widths[layer - 2]] * len(stack.replicas))
    add("learner", "alpha", [gap(replica) for replica in stack.replicas])
    graphs = list(dict.fromkeys(replica.graph for replica in stack.replicas))
    add("learner", "graph", [graphs.index(replica.graph) for replica in stack.replicas])
    true = setup.teachers[0].graph
    add("learner", "graph_is_true", [float(replica.graph == true) for replica in stack.replicas])
    add("learner", "halvings", stack.machine.halvings)
    picked = list(pick(stack.replicas, last.values["val", "error"]).values())
    for (split, name), values in exact(job, part, setup, picked).items():
        add(split, name, values)
    return {
        name: value[picked] for name, value in stack.weights().items() if value.shape[:1] == (len(stack.replicas),)
    }


def by_projection(job: Job, part: Part, splits, curves, say, rows) -> Tensors:
    """Two-layer polynomial networks, seed by seed: directions trained, polynomials solved for."""
    from learnability.training.polynomial2 import Machine, fit_seed
    from learnability.verbs.part import pick

    teacher = teachers.build(**part.teacher.model_dump(mode="json"))
    machine = Machine(part.width, job.spec.degree, teacher.d, job.spec.with_squares, teacher.centre)
    best = []
    for i, seed in enumerate(part.data.seeds):
        replicas = grid([seed], job.spec.lr, job.spec.wd)
        found = [fit_seed(machine, splits, i, r, job.spec.steps) for r in replicas]
        first = i * len(replicas)
        for split in ("train", "val", "test"):
            rows.add(replicas, first, 0, 0, split, "error", [one.errors[split] for one in found])
        curves(i, "val/error", [one.errors["val"] for one in found])
        chosen = pick(replicas, torch.tensor([one.errors["val"] for one in found]))[seed]
        best.append(found[chosen])
        say(f"seed {seed}: best validation error {best[-1].errors['val']:.3g}")
    return {"w": torch.stack([one.w for one in best]), "c": torch.stack([one.c for one in best])}
