"""Exact population errors of trained DenseNets: F is a polynomial, and so is G*.

    E(G* - F)^2 = sum_I c_I^2,     c_I the coefficients of G* - F in orthonormal polynomials of x's measure

(``theory/polynomials.py``). A test set cannot replace it at
L = 4: with Gaussian inputs a square of degree 32 has its mean far out in the tails, where 10^4 points do not come,
and test errors are off by up to a factor of 50. F~, with its truncated activation, is no polynomial: its errors
stay those on the test set.

Cost: z_L holds up to T = binom(d + 2^(L-1), d) monomials, and z_L^T P_L z_L takes T^2 products. Up to ``MOST``
monomials (d = 10 at L = 3: 1001; d = 6 at L = 4: 3003) that is 0.1 to 1.5 seconds a network. A mixture of linear
images of a Gaussian takes that for each of its components and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy
import torch
from torch import Tensor

from learnability.theory import polynomials
from learnability.theory.polynomials import Polynomial
from learnability.training.densenet import DenseStack

MOST = 4000


def affordable(teacher: Any) -> bool:
    """Whether z_L has few enough monomials, and the inputs are a product measure under one linear map."""
    matrices = {component.matrix.tobytes() for component in teacher.law.measures(0)}
    return len(matrices) == 1 and math.comb(teacher.d + 2 ** (teacher.depth - 1), teacher.d) <= MOST


@torch.no_grad()
def learned(stack: DenseStack, i: int, matrix: numpy.ndarray) -> Polynomial:
    """F of replica i as a polynomial of g, x = matrix g (d, d)."""
    network = stack.network
    weights = {name: value.double().cpu() for name, value in stack.weights().items()}
    x = polynomials.linear(matrix)
    centre = weights["centre"].tolist()
    u = {0: x, 1: [p * p + polynomials.constant(-c, network.d) for p, c in zip(x, centre, strict=True)]}
    total = polynomials.constant(0.0, network.d)
    for layer, sources in network.layers():
        z = [p for j in sorted(sources) for p in u[j]]
        mask = weights[f"mask{layer}"][i].mT  # (q, 1): z * mask feeds W and K
        w, k = (weights[f"{name}{layer}"][i] * mask for name in "WK")
        form = weights["alpha"][i, layer - 2] * (w * weights[f"D{layer}"]) @ w.T
        total = total + polynomials.quadratic(form.numpy(), z)
        if layer < len(network.graph) + 1:
            mixed = polynomials.combine((weights[f"R{layer}"][i] @ k.T).numpy(), z)  # R_l S_l
            u[layer] = [p * p for p in mixed]
    return total


def population_errors(stack: DenseStack, teachers: Sequence[Any], picked: Sequence[int]) -> Tensor:
    """E(G* - F)^2 of the replicas ``picked``, (r,); NaN for the others and for those that diverged.

    ``teachers``: one for each seed of the stack.
    """
    found = torch.full((len(stack.replicas),), math.nan, dtype=torch.float64)
    for i in picked:
        if stack.died[i] < 0:
            found[i] = _error(stack, i, teachers[int(stack.row_of[i])])
    return found


def _error(stack: DenseStack, i: int, teacher: Any) -> float:
    """E(G* - F)^2, a mean over the components of the inputs; those with the same matrix share a polynomial."""
    gaps: dict[bytes, Polynomial] = {}
    errors = []
    for component in teacher.law.measures(2**teacher.depth):
        key = component.matrix.tobytes()
        if key not in gaps:
            gaps[key] = teacher.polynomial(component.matrix) + learned(stack, i, component.matrix) * -1.0
        errors.append(polynomials.second_moment(gaps[key], component.tables))
    return sum(errors) / len(errors)


def top_share(teacher: Any) -> float:
    """Share of Var(G*) above degree 2^(L-1): E(G* - P)^2 / Var(G*) of the best polynomial P of that degree.

    No network of L - 1 layers does better. A linear map of the inputs changes no degree. NaN for mixtures of
    inputs, whose components have orthonormal polynomials of their own.
    """
    components = teacher.law.measures(2**teacher.depth)
    if len(components) > 1:
        return math.nan
    (component,) = components
    energy = polynomials.energy_by_degree(teacher.polynomial(component.matrix), component.tables)
    return float(energy[2 ** (teacher.depth - 1) + 1 :].sum() / energy[1:].sum())
