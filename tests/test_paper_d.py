"""Paper D's Theorem 3.1 and its lemmas by plain arithmetic in high precision; (7)'s recursion, run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from learnability.theory import paper_d as pd
from sixty_digits import digits, near  # noqa: F401

CASES = [  # L, p, ||V||, log J, h, log alpha
    (1, 1, 1.7, -2.5, 0.9, 1.0),
    (1, 50, 9.25, -60.0, 1e-3, 20.0),
    (2, 300, 40.0, -700.0, 1e-5, 600.0),
    (3, 7, 12.5, -9000.0, 0.25, 8000.0),
    (4, 1024, 77.0, -123456.0, 1e-9, 1e5),
]


@pytest.mark.parametrize(("L", "p", "norm", "log_loss", "h", "log_alpha"), CASES)
def test_theorem_3_1_is_its_plain_arithmetic(L, p, norm, log_loss, h, log_alpha):
    J, V, a, e = mp.exp(mpf(log_loss)), mpf(norm), mp.exp(mpf(log_alpha)), mpf(1)
    log1 = mp.log(1 / J)
    h_max = min(mpf(L) ** (e * L / 2 - 3) * log1 / (24 * mp.sqrt(p) * V**L), 1)
    assert pd.h_max(L, p, norm, log_loss) == pytest.approx(float(h_max), rel=1e-12)
    first = h / (1024 * (L + 1) ** 2 * p * J * V ** (3 * L + 5))
    second = (L + e / 2) * V**2 / (2 * L * (L + 3 * e / 4) ** 2 * J * log1 ** (2 * e / L))
    found = pd.log_alpha_max_terms(h, L, p, norm, log_loss)
    assert near(found[0], first) and near(found[1], second)
    assert near(pd.log_alpha_max(h, L, p, norm, log_loss), min(first, second))
    q = L * (L + 3 * e / 4) ** 2 * a * J * log1 ** (2 * e / L) / ((L + e / 2) * V**2)
    assert near(pd.log_q_tilde(log_alpha, L, norm, log_loss), q)
    for elapsed in (mpf(10) ** -3, mpf(1), mpf(10) ** 12, mpf(10) ** 4000):
        log_q = float(mp.log(q))
        assert near(pd.log_bound(log_loss, log_q, float(mp.log(elapsed))), J / (mp.exp(mpf(log_q)) * elapsed + 1))
    later = J / 7
    drop = q / J * later**2 * mp.log(1 / later) ** (2 - 2 * e / L)
    assert near(pd.log_decrease_7(log_alpha, L, norm, log_loss, log_loss - math.log(7)), drop)


@pytest.mark.parametrize(("L", "p", "norm", "log_loss", "h", "log_alpha"), CASES)
def test_lemmas_are_their_plain_arithmetic(L, p, norm, log_loss, h, log_alpha):
    J, V, a, e = mp.exp(mpf(log_loss)), mpf(norm), mp.exp(mpf(log_alpha)), mpf(1)
    log1, g = mp.log(1 / J), J * 5
    assert pd.norm_min(L) == math.sqrt(L + 0.5)
    assert near(pd.lemma_4_1(L, log_loss), 1 / ((L + e / 2) * J))
    assert near(pd.lemma_4_2(h, L, p, norm, log_loss), 256 * (L + 1) * mp.sqrt(p) * V ** (3 * L + 5) * J / h)
    assert near(pd.lemma_4_3(L, p, norm, log_loss), mp.sqrt((L + 1) * p) * V ** (L + 1) * J)
    assert near(pd.lemma_4_3(L, p, norm, 3.0), mp.sqrt((L + 1) * p) * V ** (L + 1))  # min{J, 1}
    for found, width in (
        (pd.lemma_4_4(log_alpha, h, L, p, norm, log_loss), mp.sqrt(p)),
        (pd.i3(log_alpha, h, L, p, norm, log_loss), p),
    ):
        assert near(found.lesser, a * J) and near(
            found.greater, h / (1024 * (L + 1) ** 2 * width * V ** (3 * L + 5))
        )
        assert found.slack == found.greater - found.lesser
    assert near(pd.lemma_4_4_decrease(log_alpha, L, float(mp.log(g))), a * L * g**2 / (L + e / 2))
    assert near(pd.log_decrease(log_loss, log_loss - 0.25), J * (1 - mp.exp(-e / 4)))
    assert near(pd.lemma_4_5(L, norm, log_loss), (L + 3 * e / 4) * J * log1 / V)
    V1, log11 = V * 2 / 3, log1 / 3
    given_ = (L, norm, log_loss, norm * 2 / 3, log_loss / 3)
    hypothesis, part = pd.lemma_4_5_hypothesis(*given_), pd.i2(*given_)
    assert near(hypothesis.lesser, V**L) and near(hypothesis.greater, log1 * V1**L / log11)
    assert near(part.lesser, log11 / V1**L) and near(part.greater, log1 / V**L)
    assert hypothesis.slack == pytest.approx(part.slack, abs=1e-12)
    assert float(part.slack) == pytest.approx(math.log(3) - L * math.log(1.5), abs=1e-12)


def test_lemma_b_5_is_the_least_loss():
    for L, norm in ((1, 0.5), (1, 4.0), (2, 9.0), (3, 30.0), (4, 100.0)):
        m = (mpf(norm) / mp.sqrt(L + 1)) ** (L + 1)
        assert near(pd.lemma_b_5(L, norm), mp.log1p(mp.exp(-m)))
    np.testing.assert_array_equal(pd.lemma_b_5(2, np.array([9.0, 1e4])).shape, (2,))


def test_arrays_broadcast_and_a_loss_of_one_or_more_allows_nothing():
    losses = np.array([-100.0, -50.0, 0.0, 2.0])
    found = pd.h_max(2, 10, np.array([[3.0], [4.0]]), losses)
    assert found.shape == (2, 4) and (found[:, 2:] == 0).all() and (found[:, :2] > 0).all()
    assert found[1, 0] == pd.h_max(2, 10, 4.0, -100.0)
    assert (pd.i2(2, 3.0, losses, 3.0, -100.0).slack[2:] == -math.inf).all()
    assert (pd.lemma_4_5(2, 3.0, losses)[2:] == -math.inf).all()
    assert pd.log_decrease(-5.0, -4.0) == pd.log_decrease(-5.0, -5.0) == -math.inf
    assert pd.log_bound(-30.0, -4.0, -math.inf) == -30.0  # t = 1
    assert pd.log_threshold(3, np.array([1, 2])) == pytest.approx([-25 * math.log(3), -49 * math.log(3)])


@settings(max_examples=300, deadline=None)
@given(
    L=st.integers(1, 12),
    p=st.integers(1, 10**5),
    n=st.integers(3, 10**4),
    wide=st.floats(1.0, 10.0),
    deep=st.floats(0.0, 1.0),
    small=st.floats(1e-9, 1.0),
)
def test_what_the_hypotheses_of_theorem_3_1_give(L, p, n, wide, deep, small):
    """Any loss between Lemma B.5's least and the threshold: (3b)'s second term is never the least, and more."""
    least = math.sqrt(L + 1) * (-pd.log_threshold(n, L) + 1) ** (
        1 / (L + 1)
    )  # norm at which B.5 meets the threshold
    norm = least * wide
    floor, ceiling = pd.lemma_b_5(L, norm), pd.log_threshold(n, L)
    log_loss = floor + deep * (ceiling - floor)
    h = small * pd.h_max(L, p, norm, log_loss)
    assert 0 < h <= 1 and norm > math.sqrt(L + 1)
    rounding = 1e-12 + 1e-14 * abs(log_loss)
    first, second = pd.log_alpha_max_terms(h, L, p, norm, log_loss)
    assert second - first > math.log(128 * p / h) + (3 * L + 3) * math.log(norm)
    alpha = pd.log_alpha_max(h, L, p, norm, log_loss)
    assert pd.log_q_tilde(alpha, L, norm, log_loss) == pytest.approx(first - second - math.log(2), abs=rounding)
    assert pd.i3(alpha, h, L, p, norm, log_loss).slack == pytest.approx(0, abs=rounding)  # the base case
    assert pd.lemma_4_4(alpha, h, L, p, norm, log_loss).slack >= -rounding
    assert pd.i2(L, norm, log_loss, norm, log_loss).slack == 0
    assert pd.lemma_4_3(L, p, norm, log_loss) > pd.lemma_4_5(L, norm, log_loss)
    promised = pd.lemma_4_4_decrease(alpha, L, pd.lemma_4_5(L, norm, log_loss))  # how (7) begins, at t = 1
    assert pd.log_decrease_7(alpha, L, norm, log_loss, log_loss) == pytest.approx(promised, abs=rounding)
    assert promised < log_loss - math.log(1024)  # so that the speed of log(1/J) is below 1
    if norm**2 >= L**L / max(L - 1, 1) ** (L - 1):  # Lemma B.6(1)
        sizes = np.arange(1, L + 1)
        assert (sizes / 2 * np.log(norm**2 / sizes)).argmax() == L - 1


def test_lemma_b_6_fails_below_its_norm():
    """||V||^2 = L + 1 with four equal layers: their product beats (||V|| / sqrt(L))^L."""
    assert (11 / 4) ** (4 / 2) > (11 / 10) ** (10 / 2)
    for n, last in ((3, 12), (10, 13)):  # where Lemma B.5's norm suffices
        enough = [
            (L + 1) * ((1 + 24 * L) * math.log(n) - math.log(4)) ** (2 / (L + 1)) >= L**L / max(L - 1, 1) ** (L - 1)
            for L in range(1, last + 2)
        ]
        assert enough == [True] * last + [False]


# (7)(i)


@pytest.mark.parametrize("L", [1, 2, 3, 7])
@pytest.mark.parametrize("log_loss", [-1.0, -27.5, -5000.0])
def test_proof_decay_is_its_integral(L, log_loss):
    mp.dps = 20
    s = np.array([0.0, 1e-9, 0.3, 5.0, 81.0, 1000.0])
    found = pd.proof_decay(s, L, log_loss, -3.0)
    assert found[0] == -math.inf
    for x, log_time in zip(s[1:], found[1:], strict=True):
        x, power = mpf(float(x)), 2 - mpf(2) / L
        cuts = [mpf(0), *[x - k for k in range(80, 0, -8) if x > k], x]
        time = mp.quad(lambda u, power=power: mp.exp(u) / (u - log_loss) ** power, cuts) * mp.exp(3)
        assert abs(float(log_time) - float(mp.log(time))) < 1e-11 * max(1, abs(float(mp.log(time))))


def test_proof_decay_is_theorem_3_1_at_depth_1_and_faster_beyond():
    s = np.linspace(5, 900, 40)
    for log_loss in (-30.0, -400.0):
        assert pd.log_bound(log_loss, -8.0, pd.proof_decay(s, 1, log_loss, -8.0)) == pytest.approx(log_loss - s)
        slow, fast = (pd.proof_decay(s, L, log_loss, -8.0) for L in (2, 4))
        assert (pd.log_bound(log_loss, -8.0, slow) > log_loss - s + 1).all() and (fast < slow).all()
    # J = J_1 e^-s ~ J_1 / (Q t log^(2-2/L)(1/J)): the next term is (2 - 2/L) / log(1/J)
    log_time = pd.proof_decay(1000.0, 3, -50.0, -8.0)
    assert log_time == pytest.approx(1000 + 8 - 4 / 3 * math.log(1050) + 4 / 3 / 1050, abs=1e-5)
    assert pd.proof_decay(np.ones((2, 1)), np.array([1, 2, 3]), -9.0, 0.0).shape == (2, 3)
    for bad in ((1.0, 2, -0.5, 0.0), (-1.0, 2, -5.0, 0.0)):
        with pytest.raises(ValueError, match="J_1 <= 1/e"):
            pd.proof_decay(*bad)


@pytest.mark.parametrize("L", [1, 2, 4])
def test_proof_decay_bounds_the_recursion(L):
    """J_{t+1} = J_t - (Q/J_1) J_t^2 log^(2-2/L)(1/J_t), brute force: the flow is later, but by 2% at most."""
    log_loss, q, s = -30.0, 1e-4, 3.0
    ratio, steps = 1.0, 0
    while ratio > math.exp(-s):
        ratio -= q * ratio**2 * (-log_loss - math.log(ratio)) ** (2 - 2 / L)
        steps += 1
    time = math.exp(pd.proof_decay(s, L, log_loss, math.log(q)))
    assert steps - 1 <= time and steps == pytest.approx(time, rel=2e-2)
    assert L == 1 or steps < 0.05 * math.expm1(s) / q  # Theorem 3.1's own time is far longer


# A network


def test_lemmas_hold_on_a_network():
    """Lemmas 4.2, 4.3, 4.5 on a small Huberized network with J_1 below the threshold."""
    p, n, h = 4, 3, 1e-3
    x = np.eye(p)[:n]
    y = np.array([1.0, -1.0, 1.0])

    def gradient(V: np.ndarray) -> tuple[np.ndarray, float]:
        first, last = V[: p * p].reshape(p, p), V[p * p :]
        u = x @ first.T
        inner, slope = np.where(u <= h, np.clip(u, 0, h) ** 2 / (2 * h), u - h / 2), np.clip(u / h, 0, 1)
        margins = y * (inner @ last)
        g = -y / (1 + np.exp(margins)) / n
        grad_first = (g[:, None] * slope * last).T @ x
        return np.concatenate([grad_first.ravel(), g @ inner]), float(np.log1p(np.exp(-margins)).mean())

    first = 6.0 * np.eye(p)
    V = np.concatenate([first.ravel(), 6.0 * np.append(y, 0.2)])
    grad, loss = gradient(V)
    norm, log_loss = float(np.linalg.norm(V)), math.log(loss)
    assert log_loss < pd.log_threshold(n, 1) and h < pd.h_max(1, p, norm, log_loss)
    size = math.log(np.linalg.norm(grad))
    assert pd.lemma_4_5(1, norm, log_loss) < size < pd.lemma_4_3(1, p, norm, log_loss)
    assert log_loss > pd.lemma_b_5(1, norm)
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = 1e-6 * rng.normal(size=V.size)
        quotient = np.linalg.norm(gradient(V + step)[0] - grad) / np.linalg.norm(step)
        assert math.log(quotient) < pd.lemma_4_2(h, 1, p, norm, log_loss)
    # f is 2-homogeneous up to h: -grad J . V = 2 J log(1/J) to a few percent, so (L + 3/4) could not be (L + 5/4)
    assert -grad @ V == pytest.approx(2 * loss * -log_loss, rel=0.05)
