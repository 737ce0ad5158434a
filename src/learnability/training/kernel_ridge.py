"""Kernel ridge regression with a kernel that has a formula, one seed at a time, and what its spectrum predicts.

On {-1, 1}^d with parities for a target, the solution's population risk is exact (``hypercube.population_risk``) and
its mean over samples is predicted by the spectrum alone (``learning_curve.predict``): neither needs a test set.
In float64 on the CPU: a Gram matrix is factorised once for all ridges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from torch import Tensor

from learnability.kernels.analytic import build
from learnability.kernels.correlation import Kernel
from learnability.kernels.gram import gram, gram_times, is_hypercube
from learnability.kernels.hypercube import multiplicities, population_risk, spectrum
from learnability.kernels.learning_curve import power_by_degree, predict, samples_needed
from learnability.kernels.ridge import ridge_gram
from learnability.teachers.parity import Teacher
from learnability.training.stack import Split

__all__ = ["Prediction", "Solution", "build", "exact_risk", "measure", "predicted", "solve"]


@dataclass
class Solution:
    """f(x) = sum_j K(x, x_j) c_j of one seed for each ridge: points x (N, d), coefficients c (W, N, k)."""

    kernel: Kernel
    x: Tensor
    c: Tensor
    block_mb: float


def solve(kernel: Kernel, split: Split, row: int, wds: Sequence[float], block_mb: float) -> Solution:
    """The whole ridge path on the training samples of seed number ``row``."""
    x, y = split.x[row, :, :-1].double().cpu(), split.y[row].double().cpu()
    return Solution(kernel, x, ridge_gram(gram(kernel, x, block_mb=block_mb), y, wds), block_mb)


def measure(solution: Solution, split: Split, row: int) -> dict[str, Tensor]:
    """Means over the points of ``split`` of what ``Split.measure`` sums, for each ridge: (W,)."""
    count, n, k = solution.c.shape
    columns = solution.c.transpose(0, 1).reshape(n, -1)  # (N, W k)
    points = split.x[row, :, :-1].double().cpu()
    out = gram_times(solution.kernel, points, columns, solution.x, block_mb=solution.block_mb)
    out = out.view(-1, count, k).transpose(0, 1)  # (W, n, k)
    return {name: value / len(points) for name, value in split.measure(out, row, slice(None)).items()}


def exact_risk(solution: Solution, teacher: Teacher) -> Tensor | None:
    """E||f(x) - H(x)||^2 over all of {-1, 1}^d for each ridge, (W,); None where there is no such formula."""
    if not isinstance(teacher, Teacher) or not is_hypercube(solution.x):
        return None
    return population_risk(spectrum(solution.kernel), solution.x, solution.c, teacher.expansion()).sum(-1)


@dataclass
class Prediction:
    """What the spectrum says before any sample is drawn."""

    risk: Tensor  # (W,) mean over samples of exact_risk
    samples: float  # N from which on the risk is at most k alpha^2 / 2, half of the composite part; inf if none
    share: float  # of the kernel's trace that lies in the degree of the composite part: 0 means never learned


def predicted(kernel: Kernel, teacher: Teacher, n: int, wds: Sequence[float]) -> Prediction | None:
    """From the spectrum alone; None where there is no such formula."""
    if not isinstance(teacher, Teacher):
        return None
    eigenvalues, power = spectrum(kernel), power_by_degree(teacher.expansion(), teacher.d)
    trace = eigenvalues * multiplicities(teacher.d)  # by degree
    share = trace[teacher.f_degree * teacher.g_degree] / trace.sum()
    risk = predict(eigenvalues, power, n, wds, teacher.k * teacher.noise**2).risk
    return Prediction(risk, _half_learned(kernel, teacher, tuple(wds)), share.item())


@lru_cache(maxsize=64)
def _half_learned(kernel: Kernel, teacher: Teacher, wds: tuple[float, ...]) -> float:
    """``Prediction.samples``, the same for every N that a job runs."""
    half = teacher.k * teacher.alpha**2 / 2
    if not half:
        return 0.0
    power = power_by_degree(teacher.expansion(), teacher.d)
    return samples_needed(half, spectrum(kernel), power, wds, teacher.k * teacher.noise**2, most=1e9)
