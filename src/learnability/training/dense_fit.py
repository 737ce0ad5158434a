"""One Lightning run of Algorithm 1 for a stack of DenseNets: passes, stage changes, measurements at each change."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from learnability.training.densenet import DenseStack
from learnability.training.features import Judge, forms
from learnability.training.fit import Record, RecordedModule, quiet
from learnability.training.flat import FlatOptimizer
from learnability.training.stack import Split

AT = ("error", "risk", "f")  # what is kept at every change of stage: the errors, and f_l of each layer


class DenseModule(RecordedModule):
    """Trains a :class:`DenseStack`; ``at`` (R, stages + 1, measures) holds what was measured when a stage began."""

    def __init__(
        self,
        stack: DenseStack,
        teachers: Sequence[Any],
        train: Split,
        val: Split,
        log_every: int,
        listen: Callable[[Record], None] = quiet,
    ) -> None:
        super().__init__(stack.machine.stages.epochs, log_every, listen)
        self.stack, self.teachers, self.batch = stack, list(teachers), stack.settings.batch
        self.splits = {"train": train, "val": val}
        self.judge: Judge | None = None
        count = len(stack.replicas)
        self.measured = ("error", "risk", *[f"f{layer}" for layer, _ in stack.network.layers()])
        shape = (count, len(stack.machine.stages.names) + 1, len(self.measured))
        self.register_buffer("at", torch.full(shape, math.nan, dtype=torch.float64))
        self.objective = torch.full((count,), math.nan)

    def configure_optimizers(self) -> FlatOptimizer:
        return self.stack.optimizer()

    def on_fit_start(self) -> None:
        super().on_fit_start()
        self.judge = Judge(self.teachers, self.splits["val"])

    @property
    def through(self) -> bool:
        """Whether every replica has been through all stages, or is lost."""
        return bool((self.stack.machine.finished | (self.stack.died >= 0).cpu()).all())

    def on_train_start(self) -> None:
        self.trainer.should_stop = self.through  # a checkpoint may be of the end

    def run_pass(self, epoch: int) -> None:
        optimizer = self.optimizers(use_pl_optimizer=False)
        self.objective = self.stack.run_epoch(self.splits["train"], optimizer, epoch)
        moved = self.stack.machine.observe(epoch, self.objective, squared=not self.stack.settings.classes)
        if bool(moved.any()):
            now = self.judge(self.stack)
            values = torch.stack([now[name] for name in self.measured], dim=-1)  # (R, measures)
            rows = moved.nonzero().flatten()
            self.at[rows, self.stack.machine.stage[rows]] = values[rows].to(self.at)
            self.stack.change_stages(moved, optimizer)

    def measure(self) -> dict[tuple[str, str], Tensor]:
        stack = self.stack
        self.trainer.should_stop = self.through
        found = {("train", "objective"): self.objective}
        found |= {("val", name): value for name, value in self.judge(stack).items()}
        found |= {("learner", name): value for name, value in forms(stack, self.teachers).items()}
        found["learner", "stage"] = stack.machine.stage.clone()
        found["learner", "epsilon"] = stack.machine.epsilon.clone()
        return found
