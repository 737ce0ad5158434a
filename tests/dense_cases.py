"""Small stacks of quadratic DenseNets with their teachers and samples, for several tests."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import torch

from learnability.learners.densenet import Learner, binom2, union
from learnability.seeding import stream
from learnability.teachers.densenet import Teacher
from learnability.training.algorithm1 import Stages
from learnability.training.densenet import DenseReplica, DenseStack, Settings
from learnability.training.stack import Split

GRAPH = ((0, 1), (0, 2))
SMALL = Teacher(d=4, alpha=0.3, widths=(2, 1), graph=GRAPH)


def splits(teacher: Teacher, seeds: list[int], n: int = 120) -> dict[str, Split]:
    """Training and validation samples of these seeds."""
    found = {}
    for name in ("train", "val"):
        x = torch.stack([teacher.of_seed(seed).inputs(n, stream("x", name, seed)) for seed in seeds])
        y = [teacher.of_seed(s).labels(x[i], stream("noise", name, s)).float() for i, s in enumerate(seeds)]
        found[name] = Split(torch.cat([x, torch.ones_like(x[..., :1])], dim=-1), torch.stack(y), {})
    return found


@dataclass
class Case:
    """What a stack is built from; ``with_`` changes some of it."""

    teacher: Teacher = SMALL
    seeds: tuple[int, ...] = (3, 1)
    lrs: tuple[float, ...] = (0.005, 0.02)
    gaps: tuple[float, ...] = (0.3,)
    graphs: tuple = (GRAPH,)
    how: str = "algorithm1"
    constants: str = "practical"
    longest: tuple[int, ...] = (3, 3, 4, 4)
    settings: dict = field(default_factory=dict)

    def with_(self, **changes) -> Case:
        return replace(self, **changes)

    def replicas(self) -> list[DenseReplica]:
        layers = len(self.teacher.widths)
        return [
            DenseReplica(seed, lr, math.nan, tuple(gap**i for i in range(layers)), graph)
            for lr in self.lrs
            for gap in self.gaps
            for graph in self.graphs
            for seed in self.seeds
        ]

    def stack(self, replicas: list[DenseReplica] | None = None, seeds: list[int] | None = None) -> DenseStack:
        """A stack at its start, of all replicas or of these."""
        replicas = self.replicas() if replicas is None else replicas
        seeds, t = list(self.seeds if seeds is None else seeds), self.teacher
        graph, room = union(self.graphs), tuple(k + 1 for k in t.widths)
        rows = tuple(binom2(k) for k in room)
        plain = Learner(t.d, room, graph, (1,) * len(room), rows, 30.0)
        m = tuple(2 * plain.inputs(layer) for layer, _ in plain.layers())
        network = Learner(t.d, room, graph, m, rows, 30.0)
        settings = Settings(**({"batch": 40, "signs": t.signs, "classes": t.classes, "draws": 3} | self.settings))
        start = torch.full((len(seeds),), math.log(2.0)) if t.classes else self.samples(seeds)["train"].zero_error
        stages = Stages(self.how, self.longest, self.constants, patience=2)
        return DenseStack(network, replicas, seeds, stages, settings, t.centre, start, t.widths)

    def samples(self, seeds: list[int] | None = None) -> dict[str, Split]:
        return splits(self.teacher, list(self.seeds if seeds is None else seeds))

    def teachers(self, seeds: list[int] | None = None) -> list[Teacher]:
        return [self.teacher.of_seed(seed) for seed in (self.seeds if seeds is None else seeds)]


def run(stack: DenseStack, train: Split, passes: int | None = None) -> list[torch.Tensor]:
    """Train through all stages (or ``passes`` passes); the objective of every pass."""
    optimizer, found = stack.optimizer(), []
    for epoch in range(passes or stack.machine.stages.epochs):
        found.append(stack.run_epoch(train, optimizer, epoch))
        moved = stack.machine.observe(epoch, found[-1], squared=not stack.settings.classes)
        stack.change_stages(moved, optimizer)
    return found
