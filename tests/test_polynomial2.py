"""Two-layer networks with free polynomials: design matrix, variable projection, what they can and cannot fit."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from learnability.training.polynomial2 import Machine, fit_seed, solve
from learnability.training.stack import Replica, Split
from networks import normal

D = 4
REPLICA = Replica(0, 0.1, 1e-12)


def machine(width: int = 2, degree: int = 3, with_squares: bool = False, d: int = D) -> Machine:
    return Machine(width, degree, d, with_squares, torch.ones(d, dtype=torch.float64))


def splits(target, seeds: int = 1, n: int = 200, d: int = D) -> dict[str, Split]:
    """Gaussian inputs beside the constant 1, labels by ``target``."""
    found = {}
    for i, name in enumerate(("train", "val", "test")):
        x = normal(seeds, n, d, seed=i)
        found[name] = Split(torch.cat([x, torch.ones_like(x[..., :1])], dim=-1), target(x)[..., None], {})
    return found


def test_inputs_are_x_and_its_centred_squares():
    x = normal(7, D + 1)
    assert torch.equal(machine().inputs(x), x[:, :D])  # without the constant
    z = machine(with_squares=True).inputs(x)
    assert torch.equal(z, torch.cat([x[:, :D], x[:, :D] ** 2 - 1], dim=1)) and z.dtype == torch.float64
    assert machine().inputs(x.float()).dtype == torch.float64


def test_features_are_normalised_hermite_polynomials():
    m, z, scale = machine(3, 6), normal(50, D), normal(D, seed=1).abs() + 0.5
    w = normal(3, D, seed=2)
    phi = m.features(w, z, scale)
    t = ((z / scale) @ (w / w.norm(dim=1, keepdim=True)).T).numpy()
    assert phi.shape == (50, 1 + 3 * 6) and (phi[:, 0] == 1).all()
    for p in range(1, 7):
        he = np.polynomial.hermite_e.hermeval(t, [0] * p + [1]) / math.sqrt(math.factorial(p))
        np.testing.assert_allclose(phi[:, 1 + 3 * (p - 1) : 1 + 3 * p], he, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(m.features(5 * w, z, scale), phi)  # the length of w does not matter


def test_the_solution_is_that_of_least_squares():
    phi, y = torch.cat([torch.ones(60, 1).double(), normal(60, 7)], dim=1), normal(60, seed=3)
    expected = np.linalg.lstsq(phi.numpy(), y.numpy(), rcond=None)[0]
    np.testing.assert_allclose(solve(phi, y, 0.0), expected, rtol=1e-8, atol=1e-10)
    penalty = math.sqrt(60 * 0.3) * np.eye(8)
    penalty[0] = 0.0  # the constant is free
    rows, labels = np.vstack([phi.numpy(), penalty]), np.concatenate([y.numpy(), np.zeros(8)])
    ridge = solve(phi, y, 0.3)
    np.testing.assert_allclose(ridge, np.linalg.lstsq(rows, labels, rcond=None)[0], rtol=1e-8, atol=1e-10)
    lifted = solve(phi, y + 7, 0.3)
    assert lifted[0].item() == pytest.approx(ridge[0].item() + 7) and torch.allclose(lifted[1:], ridge[1:])


@pytest.mark.parametrize("wd", [0.0, 0.05])
def test_the_gradient_of_the_projected_objective_is_its_partial_one(wd):
    """V(w) = min_c (1/N) ||y - Phi(w) c||^2 + wd ||c||^2 against finite differences: the envelope theorem."""
    m, z, y, scale = machine(3, 4), normal(40, D), normal(40, seed=3), torch.ones(D, dtype=torch.float64)

    def value(w: torch.Tensor) -> float:
        phi = m.features(w, z, scale)
        c = solve(phi, y, wd)
        return ((y - phi @ c).square().mean() + wd * c[1:].square().sum()).item()

    w = normal(3, D, seed=2).requires_grad_()
    phi = m.features(w, z, scale)
    (y - phi @ solve(phi.detach(), y, wd)).square().mean().backward()
    assert w.grad.norm() > 0.01
    for i in range(3):
        for j in range(D):
            step = torch.zeros(3, D, dtype=torch.float64)
            step[i, j] = 1e-6
            slope = (value(w.detach() + step) - value(w.detach() - step)) / 2e-6
            assert w.grad[i, j].item() == pytest.approx(slope, rel=1e-5, abs=1e-7)


def two_neurons(x: torch.Tensor) -> torch.Tensor:
    """1 + sum_i sigma_i(<w_i, x> + b_i) of degree 3, two directions that are no axes."""
    a, b = normal(2, D, seed=9)
    return 1 + (x @ a + 0.3) ** 3 - 2 * (x @ b - 0.5) ** 2


def best(m: Machine, data: dict[str, Split]):
    """The best of three starts: some end in a local minimum."""
    return min(
        (fit_seed(m, data, 0, Replica(s, 0.1, 1e-12), 200) for s in range(3)), key=lambda f: f.errors["train"]
    )


def test_a_target_of_its_own_kind_is_fitted():
    data = splits(two_neurons, n=300)
    found, size = best(machine(2, 3), data), data["test"].y.var().item()
    assert set(found.errors) == {"train", "val", "test"} and max(found.errors.values()) < 1e-6 * size
    assert found.w.shape == (2, D) and found.c.shape == (1 + 2 * 3,)
    true = torch.nn.functional.normalize(normal(2, D, seed=9), dim=1)
    overlap = (torch.nn.functional.normalize(found.w, dim=1) @ true.T).abs()
    torch.testing.assert_close(overlap.max(0).values, torch.ones(2, dtype=torch.float64), rtol=0, atol=1e-4)
    assert min(best(machine(1, 3), data).errors.values()) > 1e-2 * size  # one neuron is too few
    assert min(best(machine(2, 2), data).errors.values()) > 1e-2 * size  # and degree 2 too low


def test_squares_of_inputs_help_a_target_of_degree_four():
    """(x_1^2 + x_2^2 + x_3^2 + x_4^2)^2: one neuron of degree 2 in (x, x^2), not in x."""
    data = splits(lambda x: x.square().sum(-1).square(), n=300)
    size = data["test"].y.var().item()
    assert fit_seed(machine(1, 2, True), data, 0, REPLICA, 300).errors["test"] < 1e-6 * size
    assert fit_seed(machine(1, 4, False), data, 0, REPLICA, 100).errors["test"] > 0.1 * size


def test_what_is_returned_gives_the_errors_and_is_solved_for():
    """From w and c alone, with unequal scales of the inputs; c is the ridge solution at w."""
    data = splits(lambda x: (x @ torch.tensor([1.0, 0.1, 2.0, 0.5], dtype=torch.float64)).cos(), seeds=2)
    data = {name: Split(s.x * torch.tensor([1.0, 5.0, 0.2, 1.0, 1.0]), s.y, {}) for name, s in data.items()}
    m, row = machine(3, 4), 1
    found = fit_seed(m, data, row, Replica(5, 0.05, 1e-3), 20)
    scale = data["train"].x[row, :, :D].std(0)
    torch.testing.assert_close((found.w * scale).norm(dim=1), torch.ones(3, dtype=torch.float64))
    for name, split in data.items():
        phi = m.features(found.w * scale, split.x[row, :, :D], scale)
        error = (split.y[row, :, 0] - phi @ found.c).square().mean().item()
        assert error == pytest.approx(found.errors[name], rel=1e-10)
        if name == "train":
            torch.testing.assert_close(found.c, solve(phi, split.y[row, :, 0], 1e-3))
    other = fit_seed(m, data, 0, Replica(5, 0.05, 1e-3), 20)
    assert other.errors["train"] != found.errors["train"]


def test_training_the_directions_helps_and_starts_by_the_seed():
    data = splits(two_neurons)
    start, again, other = (fit_seed(machine(2, 3), data, 0, Replica(s, 0.1, 1e-12), 1) for s in (0, 0, 1))
    assert torch.equal(start.w, again.w) and start.errors == again.errors
    assert not torch.allclose(start.w, other.w)
    assert fit_seed(machine(2, 3), data, 0, REPLICA, 100).errors["val"] < 0.1 * start.errors["val"]
