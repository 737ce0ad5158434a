"""Paper D's networks written out plainly, and small stacks of them, that several tests use."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from learnability.learners.logistic import Data, Learner
from learnability.theory import paper_d
from learnability.training.descent import Descent, scaled
from networks import normal


def phi(activation: str, z: Tensor, h: Tensor) -> Tensor:
    """As the paper has it."""
    if activation == "huber":
        return torch.where(z < 0, 0 * z, torch.where(z <= h, z**2 / (2 * h), z - h / 2))
    return z * torch.sigmoid(2 * z / h) / 1.1 if activation == "swish" else z.clamp_min(0)


def parts(net: Learner, v: Tensor) -> list[Tensor]:
    """V_1, ..., V_{L+1} of one network's weights (P,), cut out one after the other."""
    sizes = [net.d] + [net.width] * net.depth + [1]
    found = []
    for columns, rows in itertools.pairwise(sizes):
        found.append(v[: rows * columns].reshape(rows, columns))
        v = v[rows * columns :]
    assert not len(v)
    return found


def preactivations(net: Learner, v: Tensor, x: Tensor, h: Tensor, extra: Tensor | None = None) -> list[Tensor]:
    """u_1, ..., u_L and f_V, (n, .) each, of one network; ``extra`` (L, n, p) is added to x_1, ..., x_L."""
    us = []
    for layer, matrix in enumerate(parts(net, v)):
        us.append(x @ matrix.T)
        x = phi(net.activation, us[-1], h) + (0 if extra is None or layer == net.depth else extra[layer])
    return us


def outputs(net: Learner, v: Tensor, x: Tensor, h: Tensor) -> Tensor:
    """f_V(x_s) = V_{L+1} phi(V_L ... phi(V_1 x_s)): (n,)."""
    return preactivations(net, v, x, h)[-1][:, 0]


def loss(net: Learner, v: Tensor, x: Tensor, y: Tensor, h: Tensor) -> Tensor:
    """J(V) in plain numbers."""
    return torch.log1p(torch.exp(-y * outputs(net, v, x, h))).mean()


def sphere(replicas: int, n: int, d: int, h: float, seed: int = 1) -> Data:
    """Points on the sphere with labels in turn, the same h for all."""
    x = normal(replicas, n, d, seed=seed)
    y = (1.0 - 2.0 * (torch.arange(n) % 2)).double().repeat(replicas, 1)
    return Data(x / x.norm(dim=-1, keepdim=True), y, torch.full((replicas,), h, dtype=torch.float64))


def starts(net: Learner, replicas: int, seed: int = 0) -> Tensor:
    """Random starts: (R, P)."""
    return torch.stack([net.init(torch.Generator().manual_seed(seed + r)) for r in range(replicas)])


def fitted(net: Learner, data: Data, steps: int = 200, draws: int = 32) -> Tensor:
    """For each replica the best of its random starts after some steps, with all margins positive: (R, P)."""
    count = len(data.y)
    many = Data(*(value.repeat_interleave(draws, 0) for value in (data.x, data.y, data.h)))
    descent = Descent(net, starts(net, draws).repeat(count, 1), many, None, 0.05)
    for _ in range(steps):
        descent.step()
    margins = net.margins(descent.v, many).amin(1).nan_to_num(nan=-1.0).unflatten(0, (count, draws))
    assert (margins.amax(1) > 0).all()
    return descent.v.unflatten(0, (count, draws))[torch.arange(count), margins.argmax(1)]


def at_threshold(net: Learner, data: Data, times: float = 1.02) -> tuple[Tensor, Data]:
    """Weights that meet Theorem 3.1's hypotheses, log J_1 = ``times`` the threshold's, and h = h_max / 2."""
    target = times * paper_d.log_threshold(data.y.shape[1], net.depth)

    def h_of(norm: Tensor) -> Tensor:
        return torch.as_tensor(paper_d.h_max(net.depth, net.width, norm.numpy(), target)) / 2

    v, h = scaled(net, fitted(net, data), data, target, h_of)
    return v, Data(data.x, data.y, h)
