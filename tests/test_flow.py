"""The gradient flow against scipy's integrators, exact steps and itself; its linear algebra against dense ones."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import torch
from mpmath import mp, mpf
from scipy.integrate import solve_ivp
from torch import Tensor

from learnability.learners.logistic import Data, Learner
from learnability.training import flow
from learnability.training.descent import Descent
from logistic_cases import at_threshold, fitted, loss, preactivations, sphere, starts


def reference(net: Learner, v: Tensor, data: Data, fall: float, method: str, rtol: float):
    """V and J_1 times the flow's time as functions of s = log(J_1 / J), for one network:

    dV/ds = -g / |g|^2, d time / ds = 1 / (J |g|^2), with g = grad log J by autograd of the plain loss.
    """
    of = (data.x[0], data.y[0], data.h[0])
    first = loss(net, v[0], *of).log().item()

    def derivative(_, z: np.ndarray) -> np.ndarray:
        weights = torch.as_tensor(z[:-1]).clone().requires_grad_()
        log_loss = loss(net, weights, *of).log()
        (g,) = torch.autograd.grad(log_loss, weights)
        speed = g.square().sum().item()
        return np.append(-g.numpy() / speed, math.exp(first - log_loss.item()) / speed)

    start = np.append(v[0].numpy(), 0.0)
    return solve_ivp(derivative, (0, fall), start, method, rtol=rtol, atol=1e-12, dense_output=True).sol


def errors(net: Learner, v: Tensor, data: Data, exact, falls: list[float], rtol: float) -> tuple[float, float]:
    """The largest error of log time and of V / |V| where the loss has fallen so far or a little more."""
    state, first = flow.begin(net, v, data), net.log_loss(v, data)
    times, places = [], []
    for fall in falls:
        assert flow.advance(net, state, data, first - fall, rtol).all()
        *weights, time = exact((first - state.log_loss).item())
        times.append(abs((state.log_time + first).item() - math.log(time)))
        places.append(np.linalg.norm(weights - state.v[0].numpy()) / np.linalg.norm(weights))
    return max(times), max(places)


def held(net: Learner, v: Tensor, data: Data) -> int:
    """Preactivations inside of their layers."""
    u = torch.stack(net.layers(v, data)[0])
    return int(((u > 0) & (u < data.h[0])).sum())


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_smooth_flow_is_dop853s(depth):
    """log J against time while J falls by e^6; a finer one is a better one."""
    net, data = Learner(4, 4, depth, "swish"), sphere(1, 3, 4, 0.5)
    v = fitted(net, data, steps=40)
    exact = reference(net, v, data, 6.2, "DOP853", 1e-10)
    times, places = zip(*(errors(net, v, data, exact, [1.0, 6.0], r) for r in (1e-3, 1e-4, 1e-5)), strict=True)
    assert times[2] < 2e-4 and places[2] < 1e-5
    for found in (times, places):
        assert found[1] < found[0] / 2 and found[2] < found[1] / 2


def test_a_sliding_flow_is_a_stiff_integrators():
    """Preactivations on their kinks, h small but not too small for scipy."""
    net, data = Learner(5, 5, 2), sphere(1, 10, 5, 4e-3, seed=2)
    v = fitted(net, data, steps=300)
    exact = reference(net, v, data, 1.1, "LSODA", 1e-9)
    *weights, _ = exact(1.0)
    assert held(net, torch.tensor([weights]), data) >= 4
    coarse, fine = (errors(net, v, data, exact, [0.5, 1.0], rtol) for rtol in (1e-5, 1e-6))
    assert coarse[0] < 1e-3 and coarse[1] < 2e-5 and fine[0] < coarse[0] / 4


@pytest.mark.parametrize(("depth", "p"), [(2, 5), (3, 8), (2, 10)])
def test_a_sliding_flow_agrees_with_itself(depth, p):
    """h = 1e-4, where a plain integrator takes 1e5 steps: some hundreds for each unit of log J at most."""
    net, data = Learner(p, p, depth), sphere(1, 2 * p, p, 1e-4, seed=2)
    v = fitted(net, data, steps=300, draws=24)
    first, fall = net.log_loss(v, data), 3.0
    found = []
    for rtol in (1e-5, 1e-6):
        state = flow.begin(net, v, data)
        assert flow.advance(net, state, data, first - fall, rtol).all()
        assert state.tried.item() < 200 * fall and state.kept.item() > 0.5 * state.tried.item()
        assert 0 <= (first - fall - state.log_loss).item() < 2e-3
        found.append((state.log_time + state.log_loss - first).item())  # the loss may have fallen a little further
    assert held(net, state.v, data) >= 3
    assert found[0] == pytest.approx(found[1], abs=0.01)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(("activation", "h"), [("swish", 0.3), ("huber", 0.05)])
def test_time_is_that_of_exact_steps(activation, h, depth):
    """500 steps that lower log J by 0.7: t - 1 of the flow at the same loss."""
    net, data = Learner(4, 4, depth, activation), sphere(1, 3, 4, h)
    v = fitted(net, data, steps=100)
    first, g = net.gradient(v, data)
    log_alpha = math.log(2e-3) - first - 2 * g.norm(dim=1).log()
    descent, state = Descent(net, v, data, log_alpha), flow.begin(net, v, data)
    for _ in range(500):
        descent.step()
    fall = -descent.log_ratio()
    assert 0.5 < fall.item() < 1.5
    assert flow.advance(net, state, data, first - fall, 1e-6).all()
    assert (state.log_time - log_alpha).exp().item() == pytest.approx(500, rel=2e-3)
    assert torch.norm(state.v - descent.v) < 2e-3 * torch.norm(v - descent.v)


def test_latest_is_kept():
    net, data = Learner(4, 4, 2), sphere(3, 3, 4, 1e-3)
    v = fitted(net, data, steps=40)
    first, g = net.gradient(v, data)
    latest = -first - 2 * g.norm(dim=1).log() + torch.tensor([3.0, 6.0, 30.0])
    state = flow.begin(net, v, data)
    arrived = flow.advance(net, state, data, first - 1e6, 1e-4, latest=latest)
    assert not arrived.any() and ((state.log_time - latest).abs() <= 2 * flow.NEAR).all()
    before, tried = state.v.clone(), state.tried.clone()
    flow.advance(net, state, data, first - 1e6, 1e-4, latest=latest)
    assert torch.equal(state.v, before) and torch.equal(state.tried, tried)
    assert flow.advance(net, state, data, state.log_loss + 1, 1e-4, latest=latest).all()  # it is there already


def test_replicas_do_not_mix():
    """Each goes to a mark of its own, at its own pace, with neighbours that slide, end early or are lost."""
    net, data = Learner(5, 5, 2), sphere(4, 6, 5, 0.02)
    data = Data(data.x, data.y, torch.tensor([0.02, 1e-4, 1.0, 0.02], dtype=torch.float64))
    v = fitted(net, data, steps=100)
    v[3] = math.nan
    until = net.log_loss(v, data) - torch.tensor([1.0, 3.0, 0.3, 1.0])
    whole = flow.begin(net, v, data)
    assert flow.advance(net, whole, data, until, 1e-4).tolist() == [True, True, True, False]
    assert len(whole.tried[:3].unique()) == 3
    for r in range(3):
        one = torch.tensor([r])
        alone = flow.begin(net, v[one], data.rows(one))
        flow.advance(net, alone, data.rows(one), until[one], 1e-4)
        assert alone.tried.item() == whole.tried[r].item()
        for name, value in alone.tensors().items():
            torch.testing.assert_close(value[0], whole.tensors()[name][r], rtol=1e-6, atol=1e-9)


def test_steps_that_are_too_long_are_taken_back():
    net, data = Learner(4, 4, 2, "swish"), sphere(1, 3, 4, 0.5)
    v = fitted(net, data, steps=40)
    first, found = net.log_loss(v, data), []
    for step in (1e-4, 3.0):
        state = flow.begin(net, v, data, step)
        assert flow.advance(net, state, data, first - 3, 1e-5).all()
        found.append((state.log_time + state.log_loss - first).item())
    assert found[0] == pytest.approx(found[1], abs=1e-3) and state.kept < state.tried
    again = flow.begin(net, v, data, 3.0)
    flow.advance(net, again, data, first - 3, 1e-5, most=1)
    assert (again.tried, again.kept, again.log_time) == (1, 0, -math.inf) and torch.equal(again.v, v)
    assert 3 * flow.SLOWEST <= again.step.item() < 3


def test_marks_on_the_way_change_little():
    net, data = Learner(5, 5, 2), sphere(1, 10, 5, 1e-3, seed=2)
    v = fitted(net, data, steps=300)
    first, found = net.log_loss(v, data), []
    for marks in (1, 10):
        state = flow.begin(net, v, data)
        for k in range(marks):
            assert flow.advance(net, state, data, first - 3 * (k + 1) / marks, 1e-6).all()
        found.append((state.log_time + state.log_loss - first).item())
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def test_a_mark_one_bit_away_is_reached():
    """Steps of one bit of log J would be lost in rounding V."""
    net = Learner(5, 5, 2)
    v, data = at_threshold(net, sphere(6, 5, 5, 1e-3, seed=10))
    state = flow.begin(net, v, data)
    for _ in range(5):
        below = torch.nextafter(state.log_loss, state.log_loss - 1)
        tried = state.tried.clone()
        assert flow.advance(net, state, data, below, 1e-5, 10**4).all()
        assert (state.tried - tried <= 2).all()


@pytest.mark.parametrize("activation", ["huber", "relu"])
def test_what_cannot_arrive_says_so(activation):
    """One point with both labels has J >= log(2) / 2 here; a dead network does not move at all."""
    net, data = Learner(4, 4, 2, activation), sphere(3, 4, 4, 0.3)
    data.x[0, 1] = data.x[0, 0]
    v = torch.cat([starts(net, 1), fitted(net, data.rows(torch.tensor([1]))), -starts(net, 1).abs()])
    data.x[2] = data.x[2].abs()
    until = net.log_loss(v, data) - torch.tensor([10.0, 0.1, 1.0])
    state = flow.begin(net, v, data)
    assert flow.advance(net, state, data, until, 1e-5, most=150).tolist() == [False, True, False]
    assert (state.tried <= 150).all() and (state.tried[0] == 150 or state.step[0] < flow.LEAST_STEP)
    assert state.step[2] < flow.LEAST_STEP and torch.equal(state.v[2], v[2]) and state.kept[2] == 0
    assert state.log_loss[0] >= math.log(math.log(2) / 2) and state.log_loss.isfinite().all()
    torch.testing.assert_close(state.log_loss, net.log_loss(state.v, data))


def test_log_mean_exp_is_its_integral():
    x = [0.0, 1e-15, 1e-9, 1e-5, 0.3, 1.0, 40.0, 800.0, 1e5]
    x += [-a for a in x]
    found = flow.log_mean_exp(torch.tensor(x, dtype=torch.float64)).tolist()
    with mpmath.workdps(40):
        for a, value in zip(x, found, strict=True):
            true = mp.log(mpmath.expm1(mpf(a)) / mpf(a)) if a else mpf(0)
            assert abs(value - true) <= 1e-12 + 1e-15 * abs(true)


def dense(net: Learner, v: Tensor, data: Data, r: int) -> Tensor:
    """A of one replica: gradients of all preactivations by autograd, (L n p, P)."""

    def flat(weights: Tensor) -> Tensor:
        return torch.stack(preactivations(net, weights, data.x[r], data.h[r])[:-1]).flatten()

    return torch.func.jacrev(flat)(v[r])


@pytest.mark.parametrize("activation", ["huber", "swish"])
def test_solver_is_a_dense_inverse(activation):
    """(I + c sum kappa grad u grad u^T)^-1 r over kappa > 0 that are not negligible; replicas with few and many."""
    net, data = Learner(4, 5, 2, activation), sphere(4, 6, 4, 0.5)
    data = Data(data.x, data.y, torch.tensor([0.5, 0.01, 2.0, 1e-9], dtype=torch.float64))
    v, r = starts(net, 4), starts(net, 4, seed=9)
    here, c = net.point(v, data), torch.tensor([0.1, 1e-3, 30.0, 0.1], dtype=torch.float64)
    found = flow.Solver(net, v, here, data, c)(r)
    kappa = net.curvatures(v, here, data, -(c / flow.GAMMA)[:, None] * here.gradient).flatten(1)
    used = []
    for i in range(4):
        a, k = dense(net, v, data, i), kappa[i].where(kappa[i] > flow.NEGLIGIBLE * kappa[i].max(), 0.0)
        system = torch.eye(net.size).double() + c[i] * (a.T * k) @ a
        torch.testing.assert_close(found[i], torch.linalg.solve(system, r[i]), rtol=1e-7, atol=1e-9)
        used.append(int((k > 0).sum()))
    assert len(set(used)) > 2 and (found[0] - r[0]).norm() > 1e-3


def test_a_step_is_the_papers_two_stages():
    """Verwer, Spee, Blom, Hundsdorfer (1999), with explicit matrices; its error is what order 1 leaves out."""
    net, data = Learner(4, 4, 2), sphere(2, 5, 4, 0.3)
    v, tau = starts(net, 2), torch.tensor([0.02, 0.1], dtype=torch.float64)
    here = net.point(v, data)
    new, error = flow.rosenbrock(net, v, here, data, tau)
    kappa = net.curvatures(v, here, data, -tau[:, None] * here.gradient).flatten(1)
    for i in range(2):
        a, t, gamma = dense(net, v, data, i), tau[i], 1 - math.sqrt(0.5)
        w = -(a.T * kappa[i].where(kappa[i] > 1e-4 * kappa[i].max(), 0.0)) @ a
        system = torch.eye(net.size).double() - gamma * t * w
        one = torch.tensor([i])

        def force(weights: Tensor, one=one) -> Tensor:
            return -net.gradient(weights[None], data.rows(one))[1][0]

        k1 = torch.linalg.solve(system, force(v[i]))
        k2 = torch.linalg.solve(system, force(v[i] + t * k1) - 2 * k1)
        torch.testing.assert_close(new[i], v[i] + t * (3 * k1 + k2) / 2, rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(error[i], new[i] - v[i] - t * k1, rtol=1e-6, atol=1e-10)
        assert (w != 0).any()
