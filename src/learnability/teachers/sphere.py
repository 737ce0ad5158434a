"""Data sets of paper D: n labelled points (x_s, y_s) in S^(d-1) x {-1, 1} (Section 2.2; its p inputs are d here).

Theorem 3.1 holds for every such set and Assumption 3.2 asks for a margin, so the kinds go from easy to hard:

    clustered   r-clustered (Appendix C): |x_s - y_s mu| = r for a unit vector mu; the margin is constant
    halfspace   x uniform, y = sgn<mu, x>
    random      x uniform, y fair signs independent of x: nothing to learn, all to be fitted
    colliding   pairs at distance exactly ``gap``, x uniform, with opposite labels: the margin goes to 0 with gap

Each seed has a mu of its own. Labels of the first two kinds are sgn<mu, x>. Those of 'random' and 'colliding' are
no functions of x but go by index: +, -, +, - ... for 'colliding', and for 'random' the draws of the stream given to
``labels`` (one for each split and seed). Among any first n >= 2 labels of 'random', 'clustered' and 'colliding'
both signs occur, as y_2 = -y_1: one sign alone would need no learning, and a job may use a prefix of a stored set.
All in float64: 1 - <x_s, x_q> = gap^2 / 2 is lost in float32 for gaps below 3e-4.

'clustered' takes the worst case, every point at distance r and not within it. Proposition C.1 is about all points
within r, and its proof needs r for two things, both hardest at r itself: V_{1,i} . (x_s - y_s mu) has variance
2 |x_s - y_s mu|^2 / p in part (c) of E_margin, and mu . (y_s x_s) = 1 - |x_s - y_s mu|^2 / 2 in (36).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from learnability.seeding import stream
from learnability.teachers.base import Composite
from learnability.teachers.concept import unit
from learnability.theory import paper_d

KINDS = ("random", "halfspace", "clustered", "colliding")


def at_distance(centre: Tensor, distance: float, generator: torch.Generator) -> Tensor:
    """Points of the sphere at |x - centre| = distance, uniform among these: (n, d) of norm 1 -> (n, d).

    x = (1 - distance^2 / 2) centre + distance sqrt(1 - distance^2 / 4) t, with t uniform among the unit vectors
    orthogonal to the centre; |x| = 1 and <x, centre> = 1 - distance^2 / 2.
    """
    t = unit(centre.shape, generator)
    t = t - (t * centre).sum(-1, keepdim=True) * centre
    t = t / t.norm(dim=-1, keepdim=True)
    t = t - (t * centre).sum(-1, keepdim=True) * centre  # what rounding left, if the first t was almost the centre
    t = t / t.norm(dim=-1, keepdim=True)
    return (1 - distance**2 / 2) * centre + distance * math.sqrt(1 - distance**2 / 4) * t


def fair_signs(n: int, generator: torch.Generator) -> Tensor:
    """n fair signs, independent but for the second, which is the first's opposite: (n,), float64.

    So both signs occur among the first n for every n >= 2.
    """
    y = torch.randint(0, 2, (n,), generator=generator).double().mul_(2).sub_(1)
    y[1:2] = -y[:1]
    return y


@dataclass(frozen=True)
class Teacher(Composite):
    """A kind of data set; of one seed if ``seed`` is set.

    ``radius`` is r of 'clustered'; None is the largest of Proposition C.1 for ``count`` samples at width p = d (its
    nets are as wide as their inputs) and failure probability ``delta``. ``gap`` is the distance in a pair of
    'colliding'.
    """

    d: int
    points: str = "random"
    radius: float | None = None
    gap: float = 0.01
    noise: float = 0.0
    k: int = 1  # outputs
    delta: float = 0.1
    count: int | None = None  # n
    seed: int | None = None

    def __post_init__(self) -> None:
        if problem := self._impossible():
            raise ValueError(problem)
        if self.points == "clustered" and self.radius is None:
            largest = paper_d.clustered_radius(self.d, self.count, paper_d.clustered_h(self.d), self.delta)
            object.__setattr__(self, "radius", float(largest))

    def _impossible(self) -> str | None:
        """What is wrong with the parameters, in one line."""
        if self.points not in KINDS:
            return f"points must be one of {', '.join(KINDS)}, got {self.points!r}"
        if self.d < 2:
            return f"d must be at least 2, got {self.d}"
        if self.k != 1 or self.noise != 0:
            return f"labels are one sign each: k must be 1 and noise 0, got {self.k} and {self.noise}"
        if self.radius is not None and not 0 <= self.radius < math.sqrt(2):  # beyond, y mu and -y mu are confused
            return f"radius must be in [0, sqrt 2), got {self.radius}"
        if not 0 < self.gap <= 2:
            return f"gap must be in (0, 2], got {self.gap}"
        if not 0 < self.delta < 1:
            return f"delta must be in (0, 1), got {self.delta}"
        if self.count is not None and self.count < 1:
            return f"count must be at least 1, got {self.count}"
        if self.points == "clustered" and self.radius is None and self.count is None:
            return "clustered points need a radius, or a count of samples to choose it for"
        return None

    @property
    def labels_are_a_function(self) -> bool:
        """Whether y = sgn<mu, x>; the other kinds label by index."""
        return self.points in ("halfspace", "clustered")

    @cached_property
    def mu(self) -> Tensor:
        """The unit vector mu of this seed: (d,)."""
        if self.seed is None:
            raise ValueError("a teacher's mu needs a seed")
        return unit((self.d,), stream("teacher", "sphere", "mu", self.d, self.seed))

    def of_seed(self, seed: int) -> Teacher:
        """The teacher of this seed."""
        return replace(self, seed=seed)

    def tensors(self) -> dict[str, Tensor]:
        """mu, where labels depend on it, for the samples file."""
        return {"mu": self.mu} if self.labels_are_a_function else {}

    def inputs(self, n: int, generator: torch.Generator) -> Tensor:
        """n points of norm 1: (n, d). In a colliding set points 2j and 2j + 1 are a pair; n odd leaves the last
        one alone.
        """
        if self.points == "clustered":
            y = fair_signs(n, generator)
            return at_distance(y[:, None] * self.mu, self.radius, generator)
        if self.points == "colliding":
            first = unit(((n + 1) // 2, self.d), generator)
            pairs = torch.stack([first, at_distance(first, self.gap, generator)], dim=1)  # (pairs, 2, d)
            return pairs.flatten(0, 1)[:n]
        return unit((n, self.d), generator)

    def __call__(self, x: Tensor) -> Tensor:
        """Labels without a split's stream: (n, d) -> (n, 1).

        sgn<mu, x> (+1 at 0) where that is the label, +, -, +, - ... for 'colliding'. A 'random' set's labels are
        no function of x at all: here they are drawn from a stream of the seed's own, and are not those that
        ``labels`` draws from the stream of a split.
        """
        if self.labels_are_a_function:
            return torch.where(x @ self.mu.to(x) >= 0, 1.0, -1.0).to(x)[..., None]
        return self._by_index(x, stream("teacher", "sphere", "labels", self.seed))

    def labels(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """y of a set as ``inputs`` made it: (n, d) -> (n, 1); only 'random' draws from the generator."""
        return self(x) if self.labels_are_a_function else self._by_index(x, generator)

    def _by_index(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """(n, d) -> (n, 1): signs in turn for 'colliding', else drawn."""
        n = len(x)
        y = 1.0 - 2.0 * (torch.arange(n) % 2) if self.points == "colliding" else fair_signs(n, generator)
        return y.to(x)[:, None]

    def probes(self, x: Tensor) -> dict[str, Tensor]:
        """No signals whose share in an output is reported."""
        return {}

    def describe(self) -> str:
        """What the points and labels are."""
        sphere = f"S^{self.d - 1}"
        return {
            "random": f"points uniform on {sphere}, labels fair signs independent of them",
            "halfspace": f"points uniform on {sphere}, labels sgn<mu, x>",
            "clustered": f"points on {sphere} at distance {self.radius} of y mu, the worst r-clustered case",
            "colliding": f"pairs on {sphere} at distance {self.gap} with opposite labels",
        }[self.points]
