"""Model-steps a second: the stack against one Lightning run per model and a plain loop per model.

All train the three-layer ResNet of Figure 2 with the same samples, batch 50, momentum SGD, on one thread.
The stack and the Lightning peer do the same whole job: training error and, every 20 epochs, validation error on
1000 samples, logged to an offline W&B run. Every replica of the stack has samples and batch order of its own. The
peers are written as most people would write them. Two more peers do nothing but train: a bare Lightning run, and a
plain loop that indexes tensors directly instead of going through a DataLoader. Starting Python, W&B and loading
libraries counts for no side.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from learnability import learners, teachers
from learnability.seeding import stream
from learnability.tracking import Tracker
from learnability.training.fit import Record, StackModule, bare_trainer, fit
from learnability.training.sgd import StepSchedule
from learnability.training.stack import Split, Stack, grid

D, K, N, BATCH, LR, WD = 30, 8, 1000, 50, 0.1, 1e-4
REPLICAS = {50: 128, 200: 64, 1000: 24, 2000: 12, 5000: 4}
ROUNDS = 3
LOG_EVERY = 20


class PlainResNet(nn.Module):
    """The same network for one model, as plain modules: A fixed, W and V trained."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(D, width)
        self.second = nn.Linear(K, width)
        self.register_buffer("a", torch.randn(width, K) / width**0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out1 = torch.relu(self.first(x)) @ self.a
        return out1 + torch.relu(self.second(out1)) @ self.a


class PlainModule(pl.LightningModule):
    """One model in Lightning, automatic optimisation, its errors logged as is usual."""

    def __init__(self, width: int, tracker: Tracker | None) -> None:  # None: train and nothing else
        super().__init__()
        self.net, self.tracker = PlainResNet(width), tracker

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], batch_idx: int) -> torch.Tensor:
        x, y = batch
        loss = (self.net(x) - y).square().sum(-1).mean() / 2
        if self.tracker:
            self.log("train", 2 * loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch: tuple[torch.Tensor, torch.Tensor], batch_idx: int) -> None:
        x, y = batch
        self.log("val", (self.net(x) - y).square().sum(-1).mean())

    def on_train_epoch_end(self) -> None:
        if self.tracker and (self.current_epoch + 1) % LOG_EVERY == 0:
            values = {name: float(value) for name, value in self.trainer.callback_metrics.items()}
            self.tracker.log(self.global_step, values)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.net.parameters(), lr=LR, momentum=0.9, weight_decay=WD)


@dataclass
class Speeds:
    """Medians over the rounds, in model-steps a second."""

    stack: float
    lightning: float
    bare: float
    loop: float


def samples(seeds: list[int]) -> Split:
    """Training samples of every seed."""
    teacher = teachers.build("parity_composite", d=D, k=K, alpha=0.3)
    x = torch.stack([teacher.inputs(N, stream("bench", seed)) for seed in seeds])
    ones = torch.ones(*x.shape[:2], 1)
    return Split(torch.cat([x, ones], -1), teacher(x), teacher.probes(x))


def tracker_in(folder: Path, job_type: str) -> Tracker:
    """An offline W&B run."""
    return Tracker.open(
        mode="offline",
        project="bench",
        entity=None,
        run_id=job_type,
        name=job_type,
        group="bench",
        job_type=job_type,
        config={},
        folder=folder,
        marker=folder / "marker",
    )


def stack_speed(width: int, epochs: int, tracker: Tracker) -> float:
    """The real path: every replica its own seed, tracked and evaluated."""
    seeds = list(range(REPLICAS[width]))
    split = samples(seeds)
    network = learners.build("resnet3", d=D, k=K, width=width)
    stack = Stack(network, grid(seeds, [LR], [WD]), seeds, BATCH, 8 * 2**20, 1000.0)

    def listen(record: Record) -> None:
        for (part, name), values in record.values.items():
            tracker.curves(record.step, f"{part}/{name}", values.numpy(), 0)

    module = StackModule(stack, split, split, StepSchedule((epochs,)), 0.9, {}, LOG_EVERY, listen)
    start = time.perf_counter()
    fit(module, torch.device("cpu"), say=lambda line: None)
    return len(seeds) * epochs * N / BATCH / (time.perf_counter() - start)


def lightning_speed(width: int, epochs: int, split: Split, tracker: Tracker | None = None) -> float:
    """One Lightning run of one model; what R models cost is R times this."""
    data = TensorDataset(split.x[0, :, :-1], split.y[0])
    loader = DataLoader(data, batch_size=BATCH, shuffle=True)
    validation = DataLoader(data, batch_size=N) if tracker else None
    trainer = bare_trainer(epochs, torch.device("cpu"), [], check_val_every_n_epoch=LOG_EVERY)
    module = PlainModule(width, tracker)
    start = time.perf_counter()
    trainer.fit(module, loader, validation)
    return epochs * N / BATCH / (time.perf_counter() - start)


def loop_speed(width: int, epochs: int, split: Split) -> float:
    """A plain training loop of one model."""
    x, y = split.x[0, :, :-1].contiguous(), split.y[0]
    net = PlainResNet(width)
    optimizer = torch.optim.SGD(net.parameters(), lr=LR, momentum=0.9, weight_decay=WD)
    start = time.perf_counter()
    for _ in range(epochs):
        order = torch.randperm(N)
        for first in range(0, N, BATCH):
            picked = order[first : first + BATCH]
            loss = (net(x[picked]) - y[picked]).square().sum(-1).mean() / 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return epochs * N / BATCH / (time.perf_counter() - start)


def measure(width: int, say: Callable[[str], None]) -> Speeds:
    """All sides in turn, ``ROUNDS`` times; the medians."""
    split = samples([0])
    epochs = 80 if width < 1000 else 40
    rows = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder, tracker_in(Path(folder), "stack") as tracker:
            ours = stack_speed(width, epochs, tracker)
        with tempfile.TemporaryDirectory() as folder, tracker_in(Path(folder), "model") as tracker:
            lightning = lightning_speed(width, 40, split, tracker)
        rows.append((ours, lightning, lightning_speed(width, 40, split), loop_speed(width, 20, split)))
        say(
            f"m = {width}: model-steps/s of stack, Lightning, bare, loop: "
            + ", ".join(f"{v:.0f}" for v in rows[-1])
        )
    return Speeds(*(statistics.median(side) for side in zip(*rows, strict=True)))


def flops(width: int) -> float:
    """Multiplications and additions in the products of one model-step of 3resnet.

    With W: forward and gradient; V: forward, gradient, back to out1; A: twice forward, twice back.
    """
    return 2 * BATCH * width * (2 * (D + 1) + 2 * (K + 1) + K + 4 * K)


def peak_gflops(size: int = 1024) -> float:
    """What this machine reaches in one large float32 matrix product, best of ten."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    times = []
    for _ in range(10):
        start = time.perf_counter()
        torch.mm(a, b)
        times.append(time.perf_counter() - start)
    return 2 * size**3 / min(times) / 1e9
