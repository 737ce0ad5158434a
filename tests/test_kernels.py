"""Exact ridge against scikit-learn and explicit Jacobians, and SGD against exact ridge."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from kernel_cases import normal
from learnability import learners
from learnability.kernels.features import TangentFeatures, solve_last, solve_tangent
from learnability.kernels.ridge import ridge_dense, ridge_krylov
from learnability.learners.base import Network
from learnability.learners.linearised import linearise
from learnability.training.closed_form import solve_seed
from learnability.training.stack import Split, Stack, grid

NETWORKS = ("resnet3", "layer3", "layer2")
WDS = [1e-3, 0.01, 0.3]


def problem(n: int, d: int, k: int, seeds: int = 1) -> Split:
    x = torch.cat([normal(seeds, n, d, seed=3), torch.ones(seeds, n, 1)], dim=-1)
    y = x[..., :k] * x[..., 1:2] + 0.3 * normal(seeds, n, k, seed=4)
    return Split(x, y, {})


def start_of(network: Network, seed: int = 0) -> dict[str, torch.Tensor]:
    start = network.init(torch.Generator().manual_seed(seed))
    return {name: value.double() for name, value in start.items()}


def jacobian(network: Network, start: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """d out / d(hidden weights) by reverse mode, every entry: (n, k, P)."""

    def out(trained: dict[str, torch.Tensor]) -> torch.Tensor:
        stacked = {name: value[None] for name, value in {**start, **trained}.items()}
        return network.forward(stacked, x[None])[0]

    parts = torch.func.jacrev(out)({name: start[name] for name in network.trained})
    return torch.cat([parts[name].flatten(2) for name in network.trained], dim=-1)


def normal_equations(phi: torch.Tensor, y: torch.Tensor, n: int, w: float) -> torch.Tensor:
    """(Phi^T Phi + N w)^-1 Phi^T y."""
    return torch.linalg.solve(phi.T @ phi + n * w * torch.eye(phi.shape[1]).double(), phi.T @ y)


def gradient(phi: torch.Tensor, y: torch.Tensor, n: int, w: float, theta: torch.Tensor):
    """Of (1/2N) ||Phi theta - y||^2 + (w/2) ||theta||^2."""
    return phi.T @ (phi @ theta - y) / n + w * theta


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return ((a - b).norm() / b.norm()).item()


@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (20, 20)], ids=["primal", "dual", "square"])
def test_dense_ridge_is_scikit_learns(shape):
    n, p = shape
    phi, y = normal(n, p), normal(n, 3, seed=1)
    path = ridge_dense(phi, y, WDS)
    assert path.shape == (len(WDS), p, 3)
    for w, theta in zip(WDS, path, strict=True):
        peer = Ridge(alpha=n * w, fit_intercept=False, solver="cholesky").fit(phi, y)
        np.testing.assert_allclose(theta.T, peer.coef_, rtol=1e-8, atol=1e-8)
        assert gradient(phi, y, n, w, theta).norm() < 1e-11


def test_dense_ridge_is_paper_b_3_1():
    """beta of (3.1) with lambda = w: the kernel form gives the same predictions on new points."""
    phi, new, y, n, w = normal(15, 30), normal(5, 30, seed=8), normal(15, 2, seed=1), 15, 0.02
    kernel = phi @ phi.T
    beta = torch.zeros(15, 2, dtype=torch.float64, requires_grad=True)
    fit = (kernel @ beta - y).square().sum() / n + w * (beta.T @ kernel @ beta).trace()
    (slope,) = torch.autograd.grad(fit, beta, create_graph=True)
    hessian = torch.autograd.functional.hessian(
        lambda b: (kernel @ b - y).square().sum() / n + w * (b.T @ kernel @ b).trace(), beta
    ).reshape(30, 30)
    best = -torch.linalg.solve(hessian, slope.detach().reshape(-1)).view(15, 2)  # Newton from 0
    expected = new @ phi.T @ best
    torch.testing.assert_close(new @ ridge_dense(phi, y, [w])[0], expected, rtol=1e-8, atol=1e-10)


def test_dense_ridge_with_dependent_features():
    phi = normal(30, 4)
    phi = torch.cat([phi, phi[:, :2], torch.zeros(30, 1)], dim=1)  # rank 4 of 7
    theta = ridge_dense(phi, normal(30, 2, seed=1), [1e-6])[0]
    assert gradient(phi, normal(30, 2, seed=1), 30, 1e-6, theta).norm() < 1e-10
    torch.testing.assert_close(theta[:2], theta[4:6], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", NETWORKS)
def test_tangent_products_are_the_jacobian_and_its_transpose(name):
    network = learners.build(name, d=4, k=3, width=6)
    start, x = start_of(network), problem(7, 4, 3).x[0]
    full = jacobian(network, start, x)  # (n, k, P)
    for outputs in (None, [1], [2, 0]):
        features = TangentFeatures(network, start, outputs)
        phi = full[:, outputs if outputs else [0, 1, 2]].flatten(0, 1)
        assert features.n_params == phi.shape[1] == sum(start[n].numel() for n in network.trained)
        times, times_t = features.products(x)
        v, u = normal(phi.shape[1], seed=1), normal(phi.shape[0], seed=2)
        torch.testing.assert_close(times(v), phi @ v, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(times_t(u), phi.T @ u, rtol=1e-10, atol=1e-12)
        assert (u @ times(v)).item() == pytest.approx((v @ times_t(u)).item(), rel=1e-11)


@pytest.mark.parametrize("separate", [False, True], ids=["shared", "separate"])
@pytest.mark.parametrize("name", NETWORKS)
def test_tangent_learner_is_the_jacobian_product(name, separate):
    body = learners.build(name, d=4, k=3, width=6)
    network, x = linearise(body, "ntk", separate), problem(7, 4, 3, seeds=2).x
    starts = [start_of(network, seed) for seed in (0, 1)]
    p = {n: torch.stack([s[n] for s in starts]) for n in starts[0]}
    p |= {n: normal(*p[n].shape, seed=5) for n in network.trained}
    assert network.trained == tuple(f"theta_{n}" for n in body.trained)
    out = network.forward(p, x)
    for r in (0, 1):
        j = jacobian(body, starts[r], x[r])
        flat = torch.cat([p[n][r].flatten(1 if separate else 0) for n in network.trained], dim=-1)
        expected = torch.einsum("nkp,kp->nk" if separate else "nkp,p->nk", j, flat)
        torch.testing.assert_close(out[r], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [4, 60], ids=["dual", "primal"])
@pytest.mark.parametrize("name", NETWORKS)
def test_tangent_ridge_is_dense_ridge_on_the_jacobian(name, n):
    network = learners.build(name, d=4, k=3, width=6)
    start, split = start_of(network), problem(n, 4, 3)
    x, y = split.x[0], split.y[0]
    j = jacobian(network, start, x)
    rows, params = n * 3, j.shape[-1]
    assert rows < params if n == 4 else rows > params
    theta, worst, steps = solve_tangent(network, start, x, y, WDS, tolerance=1e-6)
    assert theta.shape == (len(WDS), params) and worst <= 1e-6 and 0 < steps <= min(rows, params)
    for w, found in zip(WDS, theta, strict=True):
        near_exact(found, j.flatten(0, 1), y.reshape(-1), n, w, worst)
    theta, worst, _ = solve_tangent(network, start, x, y, WDS, shared=False, tolerance=1e-6)
    assert theta.shape == (len(WDS), 3, params) and worst <= 1e-6
    for w, found in zip(WDS, theta, strict=True):
        for r in range(3):
            near_exact(found[r], j[:, r], y[:, r], n, w, worst)


def near_exact(theta, phi, y, n, w, residual) -> None:
    """Within what a relative residual of the normal equations or of the dual system allows."""
    exact = normal_equations(phi, y, n, w)
    allowed = residual * max((phi.T @ y).norm() / (n * w), y.norm() / (2 * (n * w) ** 0.5))
    assert (theta - exact).norm() <= allowed + 1e-9 * exact.norm()
    assert distance(theta, exact) < 2e-5 and distance(phi @ theta, phi @ exact) < 2e-6


@pytest.mark.parametrize("n", [4, 60], ids=["dual", "primal"])
@pytest.mark.parametrize("name", NETWORKS)
def test_krylov_to_rounding(name, n):
    network = learners.build(name, d=4, k=3, width=6)
    start, split = start_of(network), problem(n, 4, 3)
    phi, y = jacobian(network, start, split.x[0]).flatten(0, 1), split.y[0].reshape(-1)
    products = TangentFeatures(network, start).products(split.x[0])
    path = ridge_krylov(*products, y, phi.shape[1], n, WDS, tolerance=1e-13)
    for w, theta in zip(WDS, path.theta, strict=True):
        assert distance(theta, normal_equations(phi, y, n, w)) < 1e-9


def test_sharing_parameters_matters_at_finite_width_only():
    """K(x, x') tends to a multiple of the k x k identity: shared and separate meet as m grows."""
    split = problem(30, 4, 3)
    x, y, gaps = split.x[0], split.y[0], []
    for width in (10, 2000):
        network = learners.build("layer2", d=4, k=3, width=width)
        start = start_of(network)
        j = jacobian(network, start, x)
        shared, _, _ = solve_tangent(network, start, x, y, [0.1])
        separate, _, _ = solve_tangent(network, start, x, y, [0.1], shared=False)
        one = torch.einsum("nkp,p->nk", j, shared[0])
        own = torch.einsum("nkp,kp->nk", j, separate[0])
        gaps.append(distance(one, own))
    assert gaps[0] > 0.05 and gaps[1] < gaps[0] / 4


@pytest.mark.parametrize("dual", [False, True], ids=["primal", "dual"])
def test_krylov_stops_early_and_says_how_near_it_is(dual):
    """An early stop leaves a residual; the reported one is that of the system that is solved."""
    n, p, wds = (150, 400, [1e-4, 1e-3, 0.1]) if dual else (400, 150, [1e-4, 1e-3, 0.1])
    decay = torch.logspace(0, -3, min(n, p), dtype=torch.float64)
    left, right = torch.linalg.qr(normal(n, min(n, p)))[0], torch.linalg.qr(normal(p, min(n, p)))[0]
    phi, y = 10 * left @ torch.diag(decay) @ right.T, normal(n, seed=1)
    for tolerance in (1e-2, 1e-6):
        path = ridge_krylov(lambda v: phi @ v, lambda u: phi.T @ u, y, p, n, wds, tolerance)
        assert path.steps < min(n, p) and (path.residual <= tolerance).all()
        for w, theta, reported in zip(wds, path.theta, path.residual, strict=True):
            slope = gradient(phi, y, n, w, theta).norm() / gradient(phi, y, n, w, 0 * theta).norm()
            if dual:  # theta = Phi^T c with (Phi Phi^T + N w) c = y up to the residual
                c = torch.linalg.lstsq(phi.T, theta).solution
                true = (phi @ theta + n * w * c - y).norm() / y.norm()
                spread = torch.linalg.matrix_norm(phi, 2) * y.norm() / (phi.T @ y).norm()
                assert slope <= reported * spread * (1 + 1e-6) + 1e-12
            else:
                true = slope
            assert true.item() == pytest.approx(reported.item(), rel=1e-3, abs=1e-10)
            exact = normal_equations(phi, y, n, w)
            if tolerance == 1e-6:  # strong convexity: ||theta - exact|| <= ||gradient|| / w
                assert (theta - exact).norm() <= gradient(phi, y, n, w, theta).norm() / w + 1e-8
                assert distance(phi @ theta, phi @ exact) < 1e-4


def test_krylov_on_a_low_rank_and_on_a_null_right_hand_side():
    phi = normal(50, 3) @ normal(3, 80, seed=1)
    y = normal(50, seed=2)
    path = ridge_krylov(lambda v: phi @ v, lambda u: phi.T @ u, y, 80, 50, [1e-3])
    assert path.steps <= 10
    assert distance(path.theta[0], normal_equations(phi, y, 50, 1e-3)) < 1e-8
    null = torch.linalg.svd(phi)[0][:, 10]  # Phi^T null = 0: theta = 0
    path = ridge_krylov(lambda v: phi @ v, lambda u: phi.T @ u, null, 80, 50, [1e-3])
    assert path.theta.norm() < 1e-8


@pytest.mark.parametrize("name", NETWORKS)
def test_conjugate_ridge_is_scikit_learns(name):
    body = learners.build(name, d=4, k=3, width=6)
    start, split = start_of(body), problem(25, 4, 3)
    x, y = split.x[0], split.y[0]
    found = solve_last(body, start, x, y, WDS)
    assert found.shape == (len(WDS), 3, 6)
    first = torch.relu(x @ start["W"])
    hidden = {
        "layer2": lambda: first,
        "layer3": lambda: torch.relu(first @ start["V"][:-1] + start["V"][-1]),
        "resnet3": lambda: first + torch.relu(first @ start["A"].T @ start["V"][:-1] + start["V"][-1]),
    }[name]()
    for w, a in zip(WDS, found, strict=True):
        peer = Ridge(alpha=25 * w, fit_intercept=False).fit(hidden, y)
        np.testing.assert_allclose(a, peer.coef_, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("how", ["last", "ntk", "separate"])
@pytest.mark.parametrize("name", NETWORKS)
def test_sgd_goes_to_the_ridge_solution(name, how):
    """The two solvers of a kernel method agree: full batch, and the exact path of each seed."""
    body = learners.build(name, d=3, k=2, width=5)
    network = linearise(body, "last" if how == "last" else "ntk", how == "separate")
    seeds, wds, split = [4, 9], [0.05, 0.2], problem(10, 3, 2, seeds=2)
    sizes = []
    for row, seed in enumerate(seeds):
        weights = Stack(body, grid([seed], [1.0], [0.0]), seeds, 10, dtype=torch.float64).weights()
        start = {n: value[0] for n, value in weights.items()}
        hidden = body.hidden(weights, split.x[[row]])[0]
        phi = hidden if how == "last" else jacobian(body, start, split.x[row]).flatten(0, 1)
        sizes.append(torch.linalg.matrix_norm(phi, 2).square().item() / 10)
    lr = 1.5 / max(sizes)
    trained = Stack(network, grid(seeds, [lr], wds), seeds, batch=10, dtype=torch.float64)
    optimizer = trained.optimizer(momentum=0.9)
    for epoch in range(700):
        trained.run_epoch(split, optimizer, epoch, 1.0)
    scores = trained.evaluate(split)["error"]
    for seed in seeds:
        solved = solve_seed(network, seed, seeds, wds, split)
        exact = solved.stack.evaluate(split)["error"]
        assert solved.residual <= 1e-5
        for i, replica in enumerate(solved.stack.replicas):
            at = [(r.seed, r.wd) for r in trained.replicas].index((seed, replica.wd))
            assert scores[at].item() == pytest.approx(exact[i].item(), rel=1e-6)
            for n in network.trained:
                assert distance(getattr(trained, n)[at], getattr(solved.stack, n)[i]) < 1e-5
