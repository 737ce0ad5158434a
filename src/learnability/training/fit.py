"""One Lightning run for a whole stack: many minibatches a Lightning step, checkpoints, progress.

A Lightning *step* is one pass over the samples (all minibatches, all replicas), a Lightning *epoch* is
``log_every`` passes, after which the stack is evaluated, logged and, when due, checkpointed. So Lightning's own
cost per step is paid once per pass instead of once per minibatch and model.
"""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.plugins.environments import LightningEnvironment
from torch import Tensor

from learnability.errors import UserError
from learnability.training.checkpoint import SafeCheckpointIO
from learnability.training.sgd import StackSGD, StepSchedule
from learnability.training.stack import Split, Stack


@dataclass
class Record:
    """What was measured at one moment: (split, name) -> one value per replica, (R,) float64."""

    epoch: int
    step: int
    values: dict[tuple[str, str], Tensor] = field(default_factory=dict)


def quiet(record: Record) -> None:
    """The default listener: hears nothing."""


class RecordedModule(pl.LightningModule):
    """What every stack's training shares: passes counted, measurements recorded, both kept in the checkpoint.

    A subclass has ``run_pass(epoch)``, ``measure() -> {(split, name): (R,)}`` and ``splits``.
    """

    batch: int
    splits: dict[str, Split]
    watched = ("val", "error")  # what the progress line tells, the least of all replicas

    def __init__(self, epochs: int, log_every: int, listen: Callable[[Record], None] = quiet) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.epochs, self.log_every, self.listen = epochs, log_every, listen
        self.history: list[Record] = []
        self.progress: Progress | None = None
        self.since = 0  # the epoch at which this process began

    def run_pass(self, epoch: int) -> None:
        """One pass over the samples."""
        raise NotImplementedError

    def measure(self) -> dict[tuple[str, str], Tensor]:
        """What is recorded now, one value per replica each."""
        raise NotImplementedError

    @property
    def steps_a_pass(self) -> int:
        """Minibatches in a pass over the samples."""
        return math.ceil(self.splits["train"].x.shape[1] / self.batch)

    def on_fit_start(self) -> None:
        self.splits = {name: split.to(self.device) for name, split in self.splits.items()}

    def training_step(self, batch: int, batch_idx: int) -> None:
        epoch = self.current_epoch * self.log_every + batch_idx
        if epoch < self.epochs:  # the last Lightning epoch may be shorter
            self.run_pass(epoch)

    def on_train_epoch_end(self) -> None:
        done = min((self.current_epoch + 1) * self.log_every, self.epochs)
        found = {key: value.double().cpu() for key, value in self.measure().items()}
        record = Record(done, done * self.steps_a_pass, found)
        self.history.append(record)
        self.listen(record)
        if self.progress is not None:
            self.progress(record, self.since, self.watched)

    def on_save_checkpoint(self, checkpoint: dict) -> None:
        checkpoint["history"] = [
            [r.epoch, r.step, [[s, n, v] for (s, n), v in r.values.items()]] for r in self.history
        ]

    def on_load_checkpoint(self, checkpoint: dict) -> None:
        self.history = [
            Record(epoch, step, {(s, n): v for s, n, v in values}) for epoch, step, values in checkpoint["history"]
        ]
        self.since = self.history[-1].epoch
        for record in self.history:  # a tracker that lost its run hears the past again
            self.listen(record)


class StackModule(RecordedModule):
    """Trains a :class:`Stack` by SGD."""

    def __init__(
        self,
        stack: Stack,
        train: Split,
        val: Split,
        schedule: StepSchedule,
        momentum: float,
        lr_scale: dict[str, float],
        log_every: int,
        listen: Callable[[Record], None] = quiet,
    ) -> None:
        super().__init__(schedule.epochs, log_every, listen)
        self.stack, self.schedule, self.batch = stack, schedule, stack.batch
        self.momentum, self.lr_scale = momentum, lr_scale
        self.splits = {"train": train, "val": val}
        self.train_error = torch.full((len(stack.replicas),), math.nan)

    def configure_optimizers(self) -> StackSGD:
        return self.stack.optimizer(self.momentum, self.lr_scale)

    def run_pass(self, epoch: int) -> None:
        optimizer = self.optimizers(use_pl_optimizer=False)
        self.train_error = self.stack.run_epoch(self.splits["train"], optimizer, epoch, self.schedule.factor(epoch))

    def measure(self) -> dict[tuple[str, str], Tensor]:
        found = {("train", "error"): self.train_error}
        return found | {("val", name): value for name, value in self.stack.evaluate(self.splits["val"]).items()}


