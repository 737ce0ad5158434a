"""Paper D's networks f_V(x) = V_{L+1} phi(V_L ... phi(V_1 x)) under logistic loss, in stacks, in float64.

    J(V) = (1/n) sum_s J_s,    J_s = log(1 + exp(-y_s f_V(x_s)))        (Section 2.2)

Losses go down to 1e-300 and below, so they are natural logarithms throughout, and gradients are those of log J:

    grad log J = sum_s c_s grad f_V(x_s),    c_s = -y_s g_s / (n J),  g_s = 1 / (1 + exp(y_s f_V(x_s)))

with grad f_V from (2a) and (2b). The weights of a stack are one tensor (R, P), each replica's V_1, ..., V_{L+1}
one after the other. Inputs are x (R, n, d), labels y (R, n), the smoothing h (R,).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.learners.smoothed import ACTIVATIONS

LARGE = 20.0  # margins beyond which log(log(1 + e^-m)) = -m - e^-m / 2 to the last bit


@dataclass(frozen=True)
class Data:
    """What a stack of networks is trained on: one data set and one h a replica."""

    x: Tensor  # (R, n, d)
    y: Tensor  # (R, n), +-1
    h: Tensor  # (R,)

    def rows(self, rows: Tensor) -> Data:
        """The data of some replicas."""
        return Data(self.x[rows], self.y[rows], self.h[rows])


@dataclass(frozen=True)
class Point:
    """What is known of a stack at some weights."""

    log_loss: Tensor  # (R,), log J
    gradient: Tensor  # (R, P), of log J
    margins: Tensor  # (R, n), y_s f_V(x_s)
    c: Tensor  # (R, n)
    us: list[Tensor]  # u_1..u_L, (R, n, p)
    xs: list[Tensor]  # x_0..x_L, (R, n, .)
    backs: list[Tensor]  # d f / d x_1, ..., d f / d x_L, (R, n, p)
    slopes: list[Tensor]  # phi'(u_1), ..., phi'(u_L), (R, n, p)


@dataclass(frozen=True)
class Directions:
    """K vectors A in the space of a stack's weights, vector i being left_l[i] right_l[i]^T in V_l, l = 1..L."""

    lefts: list[Tensor]  # (R, K, p) each
    rights: list[Tensor]  # (R, K, d), then (R, K, p)

    def gram(self) -> Tensor:
        """A^T A: (R, K, K)."""
        pairs = zip(self.lefts, self.rights, strict=True)
        return sum((left @ left.mT) * (right @ right.mT) for left, right in pairs)

    def inner(self, r: Tensor) -> Tensor:
        """A^T r for r (R, P): (R, K)."""
        found, start = 0.0, 0
        for left, right in zip(self.lefts, self.rights, strict=True):
            size = left.shape[-1] * right.shape[-1]
            block = r[:, start : start + size].unflatten(1, (left.shape[-1], right.shape[-1]))
            found, start = found + ((left @ block) * right).sum(-1), start + size
        return found

    def combine(self, weights: Tensor, size: int) -> Tensor:
        """A w for w (R, K): (R, P), nothing in the output weights."""
        pairs = zip(self.lefts, self.rights, strict=True)
        parts = [((left * weights[..., None]).mT @ right).flatten(1) for left, right in pairs]
        hidden = torch.cat(parts, dim=1)
        return torch.nn.functional.pad(hidden, (0, size - hidden.shape[1]))


