"""The stack of quadratic DenseNets: truncated activation, forward pass, regulariser and gradients by the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from learnability.learners.densenet import Learner, binom2, mixing, truncated_slope, truncated_square, union
from networks import normal

GRAPHS = {2: ((0, 1),), 3: ((0, 1), (0, 2)), 4: ((0, 1), (0, 1, 2), (0, 2, 3))}  # at L = 4 layer 2 feeds both above
D, REPLICAS, POINTS = 4, 3, 7


def network(depth: int, bound: float = 1e6) -> Learner:
    widths = (3, 2, 2)[: depth - 1]
    rows = tuple(binom2(k) for k in widths)
    return Learner(D, widths, GRAPHS[depth], (6, 5, 4)[: depth - 1], rows, bound)


def weights(net: Learner, signed: bool = False, masked: bool = False, size: float = 0.5) -> dict[str, Tensor]:
    """Random weights; if ``masked`` replica 2's top layer has no link 0 and, at L = 4, replica 1's no link 2."""
    p = {"alpha": normal(REPLICAS, len(net.graph), seed=1).abs() + 0.2, "centre": normal(D, seed=2).abs()}
    for layer, _ in net.layers():
        q, k, m = net.inputs(layer), net.widths[layer - 2], net.m[layer - 2]
        p[f"R{layer}"] = normal(REPLICAS, net.rows[layer - 2], k, seed=10 + layer) / k
        p[f"mask{layer}"] = torch.ones(REPLICAS, 1, q, dtype=torch.float64)
        p[f"E{layer}"] = torch.ones(REPLICAS, 1, k, dtype=torch.float64)
        p[f"D{layer}"] = net.column_signs(layer, signed, p["alpha"])
        if signed:
            p[f"E{layer}"][0, 0, -1] = p[f"E{layer}"][1, 0, 0] = -1.0
        if masked and layer == len(net.graph) + 1:
            p[f"mask{layer}"][-1, 0, net.parts[layer][0]] = 0.0
            p[f"mask{layer}"][-2, 0, net.parts[layer][2] if layer == 4 else slice(0)] = 0.0
        for name, columns in (("W", m), ("K", k)):
            drawn = size * normal(REPLICAS, q, columns, seed=20 + layer + 7 * (name == "W"))
            p[f"{name}{layer}"] = drawn * p[f"mask{layer}"].mT
    return p


def alone(p: dict[str, Tensor], r: int) -> dict[str, Tensor]:
    """Replica r by itself."""
    shared = ("centre", *(name for name in p if name[0] == "D"))
    return {name: value if name in shared else value[r : r + 1] for name, value in p.items()}


def literal(net: Learner, p: dict[str, Tensor], r: int, x: Tensor, y: Tensor, lambdas: Tensor, bound: float):
    """Loss, Reg and F~ of replica r: (2.1), (2.2), Section 2.2; blocks W_{l,j} (m, q_j), K_{l,j} (k_l, q_j)."""

    def gap(one: Tensor, other: Tensor) -> Tensor:
        return (one - other).square().sum()

    u, out, reg = {0: x, 1: x**2 - p["centre"]}, 0.0, 0.0
    for layer, sources in net.layers():
        part = {j: s for j, s in net.parts[layer].items() if p[f"mask{layer}"][r, 0, s].all()}
        w = {j: p[f"W{layer}"][r, s].T for j, s in part.items()}
        k = {j: p[f"K{layer}"][r, s].T for j, s in part.items()}
        assert set(part) <= set(sources) and all(w[j].shape[1] == u[j].shape[1] for j in part)
        dw, dk = p[f"D{layer}"].diag(), p[f"E{layer}"][r, 0].diag()
        f = sum(u[j] @ w[j].T for j in part) ** 2
        out = out + p["alpha"][r, layer - 2] * (f * p[f"D{layer}"]).sum(1)
        s = sum(u[j] @ k[j].T for j in part)
        u[layer] = truncated_square(s @ p[f"R{layer}"][r].T, bound)
        l3, l4, l5, l6 = lambdas[r, layer - 2]
        before, rest = layer - 1, [j for j in part if j != layer - 1]
        k_all, w_all = torch.cat([k[j] for j in part], 1), torch.cat([w[j] for j in part], 1)
        if rest:
            k_rest, w_rest = torch.cat([k[j] for j in rest], 1), torch.cat([w[j] for j in rest], 1)
            reg = reg + l3 * gap(k[before].T @ dk @ k_rest, w[before].T @ dw @ w_rest)
        reg = reg + l4 * gap(k[before].T @ dk @ k[before], w[before].T @ dw @ w[before])
        reg = reg + l5 * gap(k_all.T @ dk @ k_all, w_all.T @ dw @ w_all)
        reg = reg + l6 * (k_all.square().sum() + w_all.square().sum())
    return (out - y).square().mean(), reg, out


def objective(net: Learner, p: dict[str, Tensor], x: Tensor, y: Tensor, lambdas: Tensor) -> Tensor:
    """As the stack has it, (r,)."""
    return (net.run(p, x, net.bound).out - y).square().mean(1) + net.regulariser(p, lambdas)


def gradient_of(net: Learner, p: dict[str, Tensor], x: Tensor, y: Tensor, lambdas: Tensor) -> dict[str, Tensor]:
    into = {name: normal(*p[name].shape, seed=3) for name in net.shapes()}  # whatever was there is overwritten
    tape = net.run(p, x, net.bound)
    net.gradient(p, tape, (tape.out - y) * (2 / x.shape[1]), into)
    net.regulariser(p, lambdas, into)
    return into


@pytest.mark.parametrize("bound", [0.3, 1.0, 7.0])
def test_truncated_square(bound):
    z = torch.linspace(-3 * bound, 3 * bound, 60_000, dtype=torch.float64, requires_grad=True)  # meets no corner
    value, size = truncated_square(z, bound), z.detach().abs()
    inside, outside = size < bound, size > 2 * bound
    torch.testing.assert_close(value[inside], z[inside] ** 2, rtol=1e-14, atol=0)
    torch.testing.assert_close(value[outside], torch.full_like(value[outside], 16 / 7 * bound**2))
    derivatives, last = [], value
    for _ in range(3):
        (last,) = torch.autograd.grad(last.sum(), z, create_graph=True)
        derivatives.append(last.detach())
    first, second, third = derivatives
    torch.testing.assert_close(truncated_slope(z.detach(), bound), first, rtol=1e-10, atol=1e-12)
    assert (first * z.detach() >= 0).all() and (first[outside] == 0).all()  # monotone in |z|
    assert first.abs().max() <= 4 * bound and second.abs().max() <= 9.5 and third.abs().max() <= 40 / bound
    assert (value.detach().diff() * z.detach()[1:].sign()).min() >= -1e-14 * bound**2
    step = (z[1] - z[0]).item()  # three times differentiable: nothing jumps at B' and 2B'
    bounds = (4 * bound, 9.5, 40 / bound, 280 / bound**2)
    for one, after in zip((value.detach(), first, second, third), bounds, strict=True):
        assert one.diff().abs().max() <= 1.01 * after * step
    t = size / bound - 1
    smooth = 10 * t**3 - 15 * t**4 + 6 * t**5
    between = (t > 0) & (t < 1)
    torch.testing.assert_close(first[between], (2 * z.detach() * (1 - smooth))[between], rtol=1e-10, atol=1e-12)
    small = z.detach()[size < bound / 2]
    assert torch.equal(truncated_square(small, bound), small**2)
    assert torch.equal(truncated_slope(small, bound), 2 * small)


@pytest.mark.parametrize("bound", [1e6, 0.4], ids=("quadratic", "truncated"))
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("depth", GRAPHS)
def test_objective_and_gradient_are_the_papers(depth, signed, bound):
    """All four lambdas, a replica with a smaller graph; autograd through the formulas, and finite differences."""
    net = network(depth, bound)
    p, x, y = (
        weights(net, signed, masked=True),
        normal(REPLICAS, POINTS, D, seed=5),
        normal(REPLICAS, POINTS, seed=6),
    )
    lambdas = normal(REPLICAS, depth - 1, 4, seed=7).abs()
    tape, reg = net.run(p, x, bound), net.regulariser(p, lambdas)
    if depth > 2:
        assert set(tape.t) == set(range(2, depth))
        size = torch.cat([t.abs().flatten() for t in tape.t.values()]) / bound
        assert ((size > 1) & (size < 2)).any() == (size > 2).any() == (bound < 1)
    ours = gradient_of(net, p, x, y, lambdas)
    for r in range(REPLICAS):
        mine = p | {name: p[name].clone().requires_grad_() for name in net.shapes()}
        loss, regulariser, out = literal(net, mine, r, x[r], y[r], lambdas, bound)
        torch.testing.assert_close(tape.out[r], out, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(reg[r], regulariser, rtol=1e-10, atol=1e-12)
        names = list(net.shapes())
        theirs = torch.autograd.grad(loss + regulariser, [mine[n] for n in names])
        for name, expected in zip(names, theirs, strict=True):
            torch.testing.assert_close(ours[name][r], expected[r], rtol=1e-9, atol=1e-9)
            assert expected[r].abs().max() > 1e-3
            unlinked = p[f"mask{name[1:]}"][r, 0] == 0
            assert (ours[name][r, unlinked] == 0).all()
    rng, h = np.random.default_rng(0), 1e-6
    for name in net.shapes():
        for _ in range(4):
            at = tuple(int(rng.integers(size)) for size in p[name].shape)
            if p[f"mask{name[1:]}"][at[0], 0, at[1]] == 0:
                continue
            found = []
            for step in (h, -h):
                moved = p[name].clone()
                moved[at] += step
                found.append(objective(net, p | {name: moved}, x, y, lambdas))
            slope = ((found[0] - found[1]) / (2 * h))[at[0]].item()
            assert ours[name][at].item() == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("depth", GRAPHS)
def test_each_lambda_weighs_its_own_blocks(depth, which):
    net = network(depth)
    p, lambdas = weights(net), torch.zeros(REPLICAS, depth - 1, 4, dtype=torch.float64)
    x = y = torch.zeros(POINTS, D, dtype=torch.float64)
    lambdas[:, depth - 2, which] = torch.tensor([0.0, 1.0, 3.0])
    found = net.regulariser(p, lambdas)
    for r in range(REPLICAS):
        expected = literal(net, p, r, x, y[:, 0], lambdas, 1e6)[1]
        torch.testing.assert_close(found[r], expected, rtol=1e-11, atol=1e-12)
    assert found[0] == 0 and (found[1:] > 0).all()


@pytest.mark.parametrize("depth", GRAPHS)
def test_with_w_equal_to_k_it_is_a_plain_densenet(depth):
    """R^T R = I and W = K: G_l = sigma(sum_j M_{l,j} G_j), M_{l,j} = R_l K_{l,j}, the end of Section 2.1."""
    wide = network(depth)
    net = Learner(D, wide.widths, wide.graph, wide.widths, wide.rows, wide.bound)
    p, x = weights(net), normal(REPLICAS, POINTS, D, seed=5)
    for layer, _ in net.layers():
        p[f"W{layer}"] = p[f"K{layer}"]
        p[f"R{layer}"] = torch.linalg.qr(p[f"R{layer}"])[0]
    out, features = net.forward(p, x)
    for r in range(REPLICAS):
        g, total = {0: x[r].numpy(), 1: x[r].numpy() ** 2 - p["centre"].numpy()}, 0.0
        for layer, sources in net.layers():
            rotation = p[f"R{layer}"][r].numpy()
            s = 0.0
            for j in sources:
                m = rotation @ p[f"K{layer}"][r, net.parts[layer][j]].numpy().T  # (binom2(k_l), .)
                s = s + g[j] @ m.T
            g[layer] = s**2
            total = total + p["alpha"][r, layer - 2].item() * g[layer].sum(1)
            np.testing.assert_allclose(features[layer][r].numpy() @ rotation.T, s, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(out[r], total, rtol=1e-12)


def test_truncation_does_nothing_within_its_bound():
    net = network(4)
    p, x = weights(net, signed=True), normal(REPLICAS, POINTS, D, seed=5)
    tape = net.run(p, x, math.inf)
    most = max(t.abs().max().item() for t in tape.t.values())
    outputs = {}
    for factor in (1.001, 0.5):
        narrow = network(4, bound=factor * most)
        outputs[factor] = narrow.forward(p, x, quadratic=False)[0]
        torch.testing.assert_close(narrow.forward(p, x, quadratic=True)[0], tape.out, rtol=1e-14, atol=0)
    torch.testing.assert_close(outputs[1.001], tape.out, rtol=1e-14, atol=0)
    assert not torch.allclose(outputs[0.5], tape.out)


def test_a_link_that_a_replica_lacks_does_nothing():
    """Whatever its weights are."""
    net = network(4, bound=0.4)
    p, x, y = weights(net, masked=True), normal(REPLICAS, POINTS, D, seed=5), normal(REPLICAS, POINTS, seed=6)
    junk = {name: p[name] + (1 - p[f"mask{name[1:]}"]).mT for name in net.shapes()}
    none = torch.zeros(REPLICAS, 3, 4, dtype=torch.float64)
    clean, found = gradient_of(net, p, x, y, none), gradient_of(net, p | junk, x, y, none)
    for name in net.shapes():
        torch.testing.assert_close(found[name], clean[name], rtol=1e-12, atol=1e-12)
    assert not torch.equal(junk["W4"][1], p["W4"][1]) and not torch.equal(junk["K4"][2], p["K4"][2])


@pytest.mark.parametrize("depth", [3, 4])
def test_unused_columns_stay_zero(depth):
    net = network(depth, bound=0.5)
    p, x, y = weights(net), normal(REPLICAS, POINTS, D, seed=5), normal(REPLICAS, POINTS, seed=6)
    lambdas = normal(REPLICAS, depth - 1, 4, seed=7).abs()
    for layer, _ in net.layers():
        p[f"K{layer}"][1, :, -1] = p[f"R{layer}"][1, :, -1] = 0.0
    before = p["K2"].clone()
    for _ in range(10):
        for name, gradient in gradient_of(net, p, x, y, lambdas).items():
            p[name] = p[name] - 1e-3 * gradient / gradient.norm()
    assert (p["K2"][1, :, :-1] != before[1, :, :-1]).all() and (p["K2"][0] != before[0]).all()
    for layer, _ in net.layers():
        assert (p[f"K{layer}"][1, :, -1] == 0).all()


@pytest.mark.parametrize("depth", GRAPHS)
def test_replicas_do_not_mix(depth):
    net = network(depth, bound=0.5)
    p, x, y = weights(net, True, True), normal(REPLICAS, POINTS, D, seed=5), normal(REPLICAS, POINTS, seed=6)
    lambdas = normal(REPLICAS, depth - 1, 4, seed=7).abs()
    together, values = gradient_of(net, p, x, y, lambdas), objective(net, p, x, y, lambdas)
    for r in range(REPLICAS):
        own = (alone(p, r), x[r : r + 1], y[r : r + 1], lambdas[r : r + 1])
        torch.testing.assert_close(objective(net, *own), values[r : r + 1], rtol=1e-12, atol=1e-12)
        for name, gradient in gradient_of(net, *own).items():
            torch.testing.assert_close(gradient[0], together[name][r], rtol=1e-10, atol=1e-10)
    p["W2"][1] = math.nan
    spoiled = gradient_of(net, p, x, y, lambdas)
    assert all(spoiled[name][[0, 2]].isfinite().all() for name in spoiled)
    assert spoiled["W2"][1].isnan().all()


@pytest.mark.parametrize("times", [1, 2])
def test_mixing_is_the_best_of_its_draws(times):
    k, rows = 4, times * binom2(4)
    many, generator = mixing(k, rows, 30, torch.Generator().manual_seed(0)), torch.Generator().manual_seed(0)
    single = [mixing(k, rows, 1, generator) for _ in range(30)]

    def condition(r: Tensor) -> float:  # of the map from symmetric S S^T to (<r_i, S>^2)_i
        values = torch.linalg.svdvals(torch.einsum("ia,ib->iab", r, r).flatten(1))
        return (values[0] / values[binom2(k) - 1]).item()

    least = min(single, key=condition)
    assert torch.equal(many, least) and condition(many) < 0.8 * np.median([condition(r) for r in single])
    entries = torch.stack(single).flatten() * k  # N(0, 1/k^2), line 1
    assert abs(entries.mean()) < 5 / math.sqrt(len(entries))
    assert abs(entries.square().mean() - 1) < 5 * math.sqrt(2 / len(entries))
    assert [binom2(n) for n in range(5)] == [0, 1, 3, 6, 10]
    assert union([((1,), (0, 2)), ((0, 1), (2,))]) == ((0, 1), (0, 2))
