"""Full-batch gradient descent V <- V - alpha grad J(V) on a stack of paper D's networks, exact where alpha is tiny.

At Theorem 3.1's step size a step moves a weight by less than float64 can add to it. So the way travelled is kept
apart from the start, V = V^(1) + D, D summed with compensation (W. Kahan, 1965), and J is never a difference of two
losses: J_t / J_1 - 1 is carried through the layers beside the values (``Learner.change``). Gradients are those at
V^(1) + D rounded, whose relative error of 1e-16 is harmless.

A rate given in place of alpha makes steps that lower log J by about ``rate``: alpha_t = rate / |grad log J|^2 / J,
no step longer than a tenth of |V|. Starting points are made with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from learnability.learners.logistic import Data, Learner
from learnability.training.fit import Record, RecordedModule, quiet

LONGEST = 0.1  # of |V|: a step of a given rate


class Descent(nn.Module):
    """R networks on their way: V = start + moved + rest."""

    def __init__(self, network: Learner, start: Tensor, data: Data, log_alpha: Tensor | None, rate: float = 0.0):
        """``log_alpha`` (R,) for constant steps, None for steps of ``rate`` in log J."""
        super().__init__()
        self.network, self.rate = network, rate
        self.register_buffer("start", start.clone())
        self.register_buffer("moved", torch.zeros_like(start))
        self.register_buffer("rest", torch.zeros_like(start))  # what rounding took from ``moved``
        for name in ("x", "y", "h"):
            self.register_buffer(name, getattr(data, name))
        self.register_buffer("log_alpha", log_alpha)

    @property
    def data(self) -> Data:
        """Inputs, labels and h, where the weights are."""
        return Data(self.x, self.y, self.h)

    @property
    def v(self) -> Tensor:
        """The weights, rounded: (R, P)."""
        return self.start + (self.moved + self.rest)

    @torch.no_grad()
    def step(self) -> None:
        """One step of every network."""
        log_loss, gradient = self.network.gradient(self.v, self.data)
        if self.log_alpha is None:
            size = gradient.norm(dim=1)
            length = torch.minimum(self.rate / size, LONGEST * self.v.norm(dim=1))
            move = -gradient * (length / size)[:, None]
        else:
            move = -gradient * torch.exp(self.log_alpha + log_loss)[:, None]
        move = move + self.rest
        total = self.moved + move
        self.rest.copy_(move - (total - self.moved))
        self.moved.copy_(total)

    @torch.no_grad()
    def log_ratio(self) -> Tensor:
        """log(J_t / J_1), (R,), to all its digits however little has changed."""
        change, _ = self.network.change(self.start, self.moved + self.rest, self.data)
        far = self.network.log_loss(self.v, self.data) - self.network.log_loss(self.start, self.data)
        return torch.where(change > -0.5, torch.log1p(change), far)


class DescentModule(RecordedModule):
    """Trains a :class:`Descent` under Lightning: a pass is a step, as the batch is the data set."""

    watched = ("train", "log_loss")

    def __init__(
        self, descent: Descent, steps: int, log_every: int, listen: Callable[[Record], None] = quiet
    ) -> None:
        super().__init__(steps, log_every, listen)
        self.descent, self.splits = descent, {}

    @property
    def steps_a_pass(self) -> int:
        return 1

    def configure_optimizers(self) -> None:
        return None  # Descent makes its steps itself

    def run_pass(self, epoch: int) -> None:
        self.descent.step()

    def measure(self) -> dict[tuple[str, str], Tensor]:
        descent = self.descent
        return {
            ("train", "log_loss"): descent.network.log_loss(descent.v, descent.data),
            ("train", "log_ratio"): descent.log_ratio(),
        }


def scaled(
    network: Learner, v: Tensor, data: Data, target: float, h_of: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """Weights c V with log J(c V) at or just below ``target``, and their h = h_of(|c V|); (R, P) and (R,).

    By bisection on log c. Homogeneous networks have y f(cV) = c^(L+1) y f(V), so that a network with all margins
    positive reaches every loss; one that has not ends at the largest c, above the target.
    """
    low, high = v.new_full((len(v),), -math.log(1e6)), v.new_full((len(v),), math.log(1e6))
    for _ in range(100):  # 2 log(1e6) / 2^100 is below the last bit
        middle = (low + high) / 2
        there = v * middle.exp()[:, None]
        loss = network.log_loss(there, Data(data.x, data.y, h_of(there.norm(dim=1))))
        high, low = torch.where(loss <= target, middle, high), torch.where(loss <= target, low, middle)
    there = v * high.exp()[:, None]
    return there, h_of(there.norm(dim=1))
