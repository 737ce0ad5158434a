"""The exact margin of Assumption 3.2 against other solvers and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import SVC

from learnability.kernels import margin as module
from learnability.kernels.margin import Margin, hard_margin, hard_margins
from learnability.seeding import stream
from learnability.teachers.sphere import Teacher
from margin_cases import gradient_gram, net, normal


def of(features: torch.Tensor, y) -> Margin:
    """Margin of explicit features (n, P)."""
    return hard_margin(features @ features.T, torch.as_tensor(y, dtype=torch.float64))


def by_svc(features: np.ndarray, y: np.ndarray) -> float:
    """1 / |w| of a support vector machine. Each point comes with its mirror image, (-g, -y), which makes the
    intercept 0 without changing the constraints on w.
    """
    g, signs = np.concatenate([features, -features]), np.concatenate([y, -y])
    machine = SVC(kernel="precomputed", C=1e10, tol=1e-9).fit(g @ g.T, signs)
    w = machine.dual_coef_[0] @ g[machine.support_]
    return 1 / np.linalg.norm(w)


def by_slsqp(features: np.ndarray, y: np.ndarray) -> float:
    """1 / |w| of min |w|^2 with y_s <g_s, w> >= 1 for all s."""
    rows = y[:, None] * features
    start = np.linalg.lstsq(rows, np.ones(len(y)), rcond=None)[0]
    bounds = {"type": "ineq", "fun": lambda w: rows @ w - 1, "jac": lambda w: rows}
    found = minimize(
        lambda w: w @ w / 2, start, jac=lambda w: w, constraints=[bounds], options={"ftol": 1e-14, "maxiter": 1000}
    )
    assert found.success, found.message
    return 1 / np.linalg.norm(found.x)


def problem(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Features and labels that some w separates: half of the problems by dimension, half by construction."""
    n = 5 + 3 * seed
    if seed % 2:
        return normal(n, n + 10, seed=seed), normal(n, seed=100 + seed).sign()
    features = normal(n, 8, seed=seed)
    y = features[:, 0].sign()
    features[:, 0] += 0.3 * y
    return features, y


def assert_sound(found: Margin, features: torch.Tensor, y: torch.Tensor) -> None:
    """Both bounds as the features themselves have them."""
    a = found.weights
    assert (a >= 0).all() and a.sum().item() == pytest.approx(1, abs=1e-12)
    w = (a * y) @ features
    assert found.value == pytest.approx(w.norm().item(), rel=1e-7)
    attained = (y * (features @ w)).min() / w.norm()
    assert found.certified == pytest.approx(attained.item(), rel=1e-7)
    assert found.certified <= found.value and found.gap < 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_against_other_solvers(seed):
    features, y = problem(seed)
    found = of(features, y)
    assert_sound(found, features, y)
    assert found.value == pytest.approx(by_svc(features.numpy(), y.numpy()), rel=1e-4)
    if features.shape[1] < 40:
        assert found.value == pytest.approx(by_slsqp(features.numpy(), y.numpy()), rel=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**20))
def test_orthonormal_features(n, seed):
    """Q = I: a = 1/n and the margin is 1 / sqrt(n), whatever the labels."""
    found = hard_margin(torch.eye(n), fair(n, seed))
    assert found.value == pytest.approx(1 / math.sqrt(n), rel=1e-6)
    torch.testing.assert_close(found.weights, torch.full((n,), 1 / n, dtype=torch.float64))
    orthogonal = torch.linalg.qr(normal(n, n, seed=seed)).Q
    assert of(orthogonal, fair(n, seed)).certified == pytest.approx(1 / math.sqrt(n), rel=1e-10)


def fair(n: int, seed: int) -> torch.Tensor:
    return normal(n, seed=seed + 1).sign()


@settings(max_examples=60, deadline=None)
@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.01, 3.1), st.sampled_from([(1, 1), (1, -1), (-1, -1)]))
def test_two_points(first, second, angle, y):
    """Distance of the origin from a segment: its line's distance, or its nearer end's."""
    g = torch.tensor([[first, 0.0], [second * math.cos(angle), second * math.sin(angle)]], dtype=torch.float64)
    p, q = y[0] * g[0], y[1] * g[1]
    t = ((p @ (p - q)) / ((p - q) @ (p - q))).clamp(0, 1)
    found = of(g, y)
    assert found.value == pytest.approx((p + t * (q - p)).norm().item(), rel=1e-6, abs=1e-6)
    assert found.gap < 1e-6


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 19), st.floats(1e-6, 1e6), st.integers(0, 100))
def test_what_the_margin_does_not_depend_on(seed, scale, order):
    """Scale comes out as a factor; order, repeated points and a common change of signs do not matter."""
    features, y = problem(seed)
    found = of(features, y).value
    assert of(scale * features, y).value == pytest.approx(scale * found, rel=1e-9)
    moved = torch.randperm(len(y), generator=stream("order", order))
    assert of(features[moved], y[moved]).value == pytest.approx(found, rel=1e-9)
    assert of(features, -y).value == pytest.approx(found, rel=1e-9)
    twice = of(torch.cat([features, features[:5]]), torch.cat([y, y[:5]]))
    assert twice.value == pytest.approx(found, rel=1e-9) and twice.gap < 1e-6
    assert of(features[:-1], y[:-1]).value >= found * (1 - 1e-9)  # fewer demands


