"""Networks and samples that several tests build."""

from __future__ import annotations

import torch

from learnability import learners
from learnability.learners.base import Network
from learnability.learners.linearised import linearise
from learnability.training.stack import Split

NETWORKS = ("resnet3", "layer3", "layer2")
EVERY = (
    *NETWORKS,
    *(f"{n}-{how}" for n in NETWORKS for how in ("last", "ntk")),
    "resnet3-separate",
)


def build(name: str, d: int = 6, k: int = 4, width: int = 9, **more) -> Network:
    name, _, how = name.partition("-")
    body = learners.build(name, d=d, k=k, width=width, **more)
    return linearise(body, "ntk" if how == "separate" else how, how == "separate") if how else body


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def with_one(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)


def stacked(network: Network, replicas: int, dtype=torch.float64) -> dict[str, torch.Tensor]:
    starts = [network.init(torch.Generator().manual_seed(r)) for r in range(replicas)]
    return {name: torch.stack([s[name] for s in starts]).to(dtype) for name in starts[0]}


def samples(seeds: int, n: int, d: int, k: int, dtype=torch.float64, seed: int = 5) -> Split:
    x, y = normal(seeds, n, d, seed=seed).sign(), normal(seeds, n, k, seed=seed + 1)
    return Split(with_one(x), y, {"cF": y.sign()}).to(torch.device("cpu"), dtype)
