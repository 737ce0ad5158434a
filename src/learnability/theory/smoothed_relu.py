"""Paper D, Definition 2.1: is an activation h-smoothly approximately ReLU? On a grid, and proved on all of R.

    differentiable   phi' exists everywhere
    zero             phi(0) = 0
    lipschitz        |phi'(a) - phi'(b)| <= |a - b| / h
    slope            |phi'(z)| <= 1
    tangent          |phi'(z) z - phi(z)| <= h/2

Families are phi_h(z) = h phi(u), u = z/h, so that phi_h' = phi'(u), phi_h'' = phi''(u) / h and phi_h' z - phi_h =
h (phi' u - phi): phi_h meets Definition 2.1 for every h > 0 if phi does for h = 1, and for none if not.

    huber            0, u^2/2, u - 1/2 on u < 0, [0, 1], u > 1       (1). phi'', phi', phi' u - phi reach 1, 1, 1/2
    swish            u / (1.1 (1 + e^-2u)) = u (1 + t) / 2.2         t = tanh u; |phi'| <= 0.99986
    swish_unscaled   u / (1 + e^-2u)                                 |phi'| = 1.0998 at u = 1.2
    relu             max(u, 0)                                       phi' jumps at 0
    gelu             u Phi(u)                                        |phi'| = 1.129 at u = sqrt(2)
    softplus         log(1 + e^u)                                    phi(0) = log 2; |phi' u - phi| = log 2 at u = 0
    tanh             tanh u                                          |phi' u - phi| -> 1

``check_on_grid`` measures any pair (phi, phi') and can only refute. ``certify`` encloses the three suprema of a
family by interval arithmetic (mpmath's, rounded outwards) on a core [-U, U], in mean value form

    f(X) in f(m) + f'(X) (X - m),   (phi')' = phi'',   (phi' u - phi)' = u phi'',

bisecting where the enclosure is too wide, and by a stated bound on the tails |u| > U. It can prove and refute.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from learnability.theory.smoothed_relu_intervals import PROOFS, Interval, Map, Proof, iv

CONDITIONS = ("differentiable", "zero", "lipschitz", "slope", "tangent")
ROUNDING = 8 * np.finfo(float).eps  # 'a few ulp', taken off what is measured: phi, phi' are good to 4 ulp
FINEST = 1e-9  # in units of h: where the search for a jump of phi' ends
STEP = 1e-6  # in units of h: of the one-sided difference quotients
JUMP = 1e-3  # less at these distances is taken for a continuous phi'; phi'' = 2000/h would come to that
Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Condition:
    """One condition of Definition 2.1 as measured: its worst value, less rounding, at z = ``where``; its limit."""

    worst: float
    allowed: float
    where: float

    @property
    def ratio(self) -> float:
        """worst / allowed, at most 1 where the condition holds; 0/0 = 0."""
        if self.allowed:
            return self.worst / self.allowed
        return math.inf if self.worst else 0.0

    @property
    def holds(self) -> bool:
        """No violation was seen."""
        return self.worst <= self.allowed


# Families on the grid: phi(u), phi'(u)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _swish_slope(u: np.ndarray) -> np.ndarray:
    return _sigmoid(2 * u) * (1 + 2 * u * _sigmoid(-2 * u))


def _normal(u: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erfc, otypes=[float])(-u / math.sqrt(2)) / 2


def _gelu_slope(u: np.ndarray) -> np.ndarray:
    return _normal(u) + u * np.exp(-u * u / 2) / math.sqrt(2 * math.pi)


FAMILIES: dict[str, tuple[Function, Function]] = {
    "huber": (lambda u: np.where(u <= 1, np.clip(u, 0, 1) ** 2 / 2, u - 0.5), lambda u: np.clip(u, 0, 1)),
    "swish": (lambda u: u * _sigmoid(2 * u) / 1.1, lambda u: _swish_slope(u) / 1.1),
    "relu": (lambda u: np.maximum(u, 0), lambda u: np.where(u > 0, 1.0, 0.0)),
    "gelu": (lambda u: u * _normal(u), _gelu_slope),
    "softplus": (lambda u: np.logaddexp(0, u), _sigmoid),
    "swish_unscaled": (lambda u: u * _sigmoid(2 * u), _swish_slope),
    "tanh": (np.tanh, lambda u: 1 - np.tanh(u) ** 2),
}


def at_scale(name: str, h: float) -> tuple[Function, Function]:
    """phi_h(z) = h phi(z/h) and phi_h'(z) = phi'(z/h) of a known family, elementwise on arrays of z."""
    value, derivative = FAMILIES[name]
    return lambda z: h * value(z / h), lambda z: derivative(z / h)


def grid(h: float, reach: float = 1e4, count: int = 2001) -> np.ndarray:
    """Points z: ``count`` of them even on [-8h, 8h], with 0 and h, and from there on geometric up to reach h."""
    far = np.geomspace(8, reach, count // 10)
    return h * np.unique(np.concatenate([np.linspace(-8, 8, count), [0.0, 1.0], far, -far]))


def _steepest(derivative: Function, z: np.ndarray, h: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The largest |phi'(a) - phi'(b)| / |a - b| and the largest jump of phi', each with its place.

    Every neighbouring pair of ``z`` (n,) is halved, keeping the half over which phi' changes more, until it is
    FINEST h wide: a change that is left is a jump, as one of a Lipschitz phi' shrinks with the width.
    """
    a, b = z[:-1], z[1:]
    at_a, at_b = derivative(a), derivative(b)
    quotient, place = 0.0, 0.0
    for _ in range(max(1, math.ceil(math.log2((b - a).max() / (FINEST * h))))):
        change = np.abs(at_b - at_a) - ROUNDING * (1 + np.abs(a + b) / (2 * h))
        steep = np.divide(change, b - a, out=np.zeros_like(a), where=b > a)
        if steep.max() > quotient:
            quotient, place = float(steep.max()), float((a + b)[steep.argmax()] / 2)
        middle = (a + b) / 2
        at_middle = derivative(middle)
        left = np.abs(at_middle - at_a) >= np.abs(at_b - at_middle)
        a, at_a = np.where(left, a, middle), np.where(left, at_a, at_middle)
        b, at_b = np.where(left, middle, b), np.where(left, at_middle, at_b)
    last = int(change.argmax())
    return (quotient, place), (max(0.0, float(change[last])), float((a + b)[last] / 2))


