"""Slacks of Theorem 3.1 and its lemmas from plain numbers, the Hessian's norm, and exponents of the decay."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from torch import Tensor
from torch.func import hessian as hess
from torch.func import jacrev

from learnability.learners.logistic import Data, Learner
from learnability.training import paths
from learnability.training.descent import scaled
from logistic_cases import at_threshold, fitted, loss, outputs, sphere, starts


def hessian(net: Learner, v: Tensor, data: Data, r: int) -> Tensor:
    """grad^2 J of one replica, dense."""
    return hess(lambda w: loss(net, w, data.x[r], data.y[r], data.h[r]))(v[r])


@pytest.mark.parametrize("shape", [(3, 2, 1), (4, 4, 2), (3, 5, 3), (10, 10, 3)])  # 8 to 310 weights
@pytest.mark.parametrize("activation", ["huber", "swish"])
def test_hessian_norm_is_the_largest_eigenvalue(activation, shape):
    net, data = Learner(*shape, activation), sphere(3, 6, shape[0], 0.5)
    data = Data(data.x, data.y, torch.tensor([0.5, 0.05, 2.0], dtype=torch.float64))
    v = torch.cat([starts(net, 2), 2 * starts(net, 1, seed=5)])
    found = paths.hessian_norm(net, v, data)
    for r in range(3):
        sizes = torch.linalg.eigvalsh(hessian(net, v, data, r)).abs()
        assert math.exp(found[r]) == pytest.approx(sizes.max().item(), rel=1e-6)


def test_hessian_norm_in_a_layer():
    """A preactivation in [0, h] makes it as large as 1/h; here V_1's first, of the first sample."""
    net, data = Learner(4, 4, 2), sphere(1, 4, 4, 1e-4)
    v, found = fitted(net, data), []
    for inside in (0.5, 2.0):  # of h
        moved, x = v.clone(), data.x[0, 0]
        moved[0, :4] += x * (inside * data.h - moved[0, :4] @ x)
        sizes = torch.linalg.eigvalsh(hessian(net, moved, data, 0)).abs()
        found.append(math.exp(paths.hessian_norm(net, moved, data)))
        assert found[-1] == pytest.approx(sizes.max().item(), rel=1e-6)
    assert found[0] > 100 * found[1]


def test_hessian_norm_below_the_least_float():
    """J = mean e^-m_s to rounding, so grad^2 J = mean e^-m_s (grad m_s grad m_s^T - grad^2 m_s)."""
    net, data = Learner(4, 4, 2), sphere(1, 4, 4, 1.0)
    v, _ = scaled(net, fitted(net, data), data, -900.0, lambda norm: data.h)

    def margins(w: Tensor) -> Tensor:
        return data.y[0] * outputs(net, w, data.x[0], data.h[0])

    m, g, second = margins(v[0]), jacrev(margins)(v[0]), hess(margins)(v[0])
    dense = ((-m).softmax(0)[:, None, None] * (g[:, :, None] * g[:, None, :] - second)).sum(0)
    expected = torch.linalg.eigvalsh(dense).abs().max().log() + torch.logsumexp(-m, 0) - math.log(4)
    assert paths.hessian_norm(net, v, data).item() == pytest.approx(expected.item(), rel=1e-9)
    assert expected < -850


def moderate(depth: int, share: float = 1e-3) -> tuple[paths.Start, Tensor, Tensor, list[float]]:
    """A start, a later place, its log J, alpha / alpha_max; Theorem 3.1's hypotheses do not hold.

    Losses are what plain numbers bear, and so are steps: at the later place alpha |grad J|^2 = ``share`` J.
    """
    net, data = Learner(4, 4, depth), sphere(3, 3, 4, 0.2)
    data = Data(data.x, data.y, torch.tensor([0.2, 0.1, 0.5], dtype=torch.float64))
    first = fitted(net, data, steps=60)
    later = first * 1.05 + 0.01 * starts(net, 3)
    log_loss, g = net.gradient(later, data)
    most = paths.Start.of(net, first, data, torch.ones(3)).log_alpha
    times = share / (log_loss.exp() * g.square().sum(1)) / torch.as_tensor(most).exp()
    return paths.Start.of(net, first, data, times), later, log_loss, times.tolist()