@pytest.mark.parametrize("apart", [1e-1, 1e-2, 1e-3, 1e-4])
def test_points_that_almost_collide(apart):
    """n / 2 orthogonal pairs e_j +- (apart / 2) f_j of opposite labels: y g = +-e_j + (apart / 2) f_j, so a = 1/n
    leaves (apart / 2) sum_j f_j 2/n, of norm apart / sqrt(2n).
    """
    n = 128
    e, f = torch.eye(n, dtype=torch.float64).split(n // 2)
    features = torch.stack([e + apart / 2 * f, e - apart / 2 * f], dim=1).flatten(0, 1)
    y = torch.tensor([1.0, -1.0]).repeat(n // 2)
    rotation = torch.linalg.qr(normal(n, n)).Q
    found = of(features @ rotation, y)
    assert found.value == pytest.approx(apart / math.sqrt(2 * n), rel=1e-6)
    assert found.gap < 1e-6 and found.resolution < found.value / 20


def test_near_collinear_features_of_one_label():
    features = torch.ones(30, 20, dtype=torch.float64) + 1e-6 * normal(30, 20)
    found = of(features, torch.ones(30))
    assert_sound(found, features, torch.ones(30, dtype=torch.float64))
    assert 0 < math.sqrt(20) - found.value < 1e-5


@pytest.mark.parametrize("n", [2, 10, 200])
def test_one_point_with_both_labels(n):
    features = normal(n, 2 * n)
    features[-1] = features[0]
    y = fair(n, 0)
    y[-1] = -y[0]
    found = of(features, y)
    assert (found.value, found.certified, found.gap) == (0.0, 0.0, 0.0)
    assert 0 < found.resolution < 1e-5 * features.norm(dim=1).max()
    w = (found.weights * y) @ features
    assert w.norm() < found.resolution  # the weights show that no direction separates
    y[-1] = y[0]
    assert of(features, y).value > 0.1  # and so not for its sameness alone


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 4), st.integers(0, 2**20))
def test_more_random_signs_than_dimensions_are_inseparable(dimension, seed):
    found = of(normal(60, dimension, seed=seed), fair(60, seed))
    assert (found.value, found.certified, found.gap) == (0.0, 0.0, 0.0)


def test_features_that_vanish():
    for n in (1, 4):
        found = hard_margin(torch.zeros(n, n), torch.ones(n))
        assert (found.value, found.certified, found.gap) == (0.0, 0.0, 0.0)
        assert found.weights.sum().item() == pytest.approx(1)
    assert hard_margin(torch.tensor([[9.0]]), -torch.ones(1, 1)).value == pytest.approx(3)


@pytest.mark.parametrize("points", ["random", "halfspace", "clustered", "colliding"])
def test_gradients_on_the_sphere(points):
    """A net's gradients on each kind of data at n = 200: both bounds agree, and colliding data has least."""
    teacher = Teacher(d=20, points=points, radius=0.05, gap=0.01).of_seed(0)
    x = teacher.inputs(200, stream("x", 0))
    y = teacher.labels(x, stream("noise", 0))
    v1, v2 = net(1024, 20, seed=1)
    found = hard_margin(gradient_gram(v1, v2, x, h=0.001), y)
    assert found.gap < 1e-6 and found.value > 100 * found.resolution
    gamma = found.value / math.sqrt(1024)
    low, high = {"colliding": (1e-4, 2e-3), "clustered": (0.3, 1.0)}.get(points, (0.02, 0.2))
    assert low < gamma < high


def test_a_matrix_in_single_precision_resolves_less():
    features, y = problem(3)
    double, single = of(features, y), of(features.float(), y)
    assert single.value == pytest.approx(double.value, rel=1e-5)
    assert single.resolution > 1e4 * double.resolution
    near = torch.tensor([[1.0, 0.0], [1.0, 1e-5]], dtype=torch.float64)
    assert of(near, (1, -1)).value == pytest.approx(5e-6, rel=1e-4)
    assert of(near.float(), (1, -1)).value == 0


def test_a_solver_that_fails_leaves_honest_bounds(monkeypatch):
    features, y = problem(3)
    good = of(features, y)

    def out_of_steps(*_, **__):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(module, "nnls", out_of_steps)
    found = of(features, y)
    assert 0 <= found.certified <= good.certified < good.value <= found.value and found.gap > 1e-3


def test_a_stack_is_its_members():
    problems = [problem(seed) for seed in (4, 4, 6)]
    problems[1] = (2 * problems[1][0], -problems[1][1])
    problems[2] = tuple(t[:17] for t in problems[2])
    grams = torch.stack([features @ features.T for features, _ in problems])
    found = hard_margins(grams, torch.stack([y[:, None] for _, y in problems]))
    assert [one.value for one in found] == [of(*one).value for one in problems]
    assert found[1].value == pytest.approx(2 * found[0].value)


@pytest.mark.parametrize(
    ("gram", "y", "complaint"),
    [
        (torch.eye(3), torch.ones(2), "2 labels need"),
        (torch.ones(0, 0), torch.ones(0), "0 labels need"),
        (torch.eye(2), torch.tensor([1.0, 0.0]), "labels must be"),
        (torch.tensor([[1.0, math.nan], [0.0, 1.0]]), torch.ones(2), "not finite"),
        (torch.tensor([[1.0, 2.0], [2.0, 1.0]]), torch.ones(2), "not a Gram matrix"),
        (-torch.eye(2), torch.ones(2), "not a Gram matrix"),
    ],
)
def test_what_is_no_gram_matrix_is_refused(gram, y, complaint):
    with pytest.raises(ValueError, match=complaint):
        hard_margin(gram, y)
