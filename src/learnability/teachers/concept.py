"""Concept 1: composites of two-layer functions with smooth activations (paper B, Section 5).

    H(x) = beta F(x) + alpha G(F(x))                                                             (5.1)
    F_r(x) = sum_i a_{F,r,i} phi_{F,r,i}(<w_{r,i}, x>),  G_r(h) = sum_i a_{G,r,i} phi_{G,r,i}(<v_{r,i}, h>)  (5.2)

with a in [-1, 1], |w| = |v| = 1/sqrt(2), r = 1..k, and phi(B z) in place of phi (footnote 8; B = ``f_scale``,
``g_scale``). x is uniform on the unit sphere or on {-1/sqrt(d), 1/sqrt(d)}^d, so |x| = 1. Then <w, x> has
variance 1/(2d), and the default scales sqrt(2d) and sqrt(2k) give phi arguments of variance 1 (for G if the
F_r are uncorrelated and alike). The complexities of ``theory/complexity.py`` are those of phi(B z).

The paper also assumes |F(x)| = 1, which a generic F does not satisfy. Here

    E F = 0,  E||F(x)||^2 = 1,  E G(F) = 0,  E[G(F) F^T] = 0,  E||G(F(x))||^2 = g_size

so that learning F alone costs exactly alpha^2 g_size, and E||H||^2 = beta^2 + alpha^2 g_size. All this stays
inside Concept 1: a = gain * U[-1, 1] (refused if some |a| > 1), and the mean of F and the best affine fit of
G(F) in F are subtracted as terms of their own, with phi(z) = c and phi(z) = c z, so that p is p_f, p_g
and up to two more. Expectations are over 2^16 points of a fixed stream, x and -x in pairs: what is zero by
symmetry (phi_F odd and phi_G even: E G(F) F^T = 0) is zero up to rounding, the rest has a relative
error of a few in 10^3 for bounded activations and far more for polynomials of high degree, whose norm rare
points decide: ``moments`` and ``describe`` measure on other points. Weights depend on ``draw`` and never on a
data seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import torch
from torch import Tensor

from learnability.seeding import stream
from learnability.teachers.activations import Activation
from learnability.teachers.base import Composite, signs

PAIRS = 1 << 15  # points of a Monte Carlo estimate, each with its mirror image
CHUNK = 1 << 13
TINY = 1e-9  # an affine part below this is rounding and gets no term


@dataclass(frozen=True, eq=False)
class Ridge:
    """p terms an output: x (..., n) -> sum_i a_{r,i} phi(<w_{r,i}, x>) (..., k)."""

    activation: Activation
    a: Tensor  # (k, p)
    w: Tensor  # (k, p, n), rows of norm 1/sqrt(2)

    def __call__(self, x: Tensor) -> Tensor:
        z = (x @ self.w.to(x).flatten(0, 1).T).unflatten(-1, self.a.shape)  # (..., k, p)
        return (self.a.to(x) * self.activation(z)).sum(-1)


@dataclass(frozen=True, eq=False)
class Function:
    """A sum of blocks of terms, each block with one activation: (..., n) -> (..., k)."""

    blocks: tuple[Any, ...]

    def __call__(self, x: Tensor) -> Tensor:
        return sum(block(x) for block in self.blocks)

    @property
    def p(self) -> int:
        """Terms an output, p_F or p_G."""
        return sum(block.a.shape[1] for block in self.blocks)

    @property
    def activations(self) -> tuple[Activation, ...]:
        return tuple(block.activation for block in self.blocks)


def unit(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Uniform unit vectors along the last axis, float64."""
    v = torch.randn(shape, generator=generator, dtype=torch.float64)
    return v / v.norm(dim=-1, keepdim=True)


