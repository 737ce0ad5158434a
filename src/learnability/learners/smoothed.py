"""Paper D's activations: Huberized ReLU (1), scaled Swish, and plain ReLU as the control that is not smooth.

Each has its value, its exact derivatives, and the difference phi(z + e) - phi(z) without cancellation: e may be
1e-20 of z and the result still has all its digits. z is any tensor, h broadcasts over it, one a replica (R, 1, 1).
"""

from __future__ import annotations

import torch
from torch import Tensor

SWISH = 1.1  # the paper's scaling: 'ensures that |phi'(z)| < 1'


class Huber:
    """Huberized ReLU (1): 0 below 0, z^2 / (2h) on [0, h], z - h/2 beyond. With c = clamp(z, 0, h) that is
    c (z - c/2) / h, and phi' = c / h.
    """

    smooth = True

    def value(self, z: Tensor, h: Tensor) -> Tensor:
        """phi(z)."""
        c = z.clamp_min(0.0).minimum(h)
        return c * (z - c / 2) / h

    def slope(self, z: Tensor, h: Tensor) -> Tensor:
        """phi'(z) = c / h."""
        return z.clamp_min(0.0).minimum(h) / h

    def curvature(self, z: Tensor, h: Tensor) -> Tensor:
        """phi''(z): 1/h on [0, h], 0 elsewhere."""
        return ((z >= 0) & (z <= h)) / h

    def difference(self, z: Tensor, e: Tensor, h: Tensor) -> Tensor:
        """phi(z + e) - phi(z), the integral of phi' from z to z + e, cut where a kink (0 or h) lies between.

        A kink k is e_1 = k - z away (exact where it matters: Sterbenz), and e - e_1 is left behind it. A step over
        both kinks is longer than h, and the plain difference is accurate.
        """
        zero, end = torch.zeros_like(z), z + e
        h = h.expand_as(z)
        before, after = _region(z, h), _region(end, h)
        kink = torch.where(torch.minimum(before, after) == 0, zero, h)
        first = kink - z
        cut = _piece(z, first, before, h) + _piece(kink, e - first, after, h)
        whole = _piece(z, e, before, h)
        far = self.value(end, h) - self.value(z, h)
        return torch.where(before == after, whole, torch.where((before - after).abs() == 1, cut, far))


def _region(z: Tensor, h: Tensor) -> Tensor:
    """0 below 0, 1 on [0, h], 2 beyond."""
    return (z >= 0).int() + (z > h).int()


def _piece(start: Tensor, length: Tensor, region: Tensor, h: Tensor) -> Tensor:
    """Integral of phi' over ``length`` from ``start``, all of it in one region."""
    inside = length * (start + length / 2) / h
    return torch.where(region == 0, torch.zeros_like(start), torch.where(region == 1, inside, length))


class Swish:
    """Scaled Swish: phi(z) = z sigma(2z/h) / 1.1, sigma(a) = 1 / (1 + exp(-a))."""

    smooth = True

    def value(self, z: Tensor, h: Tensor) -> Tensor:
        """phi(z)."""
        return z * torch.sigmoid(2 * z / h) / SWISH

    def slope(self, z: Tensor, h: Tensor) -> Tensor:
        """phi'(z) = sigma (1 + a (1 - sigma)) / 1.1 at a = 2z/h."""
        a = 2 * z / h
        s = torch.sigmoid(a)
        return s * (1 + a * torch.sigmoid(-a)) / SWISH

    def curvature(self, z: Tensor, h: Tensor) -> Tensor:
        """phi''(z) = (2/h) sigma (1 - sigma) (2 + a (1 - 2 sigma)) / 1.1 at a = 2z/h."""
        a = 2 * z / h
        s, other = torch.sigmoid(a), torch.sigmoid(-a)
        return 2 / h * s * other * (2 + a * (other - s)) / SWISH

    def difference(self, z: Tensor, e: Tensor, h: Tensor) -> Tensor:
        """phi(z + e) - phi(z) = (e sigma(b) + z (sigma(b) - sigma(a))) / 1.1 at a = 2z/h, b = a + 2e/h, where

        sigma(b) - sigma(a) = sigma(b) sigma(-a) (1 - exp(a - b)),     and the same with a and b exchanged.
        """
        a, step = 2 * z / h, 2 * e / h
        b = a + step
        up = torch.sigmoid(b) * torch.sigmoid(-a) * -torch.expm1(-step.clamp_min(0.0))
        down = torch.sigmoid(a) * torch.sigmoid(-b) * torch.expm1(step.clamp_max(0.0))
        return (e * torch.sigmoid(b) + z * torch.where(step >= 0, up, down)) / SWISH


class ReLU:
    """max(z, 0): no h makes it h-smoothly approximately ReLU (its derivative jumps at 0). The control."""

    smooth = False

    def value(self, z: Tensor, h: Tensor) -> Tensor:
        """max(z, 0)."""
        return z.clamp_min(0.0)

    def slope(self, z: Tensor, h: Tensor) -> Tensor:
        """1 where z > 0."""
        return (z > 0).to(z.dtype)

    def curvature(self, z: Tensor, h: Tensor) -> Tensor:
        """0 wherever it exists."""
        return torch.zeros_like(z)

    def difference(self, z: Tensor, e: Tensor, h: Tensor) -> Tensor:
        """max(z + e, 0) - max(z, 0), cut at 0."""
        end = z + e
        inside = torch.where(z > 0, e, torch.zeros_like(e))
        return torch.where((z > 0) == (end > 0), inside, torch.where(end > 0, end, -z))


ACTIVATIONS = {"huber": Huber(), "swish": Swish(), "relu": ReLU()}
