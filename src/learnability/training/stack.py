"""The stack: a whole (lr, weight decay, seed) sweep as one tensor dimension.

Every weight is (R, ...). Replicas never mix: each has its own start, training samples, batch order, rates.
An epoch runs chunk by chunk, a chunk being as many replicas as fit the cache with all a step touches,
and all minibatches of the epoch in one chunk before the next, so weights stay in cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from learnability.learners.base import Network
from learnability.seeding import stream
from learnability.training.sgd import StackSGD


@dataclass(frozen=True)
class Replica:
    """One model of the sweep."""

    seed: int
    lr: float
    wd: float


@dataclass(frozen=True)
class Split:
    """One split for S seeds: x (S, n, d+1) with the constant 1, y (S, n, k), probes (S, n, k).

    ``clean``: H(x) (S, n, k) where y is H(x) with noise, None where y is H(x) itself.
    """

    x: Tensor
    y: Tensor
    probes: dict[str, Tensor]
    clean: Tensor | None = None

    @cached_property
    def rows(self) -> Tensor:
        """(x, 1, y) of all seeds as (S n, d+1+k): a minibatch is gathered with one call."""
        return torch.cat([self.x, self.y], dim=-1).flatten(0, 1)

    @cached_property
    def zero_error(self) -> Tensor:
        """Error of out = 0, mean ||y||^2, for each seed: (S,)."""
        return self.y.square().sum(-1).mean(-1)

    def to(self, device: torch.device, dtype: torch.dtype = torch.float32) -> Split:
        """The same split elsewhere."""
        move = {"device": device, "dtype": dtype}
        probes = {name: probe.to(**move) for name, probe in self.probes.items()}
        clean = None if self.clean is None else self.clean.to(**move)
        return replace(self, x=self.x.to(**move), y=self.y.to(**move), probes=probes, clean=clean)

    def measure(self, out: Tensor, seeds: Tensor | int, part: slice) -> dict[str, Tensor]:
        """Sums over the points ``part`` for outputs (..., n, k) of the models of ``seeds``; float64, (...).

        error ||out - y||^2, risk ||out - H(x)||^2 if labels are noisy, and out . s / k for each probe s.
        """
        sums = {"error": (out - self.y[seeds, part]).double().square().sum((-1, -2))}
        if self.clean is not None:
            sums["risk"] = (out - self.clean[seeds, part]).double().square().sum((-1, -2))
        for name, probe in self.probes.items():
            sums[name] = (out * probe[seeds, part]).double().sum((-1, -2)) / out.shape[-1]
        return sums


def grid(seeds: Sequence[int], lrs: Sequence[float], wds: Sequence[float]) -> list[Replica]:
    """The sweep, rates outermost: replicas that diverge together lie together, and chunks of
    them can be skipped."""
    return [Replica(seed, lr, wd) for lr in sorted(lrs) for wd in sorted(wds) for seed in seeds]


def chunk_rows(count: int, bytes_each: int, cache_bytes: float) -> list[slice]:
    """``count`` replicas in equal chunks whose working sets fit ``cache_bytes`` (at least one)."""
    most = max(1, int(min(cache_bytes / bytes_each, count)))
    size = math.ceil(count / math.ceil(count / most))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def batch_orders(seeds: Sequence[int], epoch: int, n: int, device: torch.device) -> Tensor:
    """Batch order of every seed in ``epoch``: (S, n) row numbers into the flattened samples."""
    orders = [torch.randperm(n, generator=stream("order", seed, epoch)) for seed in seeds]
    offsets = torch.arange(len(seeds))[:, None] * n
    return (torch.stack(orders) + offsets).to(device)


class Stack(nn.Module):
    """R replicas of one network, with what is needed to run and evaluate them."""

    def __init__(
        self,
        network: Network,
        replicas: Sequence[Replica],
        seeds: Sequence[int],
        batch: int,
        cache_bytes: float = math.inf,
        diverged_at: float = math.inf,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.network, self.replicas, self.seeds = network, list(replicas), list(seeds)
        self.batch, self.cache_bytes, self.diverged_at = batch, cache_bytes, diverged_at
        self.register_buffer("row_of", torch.tensor([self.seeds.index(r.seed) for r in replicas]))
        self.register_buffer("died", torch.full((len(replicas),), -1))  # epoch, -1: alive
        starts = {seed: self._start(seed) for seed in dict.fromkeys(r.seed for r in replicas)}
        for name in next(iter(starts.values())):
            value = torch.stack([starts[r.seed][name] for r in replicas]).to(dtype)
            if name in network.trained:
                self.register_parameter(name, nn.Parameter(value, requires_grad=False))
            else:
                self.register_buffer(name, value)
        self.names = list(next(iter(starts.values())))
        self._work: dict[tuple[int, int], dict[str, Tensor]] = {}

    def _start(self, seed: int) -> dict[str, Tensor]:
        network = getattr(self.network, "body", self.network)
        name = type(network).__module__.rsplit(".", 1)[-1]
        return self.network.init(stream("init", name, network.width, seed))

    def weights(self, rows: slice = slice(None)) -> dict[str, Tensor]:
        """Views of the weights of the replicas in ``rows``."""
        return {name: getattr(self, name)[rows] for name in self.names}

    def optimizer(self, momentum: float, lr_scale: dict[str, float] | None = None) -> StackSGD:
        """The optimiser with each replica's own rates."""
        like = next(iter(self.weights().values()))
        lr = torch.tensor([r.lr for r in self.replicas], dtype=like.dtype, device=like.device)
        wd = torch.tensor([r.wd for r in self.replicas], dtype=like.dtype, device=like.device)
        trained = {name: getattr(self, name) for name in self.network.trained}
        return StackSGD(trained, lr, wd, momentum, lr_scale)

    def chunks(self) -> list[slice]:
        """Rows of each chunk; on an accelerator the whole stack is one."""
        on_cpu = self.row_of.device.type == "cpu"
        cache = self.cache_bytes if on_cpu else math.inf
        return chunk_rows(len(self.replicas), self.network.working_set(self.batch), cache)

    @torch.no_grad()
    def run_epoch(self, split: Split, optimizer: StackSGD, epoch: int, factor: float) -> Tensor:
        """One pass over the samples; returns each replica's mean squared error on the way, (R,)."""
        n = split.x.shape[1]
        order = batch_orders(self.seeds, epoch, n, self.row_of.device)
        error = split.x.new_full((len(self.replicas),), math.nan)
        for rows in self.chunks():
            if bool((self.died[rows] >= 0).all()):
                continue
            error[rows] = self._run_chunk(split, optimizer, rows, order, factor)
        limit = self.diverged_at * split.zero_error[self.row_of]
        lost = ~(error <= limit) & (self.died < 0)  # NaN counts as lost
        if bool(lost.any()):
            self.died[lost] = epoch
            optimizer.drop_replicas(lost)
            for name in self.network.trained:
                getattr(self, name).data[lost] = 0.0
        return error.masked_fill(self.died >= 0, math.nan)

    def _run_chunk(self, split: Split, optimizer: StackSGD, rows: slice, order: Tensor, factor: float) -> Tensor:
        """All minibatches of an epoch for one chunk; returns its mean squared errors."""
        samples, inputs = split.rows, split.x.shape[-1]
        weights, buffers = self.weights(rows), optimizer.buffers(rows)
        rates, momentum = optimizer.rates(rows, factor), optimizer.momentum
        mine = order[self.row_of[rows]]  # (C, n)
        count, n = mine.shape
        total = samples.new_zeros(count)
        for start in range(0, n, self.batch):
            picked = mine[:, start : start + self.batch]
            work = self._workspace(count, picked.shape[1], samples)
            torch.index_select(samples, 0, picked.flatten(), out=work["batch"])
            batch = work["batch"].view(count, -1, samples.shape[1])
            x, y = batch[..., :inputs], batch[..., inputs:]
            residual = self.network.accumulate(weights, x, y, buffers, momentum, work)
            optimizer.apply(weights, buffers, rates)
            total += torch.linalg.vector_norm(residual, dim=(1, 2)).square_()
        return total / n

    def _workspace(self, count: int, batch: int, like: Tensor) -> dict[str, Tensor]:
        """Reused buffers for a chunk and batch of this size (the last ones may be smaller)."""
        key = (count, batch)
        if key not in self._work:
            work = self.network.workspace(count, batch, like)
            work["batch"] = like.new_empty(count * batch, like.shape[1])
            self._work[key] = work
        return self._work[key]

    @torch.no_grad()
    def evaluate(self, split: Split, block: int | None = None) -> dict[str, Tensor]:
        """Means of what :meth:`Split.measure` sums, over the split; each (R,)."""
        n = split.x.shape[1]
        block = block or max(50, 2**18 // self.network.width)  # activations of a replica: about 1 MB
        result: dict[str, list[Tensor]] = {}
        for rows in self.chunks():
            weights, seeds = self.weights(rows), self.row_of[rows]
            sums: dict[str, Tensor] = {}
            for start in range(0, n, block):
                part = slice(start, start + block)
                out = self.network.forward(weights, split.x[seeds, part])  # (C, block, k)
                for name, value in split.measure(out, seeds, part).items():
                    sums[name] = sums.get(name, 0.0) + value
            for name, value in sums.items():
                result.setdefault(name, []).append(value / n)
        dead = self.died >= 0
        return {name: torch.cat(parts).masked_fill(dead, math.nan) for name, parts in result.items()}

    def distances(self) -> dict[str, Tensor]:
        """Frobenius norms of each trained weight w and of how far it moved: norm_w, moved_w; each (R,)."""
        found = {}
        starts = {seed: self._start(seed) for seed in dict.fromkeys(r.seed for r in self.replicas)}
        for name in self.network.trained:
            now = getattr(self, name).data.flatten(1).double().cpu()
            start = torch.stack([starts[r.seed][name].flatten() for r in self.replicas]).double()
            found[f"norm_{name}"] = now.norm(dim=1)
            found[f"moved_{name}"] = (now - start).norm(dim=1)
        dead = (self.died >= 0).cpu()
        return {name: value.masked_fill(dead, math.nan) for name, value in found.items()}