def in_chunks(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """function(x) without holding all its terms at once: (n, d) -> (n, k)."""
    return torch.cat([function(part) for part in x.split(CHUNK)])


@dataclass(frozen=True)
class Teacher(Composite):
    """H = beta F + alpha G(F) of Concept 1, and label noise of standard deviation ``noise`` per output."""

    d: int
    k: int
    alpha: float
    beta: float = 1.0
    noise: float = 0.0
    support: str = "sphere"  # or hypercube
    p_f: int = 4
    p_g: int = 4
    f_activation: str = "sin"
    g_activation: str = "cos"
    f_scale: float | None = None  # sqrt(2d)
    g_scale: float | None = None  # sqrt(2k)
    f_coefficients: tuple[float, ...] = ()
    g_coefficients: tuple[float, ...] = ()
    g_size: float = 1.0
    draw: int = 0

    KIND: ClassVar[str] = "concept1"

    def __post_init__(self) -> None:
        if self.support not in ("sphere", "hypercube"):
            raise ValueError(f"support must be sphere or hypercube, got {self.support!r}")
        for name in ("f_coefficients", "g_coefficients"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        self._activation("f", self.d), self._activation("g", self.k)  # refuses what it does not know

    def inputs(self, n: int, generator: torch.Generator) -> Tensor:
        """n points uniform on the unit sphere or on {-1/sqrt(d), 1/sqrt(d)}^d: (n, d)."""
        if self.support == "sphere":
            return unit((n, self.d), generator).float()
        return signs(n, self.d, generator) / math.sqrt(self.d)

    def base(self, x: Tensor) -> Tensor:
        """F(x): (..., d) -> (..., k)."""
        return self.f(x)

    def composite(self, x: Tensor) -> Tensor:
        """G(F(x)): (..., d) -> (..., k)."""
        return self.g(self.f(x))

    def __call__(self, x: Tensor) -> Tensor:
        """H(x) without noise: (..., d) -> (..., k)."""
        h = self.f(x)
        return self.beta * h + self.alpha * self.g(h)

    def probes(self, x: Tensor) -> dict[str, Tensor]:
        """Signals whose share in a learner's output is reported: c = mean over x and r of out_r s_r.

        s = k F and (k / g_size) G(F): ``cF`` is beta and ``cG`` is alpha for out = H, in expectation
        over x and up to the Monte Carlo error of the norms and of E<F, G(F)> = 0, which counts
        beta / g_size times in ``cG`` (0 by symmetry for phi_F odd and phi_G even).
        """
        h = self.f(x)
        return {"cF": self.k * h, "cG": (self.k / self.g_size) * self.g(h)}

    def risk_without_composite(self) -> float:
        """Risk of p = beta F, the composite part not learned at all: alpha^2 g_size + k noise^2."""
        return self.alpha**2 * self.g_size + self.k * self.noise**2

    @cached_property
    def f(self) -> Function:
        """F: (..., d) -> (..., k)."""
        return self._built[0]

    @cached_property
    def g(self) -> Function:
        """G: (..., k) -> (..., k)."""
        return self._built[1]

    @property
    def _built(self) -> tuple[Function, Function, float]:
        return _build(replace(self, alpha=0.0, beta=1.0, noise=0.0))  # F and G depend on none of these

    def reference(self, purpose: str) -> Tensor:
        """The fixed points of a Monte Carlo estimate, x and -x: (2 PAIRS, d), float64."""
        x = self.inputs(PAIRS, stream("teacher", self.KIND, purpose, self.support, self.d)).double()
        return torch.cat([x, -x])

    def moments(self) -> dict[str, float]:
        """What the construction aims at, on points it has not seen, and what it cannot bring about.

        ``size_f``, ``size_g``, ``inner``: E||F||^2, E||G(F)||^2, E<F, G(F)>.
        ``removed_linear``: share of the drawn G(F)'s variance that was linear in F, and is gone.
        ``linear_in_x``, ``linear_in_f``: share of E||G(F)||^2 that the best affine fit in x, in F explains.
        ``norm_spread``: standard deviation of ||F(x)||; ``norm_largest``: its maximum over the points, B_F.
        """
        x = self.reference("measure")
        h = in_chunks(self.f, x)
        y = in_chunks(self.g, h)
        norms = h.norm(dim=1)
        size = y.square().sum(1).mean().item()

        def explained(by: Tensor) -> float:
            return 1 - _affine_fit(by, y)[1].square().sum(1).mean().item() / size

        return {
            "size_f": norms.square().mean().item(),
            "size_g": size,
            "inner": (h * y).sum(1).mean().item(),
            "removed_linear": self._built[2],
            "linear_in_x": explained(x),
            "linear_in_f": explained(h),
            "norm_spread": norms.std().item(),
            "norm_largest": norms.max().item(),
        }

    def describe(self) -> str:
        """Population errors of out = 0 and of learning F alone, by Monte Carlo on fixed points."""
        h = in_chunks(self.f, self.reference("measure"))
        rest = self.alpha * in_chunks(self.g, h)
        floor = self.k * self.noise**2
        nothing = (self.beta * h + rest).square().sum(1).mean().item() + floor
        alone = rest.square().sum(1).mean().item() + floor
        return (
            f"population errors by Monte Carlo on {len(h)} fixed points: "
            f"{nothing:.4g} of out = 0, {alone:.4g} of learning F alone"
        )

    def _activation(self, name: str, n: int) -> Activation:
        scale = getattr(self, f"{name}_scale")
        scale = math.sqrt(2 * n) if scale is None else scale
        return Activation(getattr(self, f"{name}_activation"), scale, getattr(self, f"{name}_coefficients"))

    def _drawn(self, name: str, n: int, p: int) -> Any:
        """The block of random terms, a uniform in [-1, 1] before its gain."""
        generator = stream("teacher", self.KIND, "weights", name, self.draw)
        w = unit((self.k, p, n), generator) / math.sqrt(2)
        a = 2 * torch.rand((self.k, p), generator=generator, dtype=torch.float64) - 1
        return Ridge(self._activation(name, n), a, w)

    def _affine(self, m: Tensor, u: Tensor) -> tuple[Any, ...]:
        """m_r + <u_r, x> as terms of the class: phi(z) = c, and phi(z) = c z along u_r. (k,), (k, n)."""
        first = torch.zeros_like(u)
        first[:, 0] = 1
        blocks = []
        most = m.abs().max().item()
        if most > TINY:
            constant = Activation("polynomial", coefficients=(most,))
            blocks.append(Ridge(constant, m[:, None] / most, first[:, None] / math.sqrt(2)))
        norms = u.norm(dim=1, keepdim=True)  # (k, 1)
        most = norms.max().item()
        if most > TINY:
            linear = Activation("polynomial", coefficients=(0.0, math.sqrt(2) * most))
            along = torch.where(norms > 0, u / norms.clamp_min(1e-300), first)
            blocks.append(Ridge(linear, norms / most, along[:, None] / math.sqrt(2)))
        return tuple(blocks)

    def _calibrated(self, name: str, x: Tensor, size: float) -> tuple[Function, float]:
        """The drawn function less its mean (F) or its affine fit in its argument (G), with E||.||^2 = size;
        and the share of its variance that was linear there. x: (points, n)."""
        drawn = self._drawn(name, x.shape[1], getattr(self, f"p_{name}"))
        values = in_chunks(drawn, x)  # (points, k)
        features = x if name == "g" else x[:, :0]
        fit, rest = _affine_fit(features, values)
        spread = (values - values.mean(0)).square().sum(1).mean().item()
        left = rest.square().sum(1).mean().item()
        gain = math.sqrt(size / left) if left > TINY * max(spread, TINY) else math.inf
        largest = gain * drawn.a.abs().max().item()
        if largest > 1:
            raise ValueError(
                f"|a| <= 1 is not to be had: {name.upper()} needs a = {largest:.3g} for its norm; raise p_{name}"
                f"{' or lower g_size' if name == 'g' else ''}, or change {name}_scale or {name}_activation"
            )
        slope = fit[1:].T if name == "g" else x.new_zeros(self.k, x.shape[1])
        scaled = replace(drawn, a=gain * drawn.a)
        return Function((scaled, *self._affine(-gain * fit[0], -gain * slope))), 1 - left / spread


def _affine_fit(features: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Least squares of values (n, k) on (1, features (n, q)): coefficients (1 + q, k), residual (n, k)."""
    design = torch.cat([torch.ones(len(values), 1, dtype=values.dtype), features], dim=1)
    fit = torch.linalg.lstsq(design, values).solution
    return fit, values - design @ fit


@lru_cache(maxsize=8)
def _build(teacher: Teacher) -> tuple[Function, Function, float]:
    """F, G, and the share of the drawn G(F)'s variance that was linear in F."""
    x = teacher.reference("calibrate")
    f, _ = teacher._calibrated("f", x, 1.0)
    return f, *teacher._calibrated("g", in_chunks(f, x), teacher.g_size)
