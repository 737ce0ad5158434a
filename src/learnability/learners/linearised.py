"""A network made linear in the weights that train: the SGD side of ``(last)`` and ``(NTK)``.

    last: out(x) = A h(x),       h the hidden layer at its random start, A trained from there
    ntk:  out(x) = J(x) theta,   J(x) = d out / d(hidden weights) at the random start, theta from 0

Both are kernel methods as in paper B, (3.1): no constant out(x; start) is added, and weight decay w is its
lambda, so what SGD converges to is the ridge regression that ``kernels/ridge.py`` solves. For ``last`` the kernel
is (3.1)'s, a number for each pair of points; for ``ntk`` it is a k x k matrix, which nears a multiple of the
identity as m grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.learners.base import Network


@dataclass(frozen=True)
class LastLayer(Network):
    """Train the output weights A of ``body`` only (conjugate kernel)."""

    body: Network | None = None

    @property
    def trained(self) -> tuple[str, ...]:
        """The output weights alone."""
        return ("A",)

    def shapes(self) -> dict[str, tuple[tuple[int, ...], float]]:
        """The body's weights, and the A it uses inside (U = VA) kept apart from the A that trains."""
        shapes = self.body.shapes()
        return {**shapes, "A_inside": shapes["A"]}

    def init(self, generator: torch.Generator) -> dict[str, Tensor]:
        start = self.body.init(generator)
        return {**start, "A_inside": start["A"].clone()}

    def hidden(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        return self.body.hidden({**p, "A": p["A_inside"]}, x)


@dataclass(frozen=True)
class Tangent(Network):
    """Train theta in out(x) = J(x) theta, J the Jacobian of ``body`` at its start.

    With ``separate`` parameters each output has a theta of its own: theta_W is (k, d+1, m).
    """

    body: Network | None = None
    separate: bool = False

    @property
    def trained(self) -> tuple[str, ...]:
        return tuple(f"theta_{name}" for name in self.body.trained)

    def shapes(self) -> dict[str, tuple[tuple[int, ...], float]]:
        shapes = self.body.shapes()
        lead = (self.k,) if self.separate else ()
        theta = {f"theta_{name}": ((*lead, *shapes[name][0]), 0.0) for name in self.body.trained}
        return {**shapes, **theta}

    def init(self, generator: torch.Generator) -> dict[str, Tensor]:
        start = self.body.init(generator)
        shapes = self.shapes()
        return {**start, **{name: torch.zeros(shapes[name][0]) for name in self.trained}}

    def hidden(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        raise TypeError("a tangent model has no hidden layer of its own; use forward")

    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """J(x) theta by forward-mode derivatives of the body, one, or one an output if separate."""
        start = {name: p[name] for name in self.body.trained}

        def product(theta: dict[str, Tensor]) -> Tensor:
            return torch.func.jvp(lambda w: self.body.forward({**p, **w}, x), (start,), (theta,))[1]

        thetas = {name: p[f"theta_{name}"] for name in self.body.trained}
        if not self.separate:
            return product(thetas)
        columns = [product({n: t[:, r] for n, t in thetas.items()})[..., r] for r in range(self.k)]
        return torch.stack(columns, dim=-1)


def linearise(body: Network, train: str, separate: bool = False) -> Network:
    """``train`` is the config's word: 'last' or 'ntk'."""
    sizes = {"d": body.d, "k": body.k, "width": body.width, "body": body}
    return LastLayer(**sizes) if train == "last" else Tangent(**sizes, separate=separate)
