"""Quadratic DenseNets as teachers: G* of paper A, equation (1.1) and Section 2.

    G_0(x) = x,   G_1(x) = sigma(x) - E[sigma(x)],   S_l(x) = sum_{j in J_l} W*_{l,j} G_j(x),   G_l = sigma(S_l)
    G*(x) = sum_{l=2..L} alpha_l sum_i p_{l,i} G_{l,i}(x),      sigma(z) = z^2,  p = 1 (or +-1, footnote 7)

S_l has k_l entries and degree 2^(l-1). The graph obeys l-1 in J_l, l-2 not in J_l (l >= 3), and at least one skip
link for l >= 3. alpha_l = scale alpha^(l-2): ``alpha`` is the information gap; scale is 1 but for classes, where
the paper takes Var(G*) small beside x_0's.

Families:

    random      W*_{l,j} = U Sigma V with random orthonormal U, V and singular values even in the logarithm between
                1/kappa and kappa (Remark 3.1); then one factor a layer makes E||S_l||^2 = k_l, exactly
    supports    Appendix I.1: k_l = 1, W*_{l,0} and W*_{l,1} uniform in S_p, p = 2^(L-1), other W*_{l,j} = 1
    identity    Appendix I.2, Theorem I.6: k_2 = d, W*_{2,1} = I; for l >= 3 k_l = 1, W*_{l,0}, W*_{l,1},
    W*_{l,2} = 1/sqrt d
    even        Appendix I.2, Theorem I.7: k_l = 1, W*_{l,0}, W*_{l,1} = 1/sqrt d, other W*_{l,j} = 1
    toy         Section 6.1: x_1^4 + x_2^4 + alpha ((x_1^4 + x_3)^2 + (x_2^4 + x_4)^2), d = 4, without centring
    example     (1.2): x_1^4 + 2 x_2^4 + alpha (x_1^4 + 2 x_2^4 + x_3^2)^2, d = 3, without centring; its J_3 =
    {2, 1}
                breaks the paper's own rule l-2 not in J_l

Each seed is a teacher of its own. All in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from learnability.seeding import stream
from learnability.teachers.base import Composite
from learnability.teachers.inputs import Inputs, orthogonal
from learnability.theory import polynomials
from learnability.theory.graphs import FIXED, Graph, broken_rule, resolve
from learnability.theory.polynomials import Polynomial

Weights = dict[tuple[int, int], Tensor]  # (l, j) -> W*_{l,j}


@dataclass(frozen=True)
class Teacher(Composite):
    """G* of one seed; the one without a seed only knows its sizes and inputs."""

    d: int
    alpha: float
    family: str = "random"
    depth: int | None = None  # L
    widths: tuple[int, ...] | None = None  # k_2 .. k_L
    graph: Graph | None = None  # J_2 .. J_L
    scale: float = 1.0
    kappa: float = 1.0
    signs: bool = False
    distribution: str = "gaussian"
    spread: float = 2.0
    components: int = 3
    noise: float = 0.0
    classes: bool = False
    draw: int = 0
    k: int = 1  # outputs
    seed: int | None = None

    def __post_init__(self) -> None:
        widths, graph = resolve(self.family, self.d, self.depth, self.widths, self.graph)
        if problem := broken_rule(graph, strict=self.family != "example"):
            raise ValueError(problem)
        for name, value in (("widths", widths), ("graph", graph), ("depth", len(widths) + 1)):
            object.__setattr__(self, name, value)

    @property
    def alphas(self) -> tuple[float, ...]:
        """alpha_2 .. alpha_L."""
        return tuple(self.scale * self.alpha**i for i in range(len(self.widths)))

    @property
    def centred(self) -> bool:
        """Whether G_1 is sigma(x) less its mean; the toys need x^2 itself."""
        return self.family not in FIXED

    @cached_property
    def law(self) -> Inputs:
        """Where x comes from, the same for every seed."""
        return Inputs(self.distribution, self.d, self.spread, self.components, self.draw)

    @cached_property
    def centre(self) -> Tensor:
        """E[sigma(x)] (d,), or 0."""
        found = self.law.second_moments()
        return found if self.centred else torch.zeros_like(found)

    @cached_property
    def weights(self) -> Weights:
        """W*_{l,j}, (k_l, k_j)."""
        if self.seed is None:
            raise ValueError("a teacher's weights need a seed")
        return {"random": self._random, "toy": self._toy, "example": self._toy}.get(self.family, self._hard)()

    @cached_property
    def directions(self) -> list[Tensor]:
        """p_l in {-1, 1}^{k_l}: the second half is negative with ``signs`` (footnote 7)."""
        return [_signs(k) if self.signs else torch.ones(k, dtype=torch.float64) for k in self.widths]

    def of_seed(self, seed: int) -> Teacher:
        """The teacher of this seed."""
        return replace(self, seed=seed)

    def tensors(self) -> dict[str, Tensor]:
        """Weights, for the samples file."""
        return {f"W{layer}_{j}": w for (layer, j), w in self.weights.items()}

    def inputs(self, n: int, generator: torch.Generator) -> Tensor:
        """n points, (n, d), and x_0 ~ N(-E[G*], 1) before them if labels are classes (Section 3.2): (n, 1 + d)."""
        x = self.law.sample(n, generator)
        if self.classes:
            first = torch.randn(n, 1, generator=generator, dtype=torch.float64) - self.output_moments[0]
            x = torch.cat([first, x], dim=1)
        return x.float()

    def first(self, x: Tensor) -> dict[int, Tensor]:
        """G_0 and G_1, which need no weights: (..., d) each."""
        return {0: x, 1: x.square() - self.centre.to(x)}

    def features(self, x: Tensor) -> dict[int, Tensor]:
        """S*_l for l = 2..L: (..., d) -> (..., k_l)."""
        below, found = self.first(x), {}
        for layer, sources in enumerate(self.graph, start=2):
            parts = [below[j] @ self.weights[layer, j].T.to(x) for j in sources]
            found[layer] = torch.stack(parts).sum(0)
            below[layer] = found[layer].square()
        return found

    def __call__(self, x: Tensor) -> Tensor:
        """G*(x), (..., 1); of the last d columns if labels are classes."""
        found = self.features(x[..., -self.d :].double())
        total = sum(
            alpha * (found[layer].square() @ p)
            for layer, alpha, p in zip(found, self.alphas, self.directions, strict=True)
        )
        return total[..., None]

    def labels(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """G*(x) with noise, or sgn(x_0 + G*(x)) (Section 3.2): (..., 1)."""
        if not self.classes:
            return super().labels(x, generator).float()
        return torch.where(x[..., :1] + self(x) > 0, 1.0, -1.0)

    def probes(self, x: Tensor) -> dict[str, Tensor]:
        """None: features are measured by themselves."""
        return {}

    def quadratic_form(self, layer: int) -> Tensor:
        """W*_l^T diag(p) W*_l over the inputs J_l in order, (q, q): Sum(G_l) = z^T form z."""
        whole = torch.cat([self.weights[layer, j] for j in self.graph[layer - 2]], dim=1)
        return whole.T * self.directions[layer - 2] @ whole

    # weights of the families

    def _random(self) -> Weights:
        weights: Weights = {}
        for layer, (k, sources) in enumerate(zip(self.widths, self.graph, strict=True), start=2):
            for j in sources:
                generator = stream("teacher", self.draw, self.seed, layer, j)
                weights[layer, j] = conditioned(k, self._width(j), self.kappa, generator)
        return self._normalised(weights)

    def _normalised(self, weights: Weights) -> Weights:
        """One factor a layer, from below, so that E||S_l||^2 = k_l."""
        done = replace(self)
        done.__dict__["weights"] = weights  # features and moments read it from there
        for layer, k in enumerate(self.widths, start=2):
            size = sum(done.moment(lambda p: p, layer, i)[1] for i in range(k))
            for j in self.graph[layer - 2]:
                weights[layer, j] = weights[layer, j] * math.sqrt(k / size)
        return weights

    def _hard(self) -> Weights:
        """Appendix I's families, which share their shape."""
        found: Weights = {}
        for layer, sources in enumerate(self.graph, start=2):
            for j in sources:
                if self.family == "identity" and layer == 2:
                    found[layer, j] = torch.eye(self.d, dtype=torch.float64)
                elif j >= 2 and self._width(j) == 1:
                    found[layer, j] = torch.ones(1, 1, dtype=torch.float64)
                elif self.family == "supports":
                    found[layer, j] = self._support(stream("teacher", self.draw, self.seed, layer, j))
                else:
                    found[layer, j] = torch.full((1, self.d), self.d**-0.5, dtype=torch.float64)
        return found

    def _support(self, generator: torch.Generator) -> Tensor:
        """Uniform in S_p: p = 2^(L-1) entries 1/sqrt p, (1, d)."""
        p = 2 ** (self.depth - 1)
        w = torch.zeros(1, self.d, dtype=torch.float64)
        w[0, torch.randperm(self.d, generator=generator)[:p]] = p**-0.5
        return w

    def _toy(self) -> Weights:
        """Section 6.1's and (1.2)'s weights, over J_2 = {0, 1}."""
        eye = torch.eye(self.d, dtype=torch.float64)
        none = torch.zeros(2, self.d, dtype=torch.float64)
        if self.family == "toy":
            return {(2, 0): none, (2, 1): eye[:2], (3, 2): eye[:2, :2], (3, 0): eye[2:]}
        one_two = eye[:2] * torch.tensor([[1.0], [math.sqrt(2.0)]], dtype=torch.float64)
        return {(2, 0): none, (2, 1): one_two, (3, 2): torch.ones(1, 2, dtype=torch.float64), (3, 1): eye[2:]}

    def _width(self, j: int) -> int:
        return self.d if j < 2 else self.widths[j - 2]

    # exact moments

    def moment(self, function: Any, layer: int, i: int) -> tuple[float, float]:
        """E[P] and E[P^2] of P = function(S_{l,i}), exact."""
        return self._moments(lambda features: function(features[layer][i]))

    def _moments(self, function: Any) -> tuple[float, float]:
        """E[P] and E[P^2] of a polynomial made from the features, over the mixture of inputs."""
        means, squares = [], []
        for component in self.law.measures(2**self.depth):
            p = function(self._polynomials(component.matrix))
            means.append(polynomials.mean(p, component.tables))
            squares.append(polynomials.second_moment(p, component.tables))
        return sum(means) / len(means), sum(squares) / len(squares)

    def _polynomials(self, matrix: Any) -> dict[int, list[Polynomial]]:
        """S_l as polynomials of g, x = matrix g, as far as there are weights."""
        x = polynomials.linear(matrix)
        centre = self.centre.tolist()
        below = {0: x, 1: [p * p + polynomials.constant(-c, self.d) for p, c in zip(x, centre, strict=True)]}
        found = {}
        for layer, sources in enumerate(self.graph, start=2):
            inputs = [p for j in sources for p in below[j]]
            whole = torch.cat([self.weights[layer, j] for j in sources], dim=1).numpy()
            found[layer] = polynomials.combine(whole, inputs)
            below[layer] = [p * p for p in found[layer]]
        return found

    def polynomial(self, matrix: Any) -> Polynomial:
        """G* as a polynomial of g, x = matrix g."""
        return self.output(self._polynomials(matrix))

    def output(self, features: dict[int, list[Polynomial]]) -> Polynomial:
        """G* as a polynomial, of its features as polynomials."""
        total = polynomials.constant(0.0, self.d)
        for layer, alpha, signs in zip(features, self.alphas, self.directions, strict=True):
            for p, sign in zip(features[layer], signs.tolist(), strict=True):
                total = total + (p * p) * (alpha * sign)
        return total

    @cached_property
    def output_moments(self) -> tuple[float, float]:
        """E[G*] and E[G*^2], exact."""
        return self._moments(self.output)

    def variance(self) -> float:
        """Var(G*(x)), exact."""
        mean, square = self.output_moments
        return square - mean**2

    def sums(self) -> dict[int, float]:
        """E[Sum(G_l)] = E||S_l||^2 for l = 2..L, exact: the least B_l of Section 3, property 2."""
        layers = enumerate(self.widths, start=2)
        return {layer: sum(self.moment(lambda p: p, layer, i)[1] for i in range(k)) for layer, k in layers}

    def describe(self) -> str:
        """What is known without samples."""
        sizes = ", ".join(f"k_{layer} = {k}" for layer, k in enumerate(self.widths, start=2))
        return f"quadratic DenseNet, L = {self.depth}, d = {self.d}, {sizes}, alpha = {self.alphas}"


def _signs(k: int) -> Tensor:
    """+1 for the first half (rounded up), -1 for the rest."""
    return torch.where(torch.arange(k) < (k + 1) // 2, 1.0, -1.0).double()


def conditioned(rows: int, columns: int, kappa: float, generator: torch.Generator) -> Tensor:
    """U Sigma V (rows, columns): random orthonormal U, V, singular values even in the logarithm in [1/kappa,
    kappa].
    """
    rank = min(rows, columns)
    left, right = orthogonal(rows, generator)[:, :rank], orthogonal(columns, generator)[:rank]
    bound = math.log(kappa)
    values = torch.linspace(-bound, bound, rank, dtype=torch.float64).exp() if rank > 1 else torch.ones(1).double()
    return left * values @ right