def plain(start: paths.Start, v: Tensor, r: int) -> tuple[float, float, Tensor]:
    """J, |V|, grad J by autograd."""
    data, mine = start.data, v[r].clone().requires_grad_()
    value = loss(start.network, mine, data.x[r], data.y[r], data.h[r])
    return value.item(), v[r].norm().item(), torch.autograd.grad(value, mine)[0]


def known(start: paths.Start, r: int, times: float) -> tuple[float, float, float, float, float]:
    """J_1, |V^(1)|, h, alpha, Q from (3b) and (3c) in plain numbers."""
    L, p, h = start.network.depth, start.network.width, start.data.h[r].item()
    J, V, _ = plain(start, start.v, r)
    first = h / (1024 * (L + 1) ** 2 * p * J * V ** (3 * L + 5))
    second = (L + 1 / 2) * V**2 / (2 * L * (L + 3 / 4) ** 2 * J * math.log(1 / J) ** (2 / L))
    alpha = min(first, second) * times
    return J, V, h, alpha, L * (L + 3 / 4) ** 2 * alpha * J * math.log(1 / J) ** (2 / L) / ((L + 1 / 2) * V**2)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_along_is_its_plain_arithmetic(depth):
    start, v, log_loss, times = moderate(depth)
    L, p, elapsed = depth, 4, np.exp(np.array([0.0, 9.0, -5.0]) - start.log_q)
    found = paths.along(start, v, log_loss, torch.as_tensor(np.log(elapsed)))
    hypotheses = start.hypotheses()
    for r in range(3):
        J1, V1, h, alpha, Q = known(start, r, times[r])
        J, V, gradient = plain(start, v, r)
        g, t = gradient.norm().item(), 1 + elapsed[r]
        expected = {
            "fallen": math.log(J1 / J),
            "log_loss": math.log(J),
            "log_t": math.log(t),
            "norm": V,
            "log_grad": math.log(g),
            "I1": math.log((J1 / J - 1) / (Q * (t - 1))),
            "I2": math.log(math.log(1 / J) / V**L * V1**L / math.log(1 / J1)),
            "I3": math.log(h / (1024 * (L + 1) ** 2 * p * V ** (3 * L + 5)) / (alpha * J)),
            "4.3": math.log(math.sqrt((L + 1) * p) * V ** (L + 1) * min(J, 1) / g),
            "4.5": math.log(g / ((L + 3 / 4) * J * math.log(1 / J) / V)),
        }
        assert set(found) == set(expected)
        for name, value in expected.items():
            assert found[name][r] == pytest.approx(value, rel=1e-9, abs=1e-10), name
        assert (found["I1"][r] >= 0) == (J1 / (Q * (t - 1) + 1) >= J)
        assert start.log_alpha[r] == pytest.approx(math.log(alpha)) and start.log_q[r] == pytest.approx(math.log(Q))
        h_max = min(L ** (L / 2 - 3) * math.log(1 / J1) / (24 * math.sqrt(p) * V1**L), 1)
        assert hypotheses["slack_h"][r] == pytest.approx(math.log(h_max / h))
        assert hypotheses["slack_loss"][r] == pytest.approx(math.log(3 ** -(1 + 24 * L) / J1))
    assert len(set(np.sign(found["I1"]))) == 2  # it can fail


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_probe_is_its_plain_arithmetic(depth):
    """Steps far beyond alpha_max, which plain numbers see."""
    start, v, log_loss, times = moderate(depth)
    L, p, net, data = depth, 4, start.network, start.data
    found = paths.probe(start, v, log_loss)
    for r in range(3):
        J1, _, h, alpha, _ = known(start, r, times[r])
        J, V, gradient = plain(start, v, r)
        lip = torch.linalg.eigvalsh(hessian(net, v, data, r)).abs().max().item()
        after = loss(net, v[r] - alpha * gradient, data.x[r], data.y[r], data.h[r]).item()
        decrease = alpha * L * gradient.norm().item() ** 2 / (L + 1 / 2)
        expected = {
            "4.2": math.log(256 * (L + 1) * math.sqrt(p) * V ** (3 * L + 5) * J / h / lip),
            "4.4": math.log((J - after) / decrease),
            "log_alpha_lip": math.log(alpha * lip),
        }
        assert set(found) == set(expected) and J < J1 and J - after > 1e-4 * J
        for name, value in expected.items():
            assert found[name][r] == pytest.approx(value, rel=1e-5, abs=1e-6), name