def _mismatch(value: Function, z: np.ndarray, phi: np.ndarray, slope: np.ndarray, h: float) -> tuple[float, float]:
    """The largest difference between a one-sided difference quotient of phi and phi', and its z."""
    worst = np.zeros_like(z)
    for sign in (1.0, -1.0):
        near = z + sign * STEP * h
        other, step = value(near), near - z  # the step as the floats have it
        rounding = ROUNDING * (np.abs(phi) + np.abs(other) + np.abs(z) + h) / (STEP * h)
        worst = np.maximum(worst, np.abs((other - phi) / step - slope) - rounding)
    return float(worst.max()), float(z[worst.argmax()])


def check_on_grid(value: Function, derivative: Function, h: float, points: np.ndarray) -> dict[str, Condition]:
    """Definition 2.1 of phi = ``value``, phi' = ``derivative``, functions of z, at ``points`` (n,) and 0.

    Inequalities are closed, and rounding is taken off what is measured, so Huber's ratios are 1 and not above.
    ``differentiable`` is the larger of a jump of phi' and of what one-sided difference quotients are off phi',
    against JUMP; a phi' with a jump is no derivative (Darboux). Between points only _steepest looks.
    """
    z = np.unique(np.append(np.asarray(points, dtype=float), 0.0))
    phi, slope = value(z), derivative(z)
    if not (np.all(np.isfinite(phi)) and np.all(np.isfinite(slope))):
        raise ValueError(f"phi or phi' is not finite at z = {z[~(np.isfinite(phi) & np.isfinite(slope))][0]}")
    steepest, jump = _steepest(derivative, z, h)
    sizes = np.abs(slope) - ROUNDING * (1 + np.abs(z) / h)
    tangents = np.abs(slope * z - phi) - ROUNDING * (np.abs(slope * z) + np.abs(phi) + h)
    measured = {
        "differentiable": (*max(jump, _mismatch(value, z, phi, slope, h)), JUMP),
        "zero": (max(0.0, float(np.abs(phi[z == 0][0])) - ROUNDING * h), 0.0, 0.0),
        "lipschitz": (*steepest, 1 / h),
        "slope": (max(0.0, float(sizes.max())), float(z[sizes.argmax()]), 1.0),
        "tangent": (max(0.0, float(tangents.max())), float(z[tangents.argmax()]), h / 2),
    }
    return {name: Condition(worst, allowed, where) for name, (worst, where, allowed) in measured.items()}


def check(name: str, h: float) -> dict[str, Condition]:
    """``check_on_grid`` of a known family on ``grid(h)``."""
    return check_on_grid(*at_scale(name, h), h, grid(h))


