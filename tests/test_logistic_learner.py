"""Paper D's networks in stacks: values, gradients and second derivatives against loops, autograd and 50 digits."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
import torch
from mpmath import mp, mpf
from torch import Tensor

from learnability.learners.logistic import LARGE, Data, Learner, log_losses, log_mean
from learnability.learners.smoothed import ACTIVATIONS
from learnability.training.descent import scaled
from logistic_cases import fitted, loss, outputs, parts, phi, preactivations, sphere, starts
from networks import normal

REPLICAS, N = 3, 5
SHAPES = [(4, 4, 1), (4, 4, 2), (3, 5, 2), (6, 2, 3)]  # d, width, depth
on_every = pytest.mark.parametrize(("shape", "activation"), list(itertools.product(SHAPES, ACTIVATIONS)))


def case(shape: tuple[int, int, int], activation: str, h: float = 0.7) -> tuple[Learner, Tensor, Data]:
    """Three networks with h of their own, some of whose preactivations lie in [0, h]."""
    net = Learner(*shape, activation)
    data = sphere(REPLICAS, N, shape[0], h)
    return net, 1.3 * starts(net, REPLICAS), Data(data.x, data.y, data.h * torch.tensor([1.0, 0.5, 2.0]))


def rows(v: Tensor, data: Data):
    return zip(v, data.x, data.y, data.h, strict=True)


@on_every
def test_forward_is_a_loop_over_neurons(shape, activation):
    net, v, data = case(shape, activation)
    margins = net.margins(v, data)
    for r, (weights, x, y, h) in enumerate(rows(v, data)):
        matrices = [matrix.tolist() for matrix in parts(net, weights)]
        for s in range(N):
            last = x[s].tolist()
            for layer, matrix in enumerate(matrices):
                u = [sum(a * b for a, b in zip(row, last, strict=True)) for row in matrix]
                last = u if layer == net.depth else [float(phi(activation, h.new_tensor(a), h)) for a in u]
            assert margins[r, s].item() == pytest.approx(y[s].item() * last[0], rel=1e-12, abs=1e-14)
        plain = [math.log(1 + math.exp(-m)) for m in margins[r].tolist()]
        assert net.log_loss(v, data)[r].item() == pytest.approx(math.log(sum(plain) / N), rel=1e-12)
    assert net.size == v.shape[1] == sum(matrix.numel() for matrix in net.matrices(v[:1]))


@on_every
def test_gradient_is_autograd_of_the_plain_loss(shape, activation):
    net, v, data = case(shape, activation)
    log_loss, gradient = net.gradient(v, data)
    for r, (weights, *of) in enumerate(rows(v, data)):
        mine = weights.clone().requires_grad_()
        value = loss(net, mine, *of)
        (expected,) = torch.autograd.grad(value, mine)
        assert log_loss[r].item() == pytest.approx(math.log(value.item()), rel=1e-12)
        torch.testing.assert_close(gradient[r] * value.detach(), expected, rtol=1e-11, atol=1e-13)
    for at in range(0, net.size, 3):
        step = torch.zeros_like(v)
        step[:, at] = 1e-6
        quotient = (net.log_loss(v + step, data) - net.log_loss(v - step, data)) / 2e-6
        torch.testing.assert_close(gradient[:, at], quotient, rtol=1e-6, atol=1e-7)


def test_2a_and_2b_at_two_layers():
    """Sigma_1 V_2^T Sigma_2 V_3^T x_0^T, Sigma_2 V_3^T x_1^T and x_2^T, with Sigma_l = diag(phi'(u_l))."""
    net, v, data = case((4, 4, 2), "huber")
    here = net.point(v, data)
    for r, (weights, x, y, h) in enumerate(rows(v, data)):
        v1, v2, v3 = parts(net, weights)
        value, total = loss(net, weights, x, y, h), 0.0
        for s in range(N):
            u1 = v1 @ x[s]
            x1 = phi("huber", u1, h)
            u2 = v2 @ x1
            x2 = phi("huber", u2, h)
            sigma1, sigma2 = torch.diag((u1 / h).clamp(0, 1)), torch.diag((u2 / h).clamp(0, 1))
            back1 = sigma1 @ v2.T @ sigma2 @ v3.T
            back2 = sigma2 @ v3.T
            grads = [torch.outer(back1[:, 0], x[s]), torch.outer(back2[:, 0], x1), x2[None, :]]
            f = (v3 @ x2).item()
            c = -y[s] / (1 + math.exp(y[s] * f)) / N
            total = total + c * torch.cat([g.flatten() for g in grads])
            torch.testing.assert_close(here.backs[0][r, s] * here.slopes[0][r, s], back1[:, 0])
            torch.testing.assert_close(here.backs[1][r, s] * here.slopes[1][r, s], back2[:, 0])
            assert here.c[r, s].item() == pytest.approx(c.item() / value.item(), rel=1e-12)
        torch.testing.assert_close(here.gradient[r], total / value, rtol=1e-12, atol=1e-14)


MARGINS = [-1e4, -800.0, -40.0, -20.5, -1.0, 0.0, 1e-9, 3.0, LARGE - 1e-9, LARGE + 1e-9, 25.0, 37.5, 800.0, 1e6]


def test_log_losses_of_any_margin():
    found = log_losses(torch.tensor(MARGINS, dtype=torch.float64)).tolist()
    with mpmath.workdps(50):
        for m, value in zip(MARGINS, found, strict=True):
            small = mp.exp(-mpf(m))
            true = -mpf(m) - small / 2 if m > 1000 else mp.log(mp.log1p(small))
            assert abs(value - true) <= 1e-15 * max(1, abs(true))
    logs = torch.tensor([[-5000.0, -5001.0], [-1.0, -900.0]], dtype=torch.float64)
    expected = [-5000 + math.log((1 + math.exp(-1)) / 2), -1 - math.log(2)]
    assert log_mean(logs).tolist() == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("activation", ["huber", "swish"])
def test_losses_below_the_least_float(activation):
    """Margins of about 800: J = 1e-350, its gradient's share in J still has its digits."""
    net, data = Learner(4, 4, 2, activation), sphere(REPLICAS, N, 4, 1.0)
    v, _ = scaled(net, fitted(net, data), data, -800.0, lambda norm: data.h)
    here = net.point(v, data)
    assert (here.margins > 700).all() and (torch.exp(here.log_loss) == 0).all()
    with mpmath.workdps(50):
        for r in range(REPLICAS):
            losses = [mp.log1p(mp.exp(-mpf(m))) for m in here.margins[r].tolist()]
            total = sum(losses)
            assert float(mp.log(total / N)) == pytest.approx(here.log_loss[r].item(), rel=1e-15)
            for m, y, c in zip(here.margins[r].tolist(), data.y[r].tolist(), here.c[r].tolist(), strict=True):
                assert c == pytest.approx(float(-y / (1 + mp.exp(mpf(m))) / total), rel=1e-11)
    for r, (weights, x, _, h) in enumerate(rows(v, data)):
        jacobian = torch.func.jacrev(lambda w, x=x, h=h: outputs(net, w, x, h))(weights)
        torch.testing.assert_close(here.gradient[r], here.c[r] @ jacobian, rtol=1e-10, atol=1e-12)
    change, log_loss = net.change(v, 1e-14 * here.gradient, data)
    torch.testing.assert_close(change, 1e-14 * here.gradient.square().sum(1), rtol=1e-8, atol=0)
    assert torch.equal(log_loss, here.log_loss)


@on_every
def test_a_stack_is_its_networks(shape, activation):
    net, v, data = case(shape, activation)
    here, gram = net.point(v, data), net.tangent_gram(v, data)
    step = 0.1 * normal(*v.shape, seed=4)
    change, curvatures = net.change(v, step, data)[0], net.curvatures(v, here, data, step)
    for r in range(REPLICAS):
        one = torch.tensor([r])
        own = data.rows(one)
        alone = net.point(v[one], own)
        torch.testing.assert_close(alone.log_loss[0], here.log_loss[r], rtol=1e-14, atol=0)
        torch.testing.assert_close(alone.gradient[0], here.gradient[r], rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(net.tangent_gram(v[one], own)[0], gram[r], rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(net.change(v[one], step[one], own)[0][0], change[r], rtol=1e-12, atol=1e-14)
        found = net.curvatures(v[one], alone, own, step[one])[0]
        torch.testing.assert_close(found, curvatures[r], rtol=1e-9, atol=1e-12)
    v[1] = math.nan
    assert net.gradient(v, data)[1].isfinite().all(1).tolist() == [True, False, True]


@on_every
def test_tangent_gram_is_of_each_samples_gradient(shape, activation):
    net, v, data = case(shape, activation)
    found = net.tangent_gram(v, data)
    for r, (weights, x, _, h) in enumerate(rows(v, data)):
        features = []
        for s in range(N):
            mine = weights.clone().requires_grad_()
            features.append(torch.autograd.grad(outputs(net, mine, x[s : s + 1], h)[0], mine)[0])
        features = torch.stack(features)
        torch.testing.assert_close(found[r], features @ features.T, rtol=1e-11, atol=1e-12)


def second(activation: str, u: Tensor, h: Tensor) -> Tensor:
    """phi'' by autograd."""
    mine = u.clone().requires_grad_()
    (slope,) = torch.autograd.grad(phi(activation, mine, h).sum(), mine, create_graph=True)
    return torch.autograd.grad(slope.sum(), mine)[0] if slope.requires_grad else torch.zeros_like(u)


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("activation", ["huber", "swish"])
@pytest.mark.parametrize("shape", SHAPES)
def test_curvatures(shape, activation, size):
    """c_s (d f / d x_l) phi'', or the slope of phi' over the way that a step has, if that is more."""
    net, v, data = case(shape, activation)
    here, step = net.point(v, data), size * normal(*v.shape, seed=4)
    found, one, more = net.curvatures(v, here, data, step), ACTIVATIONS[activation], 0
    assert found.shape == (REPLICAS, net.depth, N, net.width)
    for r, (weights, x, _, h) in enumerate(rows(v, data)):
        extra = torch.zeros(net.depth, N, net.width, dtype=torch.float64, requires_grad=True)
        (back,) = torch.autograd.grad(preactivations(net, weights, x, h, extra)[-1].sum(), extra)

        def of(w, x=x, h=h):
            return torch.stack(preactivations(net, w, x, h)[:-1])

        u, du = torch.func.jvp(of, (weights,), (step[r],))
        bend = second(activation, u, h)
        if size:
            secant = (one.slope(u + du, h) - one.slope(u, h)) / du
            more += int((secant > bend + 1e-6).sum())
            bend = torch.where(secant > bend, secant, bend)
        expected = here.c[r][None, :, None] * back * bend
        torch.testing.assert_close(found[r], expected, rtol=1e-8, atol=1e-9 * expected.abs().max().item())
    assert more > 0 or size < 1


@pytest.mark.parametrize("shape", SHAPES)
def test_directions_are_gradients_of_preactivations(shape):
    net, v, data = case(shape, "huber")
    every_u = net.depth * N * net.width
    picked = torch.stack([torch.randperm(every_u, generator=torch.Generator().manual_seed(r)) for r in range(3)])
    columns = net.directions(v, net.point(v, data), picked)
    r_, w = normal(*v.shape, seed=6), normal(*picked.shape, seed=7)
    gram, inner, combined = columns.gram(), columns.inner(r_), columns.combine(w, net.size)
    for r, (weights, x, _, h) in enumerate(rows(v, data)):

        def flat(weights, x=x, h=h):
            return torch.stack(preactivations(net, weights, x, h)[:-1]).flatten()

        a = torch.func.jacrev(flat)(weights)[picked[r]]  # (K, P)
        torch.testing.assert_close(gram[r], a @ a.T, rtol=1e-11, atol=1e-12)
        torch.testing.assert_close(inner[r], a @ r_[r], rtol=1e-11, atol=1e-12)
        torch.testing.assert_close(combined[r], w[r] @ a, rtol=1e-11, atol=1e-12)
        assert (combined[r, -net.width :] == 0).all()


@on_every
def test_change_is_the_losses_relative_difference(shape, activation):
    """At steps that plain numbers resolve; at tiny ones it is the gradient's, and 0 at none."""
    net, v, data = case(shape, activation)
    log_loss, gradient = net.gradient(v, data)
    for size in (1e-2, 1.0):
        step = size * normal(*v.shape, seed=4)
        found, at = net.change(v, step, data)
        assert torch.equal(at, log_loss)
        torch.testing.assert_close(found, torch.expm1(net.log_loss(v + step, data) - log_loss), rtol=1e-10, atol=0)
    tiny = 1e-40 * normal(*v.shape, seed=4)
    torch.testing.assert_close(net.change(v, tiny, data)[0], (gradient * tiny).sum(1), rtol=1e-12, atol=0)
    assert (net.change(v, 0 * tiny, data)[0] == 0).all()


def test_random_starts_are_section_3_2s():
    net = Learner(40, 300, 2)
    v1, v2, v3 = parts(net, net.init(torch.Generator().manual_seed(0)))
    assert (v1.shape, v2.shape, v3.shape) == ((300, 40), (300, 300), (1, 300))
    for matrix, variance in ((v1, 2 / 300), (v2, 2 / 300), (v3, 1.0)):
        entries = matrix.flatten() / math.sqrt(variance)
        assert abs(entries.mean()) < 5 / math.sqrt(len(entries))
        assert abs(entries.square().mean() - 1) < 5 * math.sqrt(2 / len(entries))
        assert abs(entries.pow(4).mean() - 3) < 5 * math.sqrt(96 / len(entries))
    np.testing.assert_array_equal(v1.flatten()[:3], net.init(torch.Generator().manual_seed(0))[:3])