@dataclass(frozen=True)
class Learner:
    """L = ``depth`` hidden layers of ``width`` neurons on d inputs (the paper has width = d = p)."""

    d: int
    width: int
    depth: int
    activation: str = "huber"

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """Of V_1, ..., V_{L+1}."""
        return [(self.width, self.d), *[(self.width, self.width)] * (self.depth - 1), (1, self.width)]

    @property
    def size(self) -> int:
        """P, the number of weights."""
        return sum(a * b for a, b in self.shapes)

    def matrices(self, v: Tensor) -> list[Tensor]:
        """V_1, ..., V_{L+1} of a stack (R, P): views."""
        parts = v.split([a * b for a, b in self.shapes], dim=1)
        return [part.unflatten(1, shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def init(self, generator: torch.Generator) -> Tensor:
        """Section 3.2's random start of one network: hidden entries N(0, 2/p), output entries N(0, 1); (P,)."""
        scales = [math.sqrt(2 / self.width)] * self.depth + [1.0]
        pairs = zip(self.shapes, scales, strict=True)
        draws = [torch.randn(a * b, generator=generator, dtype=torch.float64) * s for (a, b), s in pairs]
        return torch.cat(draws)

    def layers(self, v: Tensor, data: Data) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """u_1..u_L and x_0..x_L, each (R, n, .), and the margins y_s f_V(x_s), (R, n)."""
        phi, h = ACTIVATIONS[self.activation], data.h[:, None, None]
        *hidden, last = self.matrices(v)
        us, xs = [], [data.x]
        for matrix in hidden:
            us.append(xs[-1] @ matrix.mT)
            xs.append(phi.value(us[-1], h))
        return us, xs, data.y * (xs[-1] @ last.mT).squeeze(-1)

    def margins(self, v: Tensor, data: Data) -> Tensor:
        """y_s f_V(x_s): (R, n)."""
        return self.layers(v, data)[2]

    def log_loss(self, v: Tensor, data: Data) -> Tensor:
        """log J: (R,)."""
        return log_mean(log_losses(self.margins(v, data)))

    def backward(self, v: Tensor, us: list[Tensor], data: Data) -> list[Tensor]:
        """d f_V(x_s) / d x_l for l = 1..L, (R, n, p) each; times phi'(u_l), the left factors of (2a)."""
        phi, h = ACTIVATIONS[self.activation], data.h[:, None, None]
        matrices = self.matrices(v)
        found = [matrices[-1].expand(*us[-1].shape)]
        for u, matrix in zip(us[:0:-1], matrices[-2:0:-1], strict=True):
            found.append((phi.slope(u, h) * found[-1]) @ matrix)
        return found[::-1]

    def point(self, v: Tensor, data: Data) -> Point:
        """The loss, its gradient and all that was computed for it."""
        phi, h = ACTIVATIONS[self.activation], data.h[:, None, None]
        us, xs, margins = self.layers(v, data)
        total = torch.logsumexp(log_losses(margins), dim=1, keepdim=True)
        c = -data.y * torch.exp(torch.nn.functional.logsigmoid(-margins) - total)  # (R, n)
        backs, slopes = self.backward(v, us, data), [phi.slope(u, h) for u in us]
        parts = [(back * slope * c[..., None]).mT @ x for back, slope, x in zip(backs, slopes, xs, strict=False)]
        parts.append(c[:, None, :] @ xs[-1])
        gradient = torch.cat([part.flatten(1) for part in parts], dim=1)
        return Point(total.squeeze(1) - math.log(margins.shape[1]), gradient, margins, c, us, xs, backs, slopes)

    def gradient(self, v: Tensor, data: Data) -> tuple[Tensor, Tensor]:
        """log J (R,) and grad log J (R, P)."""
        found = self.point(v, data)
        return found.log_loss, found.gradient

    def curvatures(self, v: Tensor, here: Point, data: Data, step: Tensor) -> Tensor:
        """kappa = c_s (d f / d x_{l,j}) phi''(u_{l,j}(x_s)), (R, L, n, p): grad^2 log J has kappa grad u grad u^T.

        Where a weight change of ``step`` (R, P) would carry u into or out of its layer, phi'' is the slope of phi'
        over the way, (phi'(u + du) - phi'(u)) / du, if that is more.
        """
        phi, h = ACTIVATIONS[self.activation], data.h[:, None, None]
        found, dx = [], torch.zeros_like(data.x)
        layers = zip(here.us, here.xs, here.slopes, self.matrices(v), self.matrices(step), here.backs, strict=False)
        for u, x, slope, matrix, more, back in layers:
            du = dx @ matrix.mT + x @ more.mT
            dx = slope * du
            bend = phi.curvature(u, h)
            secant = torch.where(du == 0, bend, (phi.slope(u + du, h) - slope) / du)
            found.append(here.c[..., None] * back * torch.maximum(bend, secant))
        return torch.stack(found, dim=1)

    def directions(self, v: Tensor, here: Point, picked: Tensor) -> Directions:
        """grad u of the preactivations ``picked`` (R, K), numbers into (L, n, p) flattened."""
        count, n = len(v), here.c.shape[1]
        layer, sample, neuron = (picked // (n * self.width), picked // self.width % n, picked % self.width)
        replica = torch.arange(count, device=v.device)[:, None]
        matrices = self.matrices(v)
        left = v.new_zeros(*picked.shape, self.width)
        lefts, rights = [], []
        for m in range(self.depth - 1, -1, -1):
            if m < self.depth - 1:
                left = here.slopes[m][replica, sample] * (left @ matrices[m + 1])
            own = (layer == m)[..., None]
            left = torch.where(own, torch.nn.functional.one_hot(neuron, self.width).to(v.dtype), left)
            lefts.append(left)
            rights.append(here.xs[m][replica, sample])
        return Directions(lefts[::-1], rights[::-1])

    def tangent_gram(self, v: Tensor, data: Data) -> Tensor:
        """<grad f_V(x_s), grad f_V(x_q)>, (R, n, n): by (2a), (2b) it is x_L x_L^T + sum_l (b_l b_l^T) * (x_{l-1}
        x_{l-1}^T) with b_l = d f / d u_l; the features themselves, (n, P), are never made.
        """
        here = self.point(v, data)
        found = here.xs[-1] @ here.xs[-1].mT
        for back, slope, x in zip(here.backs, here.slopes, here.xs, strict=False):
            left = back * slope
            found = found + (left @ left.mT) * (x @ x.mT)
        return found

    def change(self, v: Tensor, step: Tensor, data: Data) -> tuple[Tensor, Tensor]:
        """J(V + step) / J(V) - 1, and log J(V), (R,) each, however small the step is.

        Differences are carried through the layers beside the values, so that nothing cancels:

            du_l = V_l dx_{l-1} + D_l (x_{l-1} + dx_{l-1}),    dx_l = phi(u_l + du_l) - phi(u_l)
            dJ_s = log1p(g_s expm1(-dm_s)),    m_s = y_s f_V(x_s)
        """
        phi, h = ACTIVATIONS[self.activation], data.h[:, None, None]
        us, xs, margins = self.layers(v, data)
        matrices, steps = self.matrices(v), self.matrices(step)
        dx = torch.zeros_like(data.x)
        for u, x, matrix, more in zip(us, xs, matrices, steps, strict=False):
            dx = phi.difference(u, dx @ matrix.mT + (x + dx) @ more.mT, h)
        moved = data.y * (dx @ matrices[-1].mT + (xs[-1] + dx) @ steps[-1].mT).squeeze(-1)
        log_js, log_gs = log_losses(margins), torch.nn.functional.logsigmoid(-margins)
        lost = torch.expm1(-moved)
        change = torch.exp(log_gs) * lost  # dJ_s = log1p(change), 0 where g_s is below the least float
        bend = torch.where(change == 0, 1.0, torch.log1p(change) / change)
        relative = torch.exp(log_gs - log_js) * lost * bend  # dJ_s / J_s
        weights = torch.softmax(log_js, dim=1)
        return (weights * relative).sum(1), log_mean(log_js)


def log_losses(margins: Tensor) -> Tensor:
    """log J_s = log(log(1 + e^-m)) for margins m of any size."""
    plain = torch.log(-torch.nn.functional.logsigmoid(margins.clamp_max(LARGE)))  # softplus drops e^-20
    return torch.where(margins > LARGE, -margins - torch.exp(-margins) / 2, plain)


def log_mean(logs: Tensor) -> Tensor:
    """log of the mean of exp(logs) over the last dimension."""
    return torch.logsumexp(logs, dim=-1) - math.log(logs.shape[-1])