class Checkpoint(pl.callbacks.Checkpoint):
    """Saves after a Lightning epoch when ``seconds`` have passed and saving stays under 5% of the time.

    Lightning calls this class of callbacks last, when the module has recorded the epoch.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self.path, self.wait = path, seconds
        self.seconds, self.last = seconds, time.monotonic()

    def on_train_epoch_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        start = time.monotonic()
        if start - self.last < self.wait:
            return
        trainer.save_checkpoint(self.path)
        self.last = time.monotonic()
        self.wait = max(self.seconds, 20 * (self.last - start))


class Progress:
    """One line now and then: how far, how good, how long still."""

    def __init__(self, say: Callable[[str], None], total: int, every: float = 10.0) -> None:
        self.say, self.total, self.every = say, total, every
        self.start = self.last = time.monotonic()

    def __call__(self, record: Record, since: int, watched: tuple[str, str]) -> None:
        """Hear of ``record``; ``since`` is the epoch at which this process began, ``watched`` what is told."""
        now = time.monotonic()
        if now - self.last < self.every and record.epoch < self.total:
            return
        self.last = now
        left = (now - self.start) / (record.epoch - since) * (self.total - record.epoch)
        values = record.values[watched]
        alive = values[values.isfinite()]
        best = f"{alive.min():.3f}" if len(alive) else "-"
        lost = f", {len(values) - len(alive)} diverged" if len(alive) < len(values) else ""
        name = {"val": "validation", "train": "training"}[watched[0]] + " " + watched[1].replace("_", " ")
        self.say(f"epoch {record.epoch}/{self.total}, best {name} {best}{lost}, {left:.0f} s left")


def bare_trainer(epochs: int, device: torch.device, callbacks: list[pl.Callback], **more: Any) -> pl.Trainer:
    """A bare single-device trainer: no logger, no Slurm signal handling, no checkpoints of its own."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")  # advice on loader workers and the like
    return pl.Trainer(
        accelerator={"cpu": "cpu", "cuda": "gpu", "mps": "mps"}[device.type],
        devices=[device.index or 0] if device.type == "cuda" else 1,
        max_epochs=epochs,
        logger=False,
        enable_checkpointing=bool(callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        plugins=[LightningEnvironment(), SafeCheckpointIO()],
        callbacks=callbacks,
        **more,
    )


def fit(
    module: RecordedModule,
    device: torch.device,
    checkpoint: Path | None = None,
    seconds: float = 5.0,
    say: Callable[[str], None] = print,
) -> list[Record]:
    """Train to the end, resuming from ``checkpoint`` if it is there; returns the history.

    A checkpoint that cannot be read is named and set aside, and training starts anew.
    """
    callbacks: list[pl.Callback] = []
    module.progress = Progress(say, module.epochs)
    resume = None
    if checkpoint is not None:
        callbacks.append(Checkpoint(checkpoint, seconds))
        if checkpoint.exists():
            try:
                saved = SafeCheckpointIO().load_checkpoint(checkpoint)
                done = saved["history"][-1][0]
                say(f"resuming from checkpoint {checkpoint} at epoch {done}")
                resume = str(checkpoint)
            except (UserError, KeyError, ValueError) as error:
                say(f"checkpoint cannot be used, starting anew: {error}")
                checkpoint.unlink()
    epochs = math.ceil(module.epochs / module.log_every)
    trainer = bare_trainer(epochs, device, callbacks)
    trainer.fit(module, train_dataloaders=range(module.log_every), ckpt_path=resume)
    return module.history
