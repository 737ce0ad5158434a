"""Appendix A.1 of paper B: the network with fixed signs, W* by hand, the smallest norm there is."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from learnability.learners.base import Network
from learnability.learners.signed2 import Learner
from learnability.seeding import stream
from learnability.teachers.parity import Teacher
from learnability.theory import minimal_norm as theory
from learnability.training.minimal_norm import by_hand
from learnability.training.sgd import StepSchedule
from learnability.training.stack import Split, Stack, batch_orders, grid
from networks import normal, stacked, with_one


@pytest.fixture(scope="module")
def trained():
    return by_hand([error for _, error in theory.PRINTED])


def sampled_error(w: torch.Tensor, n: int = 20_000) -> tuple[float, float]:
    """E|F - y|^2 on fresh points in the paper's units, x in {+-1/sqrt d}^d, and its standard error."""
    d, m = w.shape
    x = normal(n, d, seed=7).sign() / math.sqrt(d)
    y = d**3 * x[:, :6].prod(-1)
    out = torch.relu(x @ (w * math.sqrt(d))) @ theory.signs(m)
    squares = (out - y).square()
    return squares.mean().item(), (squares.std() / math.sqrt(n)).item()


def test_network_is_the_papers_formula():
    network = Learner(d=6, k=1, width=10)
    p, x = stacked(network, 3), with_one(normal(3, 5, 6))
    assert p["W"].shape == (3, 6, 10) and network.trained == ("W",)
    a = p["A"][0, 0].numpy()
    np.testing.assert_allclose(np.abs(a), 10**-0.5, rtol=1e-6)
    assert (a > 0).sum() == 5 and (p["A"] == p["A"][0]).all()
    for r in range(3):
        expected = np.maximum(x[r, :, :6].numpy() @ p["W"][r].numpy(), 0) @ a
        np.testing.assert_allclose(network.forward(p, x)[r, :, 0], expected, rtol=1e-12)
    for k, width in ((2, 10), (1, 9)):
        with pytest.raises(ValueError, match="even width"):
            Learner(d=6, k=k, width=width)


def test_random_start_has_norm_sqrt_m():
    network = Learner(d=40, k=1, width=500, init_scale={"W": 2.0})
    w = network.init(torch.Generator().manual_seed(0))["W"]
    assert w.norm().item() == pytest.approx(2 * math.sqrt(500), rel=5 / math.sqrt(2 * w.numel()))