@pytest.mark.parametrize("share", [1.0, 1e4])
def test_a_step_that_raises_the_loss_fails_lemma_4_4(share):
    """By a little, or by more than a float can hold."""
    start, *_ = moderate(2, share)
    v = 2 * starts(start.network, 3)
    log_loss, g = start.network.gradient(v, start.data)
    after = v - g * torch.exp(torch.as_tensor(start.log_alpha) + log_loss)[:, None]
    rose = start.network.log_loss(after, start.data) > log_loss
    assert rose.any() and (paths.probe(start, v, log_loss)["4.4"][rose] == -math.inf).all()


def test_slack_of_theorem_3_1():
    start, *_ = moderate(2)
    for s, log_elapsed in ((1e-12, 0.0), (0.5, 20.0), (900.0, 700.0)):
        found = start.slack(np.full(3, s), np.full(3, log_elapsed))
        log_fall = math.log(math.expm1(s)) if s < 700 else s
        np.testing.assert_allclose(found, log_fall - start.log_q - log_elapsed, rtol=1e-13)
    assert (start.slack(np.zeros(3), np.zeros(3)) == -math.inf).all()  # a loss that has not fallen
    assert np.isnan(start.slack(-np.ones(3), np.zeros(3))).all()


def test_a_start_meets_the_hypotheses():
    net = Learner(4, 4, 2)
    v, data = at_threshold(net, sphere(2, 3, 4, 0.01))
    start = paths.Start.of(net, v, data, torch.ones(2).double())
    assert start.hypotheses()["slack_loss"] == pytest.approx(0.02 * 49 * math.log(3))
    assert start.hypotheses()["slack_h"] == pytest.approx(math.log(2), abs=1e-9)
    found = paths.along(start, v, torch.as_tensor(start.log_loss), torch.full((2,), -math.inf).double())
    assert found["I2"] == pytest.approx(0) and found["I3"] == pytest.approx(0, abs=1e-9)
    assert (found["4.3"] > 0).all() and (found["4.5"] > 0).all() and (found["log_t"] == 0).all()
    assert (paths.probe(start, v, torch.as_tensor(start.log_loss))["4.2"] > 0).all()


# exponents


def test_exponents_of_power_laws():
    """J = J_1 t^-a is a; the second half alone counts."""
    log_t = np.linspace(1, 50, 41)[:, None] + np.array([0.0, 3.0])
    fallen = np.array([1.0, 2.5]) * log_t - 0.3
    fallen[:15] = 0.0
    assert paths.exponent(fallen, log_t) == pytest.approx([1.0, 2.5])
    assert paths.exponent(np.where(log_t > 51, np.nan, fallen), log_t)[0] == pytest.approx(1.0)
    assert np.isnan(paths.exponent(np.where(log_t > 51, np.nan, fallen), log_t)[1])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_proof_exponent_is_the_integrals(depth):
    net, data = Learner(4, 4, depth), sphere(2, 3, 4, 0.1)
    start = paths.Start.of(net, fitted(net, data), data, torch.ones(2).double())
    fallen = np.linspace(0, 12, 9)[:, None] * np.array([1.0, 0.5])
    found = paths.proof_exponent(start, fallen)
    for r in range(2):
        ends = fallen[4, r], fallen[8, r]

        def slowness(u: float, r=r) -> float:
            return math.exp(u) / (u - start.log_loss[r]) ** (2 - 2 / depth)

        times = [math.log(quad(slowness, 0, s)[0]) for s in ends]
        assert found[r] == pytest.approx((ends[1] - ends[0]) / (times[1] - times[0]), rel=1e-6)
    fallen[-1, 0] = np.nan
    assert np.isnan(paths.proof_exponent(start, fallen)).tolist() == [True, False]
