"""The risk of kernel ridge regression predicted from the kernel's spectrum.

N samples x_i with labels H(x_i) + noise, f = sum_j K(., x_j) c_j with c = (K + delta)^-1 y and delta = N w, w as in
``ridge.py``. For eigenvalues lambda_i of K and H = sum_i v_i phi_i in its eigenfunctions, the mean risk is, to
leading order in N and if the eigenfunctions at random points may be replaced by Gaussian vectors,

    N = sum_i L_i + delta / kappa,     L_i = lambda_i / (lambda_i + kappa)       kappa: effective ridge
    E_0 = N / (N - sum_i L_i^2)                                                  cost of overfitting
    E |f - H|^2 + sigma^2 = E_0 (sum_i v_i^2 (1 - L_i)^2 + sigma^2)              sigma^2: variance of the noise

(Bordelon, Canatar, Pehlevan 2020; Canatar, Bordelon, Pehlevan 2021; in this form Simon, Dickens, Karkada, DeWeese,
'The eigenlearning framework', 2021/2023.) It is a prediction, not a bound: its Gaussian premise is not true of
parities. Measured, it is within 4 % of the mean over ten seeds for d >= 16 and N << 2^d; once N nears 2^d samples
repeat, which it does not know of, and with little ridge it promises far less risk than there is.

On {-1, 1}^d eigenvalues lambda_s^2 (``hypercube.spectrum``) have C(d, s) eigenfunctions each, and only the power
v_s^2 of H in each degree matters, so every sum has d + 1 terms whatever 2^d is. Outputs are fitted one by one with
the same K: powers and noise variances of several outputs add up, and so do their risks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from learnability.kernels.hypercube import multiplicities
from learnability.teachers.parity import Expansion


@dataclass
class Prediction:
    """For each ridge: the effective ridge, learnabilities, overfitting cost and E |f - H|^2."""

    kappa: Tensor  # (len(wds),)
    learnability: Tensor  # (len(wds), degrees)
    overfitting: Tensor  # (len(wds),)
    risk: Tensor  # (len(wds),)


def power_by_degree(target: Expansion, d: int) -> Tensor:
    """sum of squared coefficients of all outputs, by degree of the parity: (d + 1,)."""
    power = torch.zeros(d + 1, dtype=torch.float64)
    for terms in target:
        for support, coefficient in terms.items():
            power[len(support)] += coefficient**2
    return power


def effective_ridge(eigenvalues: Tensor, counts: Tensor, n: float, deltas: Tensor) -> Tensor:
    """kappa with n = sum_i counts_i lambda_i / (lambda_i + kappa) + delta / kappa: deltas (W,) -> (W,).

    The right side falls in kappa, so log kappa is found by bisection between delta / n (a ridge alone) and
    (trace + delta) / n; without a ridge the lower end is e^-80 times the least eigenvalue. With delta = 0 and more
    samples than eigenfunctions the answer is 0: everything is learned.
    """
    n = float(n)
    positive = eigenvalues > 0
    values, counts = eigenvalues[positive], counts[positive]
    if len(values) == 0:
        return deltas / n
    high = ((counts * values).sum() + deltas).log() - math.log(n)
    low = torch.where(deltas > 0, (deltas / n).log(), values.min().log() - 80)
    for _ in range(80):  # an interval of 800 down to 1e-21
        middle = (low + high) / 2
        kappa = middle.exp()[:, None]
        right = (counts * (values / (values + kappa))).sum(1) + deltas / kappa[:, 0]
        low, high = torch.where(right > n, middle, low), torch.where(right > n, high, middle)
    found = ((low + high) / 2).exp()
    return torch.where((deltas == 0) & (n > counts.sum()), 0.0, found)


def predict(
    eigenvalues: Tensor,
    power: Tensor,
    n: float,
    wds: Sequence[float],
    noise_var: float = 0.0,
    counts: Tensor | None = None,
) -> Prediction:
    """Predicted risk after n samples for each ridge w (delta = n w); test labels are without noise.

    ``eigenvalues``, ``power``: (degrees,) lambda and sum of v^2 in each; ``counts``: eigenfunctions in each,
    C(d, s) unless given. ``noise_var`` is the sum of the outputs' noise variances. With noisy test labels add it.
    """
    if n <= 0 or min(wds) < 0:
        raise ValueError("n must be positive and no ridge negative")
    n = float(n)
    counts = multiplicities(len(eigenvalues) - 1) if counts is None else counts
    eigenvalues = eigenvalues.double().clamp(min=0)
    deltas = n * torch.tensor(list(wds), dtype=torch.float64)
    kappa = effective_ridge(eigenvalues, counts, n, deltas)
    effective = kappa[:, None]
    there = eigenvalues > 0
    learned = torch.where(there, eigenvalues / (eigenvalues + effective), 0.0)  # L, (W, degrees)
    missed = torch.where(
        there, effective / (eigenvalues + effective), 1.0
    )  # 1 - L: both exact where they are small
    ridge_share = torch.where(deltas > 0, deltas / kappa, 0.0)
    spare = (counts * learned * missed).sum(1) + ridge_share  # n - sum L^2 without its cancellation
    spare = torch.where(kappa > 0, spare, n - (counts * learned).sum(1))
    overfitting = n / spare
    bias = (power * missed.square()).sum(1)
    risk = overfitting * (bias + noise_var) - noise_var
    return Prediction(kappa, learned, overfitting, risk)


def samples_needed(
    target_risk: float,
    eigenvalues: Tensor,
    power: Tensor,
    wds: Sequence[float],
    noise_var: float = 0.0,
    most: float = 1e30,
) -> float:
    """Least n whose predicted risk, with the best w of the grid, is at most ``target_risk``; inf above ``most``.

    n is looked for upwards from 1 in steps of 2^(1/4), then by bisection in the first step that succeeds, so a dip
    shorter than a step may be passed over. A whole number.
    """

    def enough(n: float) -> bool:
        return predict(eigenvalues, power, n, wds, noise_var).risk.min().item() <= target_risk

    low, high = 0, 1
    while not enough(high):
        low, high = high, max(high + 1, int(high * 2**0.25))
        if high > most:
            return math.inf
    while high - low > max(1, high * 1e-12):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