@pytest.mark.parametrize("decay", [0.0, 0.9])
def test_gradient_by_hand_is_autograds(decay):
    network = Learner(d=6, k=1, width=10)
    p, work = stacked(network, 3), {}
    for batch in (8, 8, 5):
        x, y = with_one(normal(3, batch, 6, seed=batch)), normal(3, batch, 1, seed=1)
        work[batch] = work.get(batch) or network.workspace(3, batch, x)
        ours, theirs = ({"W": normal(*p["W"].shape, seed=2)} for _ in range(2))
        residual = network.accumulate(p, x, y, ours, decay, work[batch])
        expected = Network.accumulate(network, p, x, y, theirs, decay, {})
        torch.testing.assert_close(residual, expected, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(ours["W"], theirs["W"], rtol=1e-12, atol=1e-12)


def test_units_of_the_paper_give_the_same_path_of_sgd():
    """x / sqrt d, W ~ N(0, 1), lr d and wd / d with torch.optim.SGD against the stack's own units."""
    d, n, lr, wd = 8, 30, 0.1, 0.02
    teacher = Teacher(d=d, k=1, alpha=0.0, f_degree=6, g_degree=1)
    x = teacher.inputs(n, stream("x")).double()
    y = teacher.base(x)
    stack = Stack(Learner(d=d, k=1, width=20), grid([0], [lr], [wd]), [0], batch=7, dtype=torch.float64)
    a, w = stack.A[0, 0].clone(), torch.nn.Parameter(stack.W[0].clone() * math.sqrt(d))
    split, ours = Split(with_one(x)[None], y[None], {}), stack.optimizer(0.9)
    plain = torch.optim.SGD([w], lr=lr * d, momentum=0.9, weight_decay=wd / d)
    for epoch in range(3):
        stack.run_epoch(split, ours, epoch, StepSchedule((3,)).factor(epoch))
        for rows in batch_orders(stack.seeds, epoch, n, torch.device("cpu"))[0].split(7):
            out = torch.relu(x[rows] / math.sqrt(d) @ w) @ a
            plain.zero_grad()
            (0.5 * (out - y[rows, 0]).square().mean()).backward()
            plain.step()
    torch.testing.assert_close(stack.W[0], w.data / math.sqrt(d), rtol=1e-10, atol=1e-10)


def test_trained_at_d_6_reaches_the_printed_norms(trained):
    for solution, (norm, error) in zip(trained, theory.PRINTED, strict=True):
        assert solution.w.shape == (6, 200) and solution.w.norm().item() == pytest.approx(solution.norm)
        assert theory.population_error(solution.w) == solution.error <= error
        assert theory.norm_bound(solution.error) < solution.norm < 1.01 * norm
    again = [by_hand([0.5], starts=1, steps=200, seed=3) for _ in range(2)]
    assert torch.equal(again[0][0].w, again[1][0].w)


@pytest.mark.parametrize("width", [200, 1000])
def test_padding_and_duplication_keep_norm_and_error(trained, width):
    for solution in trained:
        w = theory.pad(theory.widen(solution.w, width), 40)
        assert w.shape == (40, width)
        assert w.norm().item() == pytest.approx(solution.norm, rel=1e-12)
        assert theory.population_error(w) == pytest.approx(solution.error, rel=1e-9)
        mean, deviation = sampled_error(w)
        assert abs(mean - solution.error) < 5 * deviation + 1e-12


def test_padded_solution_in_a_stack(trained):
    """The same numbers from the network and the evaluation that SGD's solutions get."""
    teacher = Teacher(d=40, k=1, alpha=0.0, f_degree=6, g_degree=1)
    x = teacher.inputs(4000, stream("fresh")).double()
    stack = Stack(Learner(d=40, k=1, width=200), grid([0], [0.1], [0.0]), [0], batch=50, dtype=torch.float64)
    stack.A.copy_(theory.signs(200))
    stack.W.data[0] = theory.pad(trained[0].w, 40)
    measured = stack.evaluate(Split(with_one(x)[None], teacher.base(x)[None], {}))["error"].item()
    assert measured == pytest.approx(trained[0].error, rel=0.1)


@pytest.mark.parametrize("width", [64, 66, 96, 200, 320, 1000])
@pytest.mark.parametrize("error", [0.0, 0.12])
def test_smallest_attains_the_bound(error, width):
    w = theory.widen(theory.smallest(error), width)
    assert theory.population_error(w) == pytest.approx(error, abs=1e-12)
    growth = w.norm().item() / theory.norm_bound(error)
    m, whole = 64, width // 64
    part = (width - whole * m) / m  # share of the neurons with one copy more
    assert growth == pytest.approx(math.sqrt(width / m * ((1 - part) / whole + part / (whole + 1))), rel=1e-12)
    assert growth <= 3 / math.sqrt(8) + 1e-12 and (width % 64 or growth == pytest.approx(1.0))


@pytest.mark.parametrize("degree", [2, 4, 6, 8])
def test_correlation_is_the_integral_and_the_maximum(degree):
    value = abs(theory.signed_correlation(degree))
    points = theory.cube(degree)
    at_ones = torch.relu(points.sum(1)) @ points.prod(1) / len(points) / math.sqrt(degree)
    assert at_ones.item() == pytest.approx(theory.signed_correlation(degree), rel=1e-12)
    pieces = [quad(lambda s: np.sin(s) ** degree / s**2, j * np.pi, (j + 1) * np.pi)[0] for j in range(400)]
    tail = math.comb(degree, degree // 2) / 2**degree / (400 * np.pi)  # mean of sin^p over l^2
    assert value == pytest.approx((sum(pieces) + tail) / (np.pi * math.sqrt(degree)), rel=1e-5)
    w = normal(2000, degree + 2, seed=degree)  # two more coordinates do not help
    w /= w.norm(dim=1, keepdim=True)
    wide = theory.cube(degree + 2)
    found = torch.relu(wide @ w.T).T @ wide[:, :degree].prod(1) / len(wide)
    assert found.abs().max() < value
    error = theory.population_error(theory.smallest(0.2, degree), degree)
    assert error == pytest.approx(0.2, rel=1e-10)


def test_decay_has_its_minimum_on_the_bound():
    wd, scale = theory.decay_for(0.037), np.linspace(0, 2, 4001)
    w = theory.smallest(0.037)
    full = (1 - 0.037**0.5) * scale  # F = full y, by homogeneity
    loss = 0.5 * (1 - full) ** 2 + wd / 2 * (w.norm().item() * scale) ** 2
    assert scale[loss.argmin()] == pytest.approx(1.0, abs=1e-3)


def test_refusals():
    with pytest.raises(ValueError, match="cannot widen"):
        theory.widen(torch.ones(6, 64), 65)
    with pytest.raises(ValueError, match="more than the first 6"):
        theory.population_error(torch.ones(7, 64))
    with pytest.raises(ValueError, match="degree 5"):
        theory.norm_bound(0.1, degree=5)
