"""Paper D's Theorem 3.3 and Proposition C.1 by plain arithmetic in high precision, and where the text is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import erfc

from learnability.theory import paper_d as pd
from sixty_digits import digits, near  # noqa: F401

# n, L, gamma, delta, c_1, p
WIDE = [(3, 1, 1.0, 0.1, 1.0, 10.0), (10, 2, 0.3, 0.01, 2.5, 1e6), (1000, 4, 1e-3, 1e-4, 0.5, 1e40)]


@pytest.mark.parametrize(("n", "L", "gamma", "delta", "c_1", "p"), WIDE)
def test_theorem_3_3_is_its_plain_arithmetic(n, L, gamma, delta, c_1, p):
    inside = mp.sqrt(mp.log(n / mpf(delta))) + mp.log(6 * mpf(n) ** (2 + 24 * L))
    rho = c_1 / (mp.sqrt(p) * gamma) * inside
    alpha = mpf(3) / (mpf(p) * L**5)
    steps = 3 * (L + 1) * rho**2 * mpf(n) ** (2 + 24 * L) / (2 * alpha)
    assert near(pd.log_rho(p, n, L, gamma, delta, c_1), rho)
    assert pd.rho(p, n, L, gamma, delta, c_1) == pytest.approx(float(rho), rel=1e-11)
    assert pd.tau(p, n, L, gamma, delta, c_1) == pytest.approx(float(3 * L * rho), rel=1e-11)
    assert near(pd.log_alpha_nt(p, L, 3.0), alpha) and near(pd.log_T(p, n, L, gamma, delta, c_1, 3.0), steps)
    assert pd.log_T(p * 100, n, L, gamma, delta, c_1, 3.0) == pytest.approx(float(mp.log(steps)), rel=1e-12)
    h = (1 + 24 * L) * mp.log(n) / (6 * mp.sqrt(6 * mpf(p)) ** (L + 1) * L**3)
    assert pd.h_nt(p, n, L) == pytest.approx(float(h), rel=1e-11)
    limit = mpf(c_1) / ((mpf(p) * mp.log(p)) ** (mpf(3) / 8) * mpf(L) ** (mpf(15) / 4))
    assert pd.tau_limit(p, L, c_1) == pytest.approx(float(limit), rel=1e-11)
    rate = 50 * mp.sqrt(mpf(L)) ** (3 * L + 7) * (L + 1) ** 2 * (6 * mpf(p)) ** (2 * L + 5)
    rate /= mpf(n) ** (1 + 24 * L) * mpf(10) ** 500
    assert near(pd.log_rate_3_3(p, n, L, 500 * math.log(10)), rate)


@pytest.mark.parametrize(("n", "L", "gamma", "delta", "c_1", "p"), WIDE)
def test_needed_width_is_where_tau_meets_its_limit(n, L, gamma, delta, c_1, p):
    found = float(pd.needed_width(n, L, gamma, delta, c_1, 0.5))
    for shift, holds in ((1 - 1e-9, False), (1 + 1e-9, True)):
        width = mpf(10) ** (mpf(found) * shift)
        inside = mp.sqrt(mp.log(n / mpf(delta))) + mp.log(6 * mpf(n) ** (2 + 24 * L))
        tau = 3 * L * c_1 * inside / (mp.sqrt(width) * gamma)
        limit = mpf(1) / 2 / ((width * mp.log(width)) ** (mpf(3) / 8) * mpf(L) ** (mpf(15) / 4))
        assert (tau <= limit) == holds
    tenth = pd.needed_width(n, L, gamma / 10, delta, c_1, 0.5) - found
    assert 8 < tenth < 9.5  # gamma^-8 and a little more, where the theorem has gamma^-2
    assert pd.needed_width(n, np.array([L, L + 1]), gamma, delta).shape == (2,)


def test_a_width_that_always_suffices_is_two():
    assert pd.needed_width(3, 1, 1.0, 0.1, 1e-4) == math.log10(2)
    p = np.arange(2, 1000)
    assert (pd.tau(p, 3, 1, 1.0, 0.1, 1e-4) <= pd.tau_limit(p, 1)).all()


@pytest.mark.parametrize("L", [1, 2, 5, 30])
@pytest.mark.parametrize(("n", "p"), [(3, 2), (3, 1e6), (100, 50), (10**6, 1e9)])
def test_part_2_of_the_proof_of_theorem_3_3(n, p, L):
    """h_NT is 24 / 6^1.5 = 1.63 times what the proof says; with 4 sqrt(6) it is that, and the 50 is then 70."""
    norm, log_loss = math.sqrt(6 * p * L), -(2 + 24 * L) * math.log(n)
    said = math.exp((L / 2 - 3) * math.log(L) - L / 2 * math.log(6 * p * L)) * (1 + 24 * L) * math.log(n)
    said /= 24 * math.sqrt(p)
    assert pd.h_nt(p, n, L) == pytest.approx(24 / 6**1.5 * said) and pd.h_nt(p, n, L) > said
    right = 4 * math.sqrt(6)
    assert pd.h_nt(p, n, L, right) == pytest.approx(said)
    if said < 1:
        assert pd.h_nt(p, n, L, right) < pd.h_max(L, p, norm, log_loss) < pd.h_nt(p, n, L)
    for constant, rate in ((6.0, 50.0), (right, 70.0)):
        h = pd.h_nt(p, n, L, constant)
        log_q = pd.log_q_tilde(pd.log_alpha_max_terms(h, L, p, norm, log_loss)[0], L, norm, log_loss)
        for log_elapsed in (0.0, 50.0, 5000.0):
            bound = pd.log_bound(pd.log_threshold(n, L), log_q, log_elapsed)
            assert bound < pd.log_rate_3_3(p, n, L, log_elapsed, rate)
        # the proof drops log^(2/L)(1/J), log(n) and (L+3/4)^2 / (L (L+1/2)); 50 is close to what is left
        loose = log_q - 2 / L * math.log(-log_loss) - math.log(math.log(n))
        loose -= math.log((L + 0.75) ** 2 / (L * (L + 0.5)))
        least = -loose - (3 * L + 7) / 2 * math.log(L) - 2 * math.log(L + 1) - (2 * L + 5) * math.log(6 * p)
        assert 0.7 * rate < math.exp(least) <= rate


# Proposition C.1


def test_clustered_radius_leaves_a_third_of_delta():
    assert pd.clustered_radius(7, 5, 0.01, 0.3) == pytest.approx(math.sqrt(7) * 0.01 / math.sqrt(math.log(350)))
    for p, n, delta in ((10, 5, 0.5), (1000, 100, 0.01), (10**6, 10**4, 1e-6)):
        h = pd.clustered_h(p)
        assert h == pytest.approx(math.sqrt(math.pi) / 2 / p)
        r = pd.clustered_radius(p, n, h, delta)
        exceeds = erfc(2 * h / math.sqrt(2 * r * r / p) / math.sqrt(2))  # P(|N(0, 2r^2/p)| > 2h)
        assert p * n * exceeds <= delta / 3 and (r < 1 / 16) == (p > 10)
        assert p == 10 or r == pytest.approx(2 * pd.clustered_radius(p, n, h, delta, 2.0))
    assert pd.clustered_radius(100, 10, 10.0, 0.1) == 1 / 16
    fits = [n for n in range(3, 50) if pd.h_nt(100, n, 1) <= pd.clustered_h(100)]
    assert fits == [3] and pd.h_nt(100, 8, 1, 4 * math.sqrt(6)) < pd.clustered_h(100)


def test_clustered_margin_is_a_margin_of_the_network():
    """The proof's W* on a random network and clustered data: every example's margin is at least the bound."""
    p, n = 600, 40
    rng = np.random.default_rng(3)
    h = pd.clustered_h(p)
    r = pd.clustered_radius(p, n, h, 0.1)
    mu = np.eye(p)[0]
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    away = rng.normal(size=(n, p))
    away[:, 0] = 0
    angle = 2 * np.arcsin(r / 2)  # ||x - y mu|| = r on the sphere
    x = y[:, None] * mu * np.cos(angle) + np.sin(angle) * away / np.linalg.norm(away, axis=1, keepdims=True)
    V1, V2 = rng.normal(size=(p, p)) * math.sqrt(2 / p), rng.normal(size=p)
    used = (np.abs(V2) >= 0.5) & (np.abs(V2) <= 2)
    plus, minus = used & (V1 @ mu >= 4 * h), used & (-(V1 @ mu) >= 4 * h)
    assert (np.abs((x - y[:, None] * mu) @ V1.T) <= 2 * h).all()  # (c)
    w = np.where(plus | minus, np.sign(V2), 0.0) / math.sqrt((plus | minus).sum())
    margins = y * ((np.clip(x @ V1.T / h, 0, 1) * V2) @ w) * (x @ mu) / math.sqrt(p)
    bound = pd.clustered_margin(plus.sum(), minus.sum(), p)
    assert margins.min() >= bound > pd.CLUSTERED_MARGIN
    assert bound == pytest.approx(pd.CLUSTERED_MARGIN_LIMIT, rel=0.25)


def test_clustered_margin_by_hand():
    assert pd.clustered_margin(30, 20, 100) == pd.clustered_margin(20, 30, 100)
    assert pd.clustered_margin(30, 20, 100) == pytest.approx((60 - 30) / (8 * math.sqrt(50) * 10))
    assert pd.clustered_margin(0.25, 0.5, 1) * math.sqrt(0.75) == pytest.approx(
        pd.CLUSTERED_MARGIN
    )  # / sqrt(p) there
    inside = 1 - erfc(2 / math.sqrt(2)) - (1 - erfc(0.5 / math.sqrt(2)))
    assert pd.clustered_margin(inside / 2, inside / 2, 1) == pytest.approx(pd.CLUSTERED_MARGIN_LIMIT)