def failed(report: Mapping[str, Condition | Bound]) -> list[str]:
    """The conditions that do not hold, in Definition 2.1's order."""
    return [name for name in CONDITIONS if not report[name].holds]


# By intervals


@dataclass(frozen=True)
class Bound:
    """lower <= sup <= upper of a condition at h = 1, and lower or more at u = ``where``: a witness if it fails."""

    lower: float
    upper: float
    allowed: float
    where: float

    @property
    def holds(self) -> bool:
        """Proved."""
        return self.upper <= self.allowed

    @property
    def fails(self) -> bool:
        """Refuted, at ``where``. Neither is possible: where the enclosure holds the limit."""
        return self.lower > self.allowed


def _enclose(f: Map, prime: Map | None, a: float, b: float) -> tuple[float, float, float]:
    """An upper bound of |f| on [a, b], the middle, and a lower bound of |f| there."""
    x, middle = iv.mpf([a, b]), (a + b) / 2
    natural, at_middle = f(x), f(iv.mpf(middle))
    low, high = float(natural.a), float(natural.b)
    if prime is not None:
        mean = at_middle + prime(x) * (x - middle)
        low, high = max(low, float(mean.a)), min(high, float(mean.b))
    return max(-low, high), middle, float(abs(at_middle).a)


def _supremum(
    f: Map, prime: Map | None, core: tuple[float, float], tail: Interval, tolerance: float
) -> tuple[float, float, float]:
    """Bounds of sup |f| over R and where the lower is reached; |f| <= tail outside of the core.

    The box with the largest upper bound is halved until it is within ``tolerance`` of the lower, or under the tail.
    """
    floor = float(tail.b)
    lower, where = max((float(abs(f(iv.mpf(u))).a), u) for u in (*core, sum(core) / 2))
    boxes = [(-_enclose(f, prime, *core)[0], *core)]
    for _ in range(20_000):  # stops with a wider enclosure, not with a wrong one
        negated, a, b = boxes[0]
        if -negated <= max(lower + tolerance, floor):
            break
        heapq.heappop(boxes)
        for half in ((a, (a + b) / 2), ((a + b) / 2, b)):
            most, middle, least = _enclose(f, prime, *half)
            lower, where = max((lower, where), (least, middle))
            heapq.heappush(boxes, (-most, *half))
    return lower, max(-boxes[0][0], floor), where


def _searched(proof: Proof) -> dict[str, tuple[Map, Map | None]]:
    """phi'', phi', phi' u - phi, each with its derivative."""
    return {
        "lipschitz": (proof.second, proof.third),
        "slope": (proof.slope, proof.second),
        "tangent": (proof.tangent, lambda x: x * proof.second(x)),
    }


def _suprema(proof: Proof, tolerance: float) -> dict[str, tuple[float, float, float]]:
    """Bounds of sup |phi''|, sup |phi'|, sup |phi' u - phi|, each with the u where the lower is reached."""
    if proof.core[0] == proof.core[1]:  # nothing but tails
        return {name: (0.0, float(tail.b), 0.0) for name, tail in zip(CONDITIONS[2:], proof.tails, strict=True)}
    return {
        name: _supremum(*_searched(proof)[name], proof.core, tail, tolerance)
        for name, tail in zip(CONDITIONS[2:], proof.tails, strict=True)
    }


def certify(name: str, tolerance: float = 1e-6) -> dict[str, Bound]:
    """Definition 2.1 of a known family at h = 1, and so at every h: bounds that hold on all of R.

    ``tolerance`` is how close the bounds of a supremum that lies in the core are brought. A family is smooth but at
    its joins; if phi and phi' meet there, phi' is Lipschitz with constant sup |phi''|, and with none if not.
    """
    proof = PROOFS[name]
    jumps = [(max(abs(a - b) for a, b in zip(*sides, strict=True)), u) for u, sides in proof.joins.items()]
    jump, where = max(jumps, default=(0.0, 0.0))
    zero = abs(proof.zero)
    found = {"differentiable": (jump, jump, where), "zero": (float(zero.a), float(zero.b), 0.0)}
    found |= _suprema(proof, tolerance)
    if jump:
        found["lipschitz"] = (math.inf, math.inf, where)
    limits = zip(CONDITIONS, (0.0, 0.0, 1.0, 1.0, 0.5), strict=True)
    return {key: Bound(*found[key][:2], allowed, found[key][2]) for key, allowed in limits}
