"""Model-steps a second: the stack against one Lightning run per model and a plain loop per model.

All three train the three-layer ResNet of Figure 2 with the same samples, batch 50, momentum SGD, one thread.
The stack goes through its whole real path: Lightning, an offline W&B run, samples and batch order of its own
for each replica. The peers are written as most people would write them; the plain loop indexes tensors
directly, without a DataLoader.
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
from learnability.training.fit import Record, StackModule, _trainer, fit_sgd
from learnability.training.sgd import StepSchedule
from learnability.training.stack import Split, Stack, grid

D, K, N, BATCH, LR, WD = 30, 8, 1000, 50, 0.1, 1e-4
REPLICAS = {50: 128, 200: 64, 1000: 24, 2000: 12, 5000: 4}
ROUNDS = 3


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
    """One model in Lightning, automatic optimisation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.net = PlainResNet(width)

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], batch_idx: int) -> torch.Tensor:
        x, y = batch
        return (self.net(x) - y).square().sum(-1).mean() / 2

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.net.parameters(), lr=LR, momentum=0.9, weight_decay=WD)


@dataclass
class Speeds:
    """Medians over the rounds, in model-steps a second."""

    stack: float
    lightning: float
    loop: float


def samples(seeds: list[int]) -> Split:
    """Training samples of every seed."""
    teacher = teachers.build("parity_composite", d=D, k=K, alpha=0.3)
    x = torch.stack([teacher.inputs(N, stream("bench", seed)) for seed in seeds])
    ones = torch.ones(*x.shape[:2], 1)
    return Split(torch.cat([x, ones], -1), teacher(x), teacher.probes(x))


def stack_speed(width: int, epochs: int, folder: Path) -> float:
    """The real path: every replica its own seed, tracked, logged every 20 epochs."""
    seeds = list(range(REPLICAS[width]))
    split = samples(seeds)
    network = learners.build("resnet3", d=D, k=K, width=width)
    stack = Stack(network, grid(seeds, [LR], [WD]), seeds, BATCH, 8 * 2**20, 1000.0)
    tracker = Tracker.open(
        mode="offline",
        project="bench",
        entity=None,
        run_id=f"bench{width}",
        name="bench",
        group="bench",
        job_type="stack",
        config={},
        folder=folder,
        marker=folder / "marker",
    )

    def listen(record: Record) -> None:
        for (part, name), values in record.values.items():
            tracker.curves(record.step, f"{part}/{name}", values.numpy(), 0)

    schedule = StepSchedule((epochs,))
    module = StackModule(stack, split, split, schedule, 0.9, {}, min(20, epochs), listen)
    start = time.perf_counter()
    fit_sgd(module, torch.device("cpu"), say=lambda line: None)
    took = time.perf_counter() - start
    tracker.finish()
    return len(seeds) * epochs * N / BATCH / took


def lightning_speed(width: int, epochs: int, split: Split) -> float:
    """One Lightning run of one model; what R models cost is R times this."""
    data = TensorDataset(split.x[0, :, :-1], split.y[0])
    loader = DataLoader(data, batch_size=BATCH, shuffle=True)
    trainer = _trainer(epochs, torch.device("cpu"), [])
    module = PlainModule(width)
    start = time.perf_counter()
    trainer.fit(module, loader)
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
    """The three sides in turn, ``ROUNDS`` times; about as much time for each."""
    split = samples([0])
    epochs = {50: 40, 200: 40, 1000: 20, 2000: 20, 5000: 20}[width]
    rows = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            ours = stack_speed(width, epochs, Path(folder))
        rows.append((ours, lightning_speed(width, 20, split), loop_speed(width, 20, split)))
        say(f"m = {width}: stack {ours:.0f}, Lightning {rows[-1][1]:.0f}, loop {rows[-1][2]:.0f} steps/s")
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
