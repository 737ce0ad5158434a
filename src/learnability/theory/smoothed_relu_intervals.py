"""The families of ``smoothed_relu`` by interval arithmetic, in u = z/h: phi', phi'', phi' u - phi, and their tails.

Every formula is an inclusion: at an interval X its value holds the range over X. Forms are chosen so that those
ranges are sharp where Definition 2.1 (paper D) is tight: 1 - t^2 with t = tanh u is at most 1 to the last bit, and
u stands once in t. Tail bounds are for |u| >= U, with the reason in each family's docstring.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from mpmath.ctx_iv import MPIntervalContext

# Rounds outwards at 53 bits, so that its endpoints are floats; its own context, since anyone may change the
# precision of mpmath.iv
iv = MPIntervalContext()
Interval = iv.mpf
Map = Callable[[Interval], Interval]
ZERO, ONE = iv.mpf(0), iv.mpf(1)
U = 4.0  # the core is [-U, U]


@dataclass(frozen=True)
class Proof:
    """One family: phi', phi'' (phi''' where phi'' alone is too wide) and phi' u - phi on the core, and phi(0).

    ``tails`` bound |phi''|, |phi'|, |phi' u - phi| outside of the core. ``joins`` are (phi, phi') from the left and
    from the right where two formulas meet; they are exact. Elsewhere all formulas are smooth.
    """

    slope: Map
    second: Map
    tangent: Map
    tails: tuple[Interval, Interval, Interval]
    zero: Interval = ZERO
    third: Map | None = None
    core: tuple[float, float] = (-U, U)
    joins: Mapping[float, tuple[tuple[float, float], tuple[float, float]]] = field(default_factory=dict)


def _huber() -> Proof:
    """(1): 0, u^2/2, u - 1/2. On the core [0, 1]: phi' = u, phi'' = 1, phi' u - phi = u^2/2; below it all three are
    0, above it 1, 0 and 1/2."""
    return Proof(
        slope=lambda x: x,
        second=lambda x: ONE,
        tangent=lambda x: x**2 / 2,
        tails=(ZERO, ONE, ONE / 2),
        core=(0.0, 1.0),
        joins={0.0: ((0.0, 0.0), (0.0, 0.0)), 1.0: ((0.5, 1.0), (0.5, 1.0))},
    )


def _relu() -> Proof:
    """0, u: phi' is 0 and 1, phi'' = phi' u - phi = 0 on the two sides of 0; there is no core."""
    return Proof(
        slope=lambda x: ZERO,
        second=lambda x: ZERO,
        tangent=lambda x: ZERO,
        tails=(ZERO, ONE, ZERO),
        core=(0.0, 0.0),
        joins={0.0: ((0.0, 0.0), (0.0, 1.0))},
    )


def _tanh(x: Interval) -> Interval:
    return 1 - 2 / (1 + iv.exp(2 * x))


def _swish(scale: Interval) -> Proof:
    """scale u (1+t)/2: phi' = scale ((1+t) + u (1-t^2))/2, phi'' = scale (1-t^2) (1 - u t), phi' u - phi =
    scale u^2 (1-t^2)/2.

    Tails: 1 - t^2 <= 4 e^-2|u|; |1 - u t| <= 1 + |u|; (1+t)/2 <= 1, and <= e^-2|u| for u < 0; and (1+u) e^-2u,
    u e^-2u, u^2 e^-2u all fall from u = 1 on.
    """
    e = iv.exp(iv.mpf(-2 * U))
    return Proof(
        slope=lambda x: scale * (1 + _tanh(x) + x * (1 - _tanh(x) ** 2)) / 2,
        second=lambda x: scale * (1 - _tanh(x) ** 2) * (1 - abs(x) * abs(_tanh(x))),
        tangent=lambda x: scale * x**2 * (1 - _tanh(x) ** 2) / 2,
        tails=(scale * 4 * (1 + U) * e, scale * (1 + 2 * U * e), scale * 2 * U**2 * e),
    )


def _density(x: Interval) -> Interval:
    return iv.exp(-(x**2) / 2) / iv.sqrt(2 * iv.pi)


@cache
def _normal(a: float) -> Interval:
    """Phi(a) = 1/2 + density(a) sum_n a^(2n+1) / (2n+1)!!; the terms left out are each under a quarter of the one
    before, so that together they are below the last one kept."""
    x, n = iv.mpf(abs(a)), 0
    term = total = x
    while 4 * a * a > 2 * n + 3 or float(term.b) > 1e-18:
        n += 1
        term = term * x**2 / (2 * n + 1)
        total = total + term
    total = (total + iv.mpf([0, term.b])) * _density(x)
    return ONE / 2 + (total if a >= 0 else -total)


def _gelu() -> Proof:
    """u Phi(u): phi' = Phi + u psi, phi'' = (2 - u^2) psi, phi' u - phi = u^2 psi with the normal density psi.

    Tails: |2 - u^2| <= u^2, Phi <= 1, and u psi, u^2 psi fall from u = sqrt(2) on.
    """
    psi = _density(iv.mpf(U))
    return Proof(
        slope=lambda x: iv.mpf([_normal(float(x.a)).a, _normal(float(x.b)).b]) + x * _density(x),
        second=lambda x: (2 - x**2) * _density(x),
        tangent=lambda x: x**2 * _density(x),
        tails=(U**2 * psi, 1 + U * psi, U**2 * psi),
    )


def _softplus() -> Proof:
    """log(1 + e^u): phi' = s = 1 / (1 + e^-u), phi'' = (1 - tanh(u/2)^2)/4, phi' u - phi = u s - log(1 + e^u).

    Tails: s < 1, s (1-s) <= e^-|u|; phi' u - phi is even and for u > 0 -log(1 + e^-u) - u (1-s), at most (1+u) e^-u
    in size, which falls.
    """
    e = iv.exp(iv.mpf(-U))
    return Proof(
        slope=lambda x: 1 / (1 + iv.exp(-x)),
        second=lambda x: (1 - _tanh(x / 2) ** 2) / 4,
        tangent=lambda x: x / (1 + iv.exp(-x)) - iv.log(1 + iv.exp(x)),
        tails=(e, ONE, (1 + U) * e),
        zero=iv.log(iv.mpf(2)),
    )


def _hyperbolic() -> Proof:
    """t = tanh u: phi' = 1 - t^2, phi'' = -2t (1-t^2), phi''' = -2 (1-t^2) (1 - 3t^2); phi' u - phi = u (1-t^2)
    - t.

    Tails: 1 - t^2 <= 4 e^-2|u|, and 0 <= t - u (1-t^2) <= 1 for u > 0 as sinh u cosh u >= u.
    """
    e = iv.exp(iv.mpf(-2 * U))
    return Proof(
        slope=lambda x: 1 - _tanh(x) ** 2,
        second=lambda x: -2 * _tanh(x) * (1 - _tanh(x) ** 2),
        tangent=lambda x: x * (1 - _tanh(x) ** 2) - _tanh(x),
        tails=(8 * e, 4 * e, ONE),
        third=lambda x: -2 * (1 - _tanh(x) ** 2) * (1 - 3 * _tanh(x) ** 2),
    )


PROOFS = {
    "huber": _huber(),
    "swish": _swish(iv.mpf(10) / 11),  # 1/1.1, which no float is
    "relu": _relu(),
    "gelu": _gelu(),
    "softplus": _softplus(),
    "swish_unscaled": _swish(ONE),
    "tanh": _hyperbolic(),
}
