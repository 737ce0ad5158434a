"""Stacked networks one by one: the paper's formulas, gradients, random starts."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from learnability.learners.base import Network
from networks import EVERY, NETWORKS, build, normal, stacked, with_one


def paper_output(name: str, p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """out(x) of one replica at one point (x, 1), in the paper's orientation, W in R^{m x (d+1)}."""

    def relu(z):
        return np.maximum(z, 0)

    w, a = p["W"].T, p["A"]
    assert w.shape == (a.shape[1], len(x))
    first = relu(w @ x)
    if name == "layer2":
        return a @ first
    v = p["V"].T
    if name == "layer3":
        return a @ relu(v @ np.append(first, 1.0))
    out1 = a @ first
    assert v.shape == (a.shape[1], len(out1) + 1)
    return out1 + a @ relu(v @ np.append(out1, 1.0))


@pytest.mark.parametrize("name", NETWORKS)
def test_forward_is_the_papers_formula(name):
    network = build(name)
    p, x = stacked(network, 3), with_one(normal(3, 5, 6))
    out = network.forward(p, x)
    assert out.shape == (3, 5, 4)
    for r in range(3):
        mine = {n: value[r].numpy() for n, value in p.items()}
        for i in range(5):
            expected = paper_output(name, mine, x[r, i].numpy())
            np.testing.assert_allclose(out[r, i], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_resnet_u_is_v_times_a_and_hidden_feeds_a(name):
    network = build(name)
    p, x = stacked(network, 2), with_one(normal(2, 5, 6))
    hidden = network.hidden(p, x)
    assert hidden.shape == (2, 5, 9)
    torch.testing.assert_close(hidden @ p["A"].mT, network.forward(p, x), rtol=1e-12, atol=1e-12)
    if name == "resnet3":  # (2.1): A (s(Wx + b1) + s(U s(Wx + b1) + b2)) with U = V A
        first = torch.relu(x @ p["W"])
        u, b2 = p["V"][:, :-1].mT @ p["A"], p["V"][:, -1:]
        expected = first + torch.relu(first @ u.mT + b2)
        torch.testing.assert_close(hidden, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("decay", [0.0, 0.9])
@pytest.mark.parametrize("name", NETWORKS)
def test_gradient_by_hand_is_autograds(name, decay):
    network = build(name)
    p = stacked(network, 3)
    work = {}
    for batch in (8, 8, 5):  # twice the same buffers, then a partial batch
        x, y = with_one(normal(3, batch, 6, seed=batch)), normal(3, batch, 4, seed=1)
        work[batch] = work.get(batch) or network.workspace(3, batch, x)
        ours = {n: normal(*p[n].shape, seed=2) for n in network.trained}
        theirs = {n: value.clone() for n, value in ours.items()}
        before = {n: value.clone() for n, value in p.items()}
        residual = network.accumulate(p, x, y, ours, decay, work[batch])
        expected = Network.accumulate(network, p, x, y, theirs, decay, {})
        torch.testing.assert_close(residual, expected, rtol=1e-12, atol=1e-12)
        for n in network.trained:
            torch.testing.assert_close(ours[n], theirs[n], rtol=1e-12, atol=1e-12)
        assert all(torch.equal(p[n], before[n]) for n in p)


@pytest.mark.parametrize("name", EVERY)
def test_gradient_is_a_finite_difference(name):
    network = build(name)
    p = stacked(network, 2)
    if "theta" in "".join(network.trained):
        p |= {n: normal(*p[n].shape, seed=9) for n in network.trained}
    x, y = with_one(normal(2, 5, 6)), normal(2, 5, 4, seed=1)
    gradient = {n: torch.zeros_like(p[n]) for n in network.trained}
    network.accumulate(p, x, y, gradient, 0.0, network.workspace(2, 5, x))

    def loss(replica: int) -> float:  # (1/B) sum 1/2 ||out - y||^2, paper B (6.1)
        return (network.forward(p, x) - y)[replica].square().sum(-1).mul(0.5).mean().item()

    rng, h = np.random.default_rng(0), 1e-6
    for n in network.trained:
        for _ in range(4):
            at = tuple(int(rng.integers(size)) for size in p[n].shape)
            value = p[n][at].item()
            p[n][at] = value + h
            above = loss(at[0])
            p[n][at] = value - h
            below = loss(at[0])
            p[n][at] = value
            assert gradient[n][at].item() == pytest.approx((above - below) / (2 * h), abs=1e-7)


@pytest.mark.parametrize("name", NETWORKS)
def test_random_start(name):
    d, k, m = 30, 8, 300
    plain, scaled = build(name, d, k, m), build(name, d, k, m, init_scale={"W": 3.0, "A": 0.5})
    start, again = (plain.init(torch.Generator().manual_seed(0)) for _ in range(2))
    other = scaled.init(torch.Generator().manual_seed(0))
    wanted = {"A": m**-0.5, "W": d**-0.5, "V": m**-0.5}  # Appendix A of paper B
    rows = {"A": k, "W": d + 1, "V": {"resnet3": k + 1, "layer3": m + 1}.get(name)}
    for n, value in start.items():
        assert value.shape == (rows[n], m)
        assert torch.equal(value, again[n])
        z = value.double() / wanted[n]
        assert abs(z.mean()) < 5 / math.sqrt(z.numel())
        assert abs(z.square().mean() - 1) < 5 * math.sqrt(2 / z.numel())
        bias = z[-1] if n != "A" else z[0]  # biases are drawn like the rest
        assert abs(bias.square().mean() - 1) < 5 * math.sqrt(2 / m)
        torch.testing.assert_close(other[n], value * {"W": 3.0, "A": 0.5}.get(n, 1.0))
    assert set(start) == set(plain.shapes()) and set(plain.trained) == set(start) - {"A"}
