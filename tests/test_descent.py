"""Exact steps where float64 stands still: J_1 - J_t against 60 digits, compensated sums, starts, resumed runs."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch
from mpmath import mp, mpf
from torch import Tensor

from learnability.learners.logistic import Data, Learner
from learnability.theory import paper_d
from learnability.training import fit as fitting
from learnability.training.descent import LONGEST, Descent, DescentModule, scaled
from logistic_cases import at_threshold, fitted, sphere, starts
from networks import normal

CPU = torch.device("cpu")
Matrix = list[list[mpf]]


def exact_phi(activation: str, z: mpf, h: mpf) -> tuple[mpf, mpf]:
    """phi and phi'."""
    if activation == "huber":
        return (mpf(0), mpf(0)) if z < 0 else (z**2 / (2 * h), z / h) if z <= h else (z - h / 2, mpf(1))
    s = 1 / (1 + mp.exp(-2 * z / h))
    return z * s / mpf(1.1), (s + 2 * z / h * s * (1 - s)) / mpf(1.1)


def dot(a: list[mpf], b: list[mpf]) -> mpf:
    return sum(x * y for x, y in zip(a, b, strict=True))


def exact_gradient(activation: str, v: list[Matrix], x: Matrix, y: list[mpf], h: mpf) -> tuple[mpf, list[Matrix]]:
    """J(V) and its gradient: (2a), (2b) sample by sample and neuron by neuron."""
    loss, n = mpf(0), len(y)
    gradient = [[[mpf(0)] * len(row) for row in matrix] for matrix in v]
    for inputs, label in zip(x, y, strict=True):
        xs, slopes = [inputs], []
        for matrix in v[:-1]:
            pairs = [exact_phi(activation, dot(row, xs[-1]), h) for row in matrix]
            xs.append([value for value, _ in pairs])
            slopes.append([slope for _, slope in pairs])
        f = dot(v[-1][0], xs[-1])
        loss += mp.log1p(mp.exp(-label * f)) / n
        left = [-label / (1 + mp.exp(label * f)) / n]  # times d f / d u_l, from the output down
        for layer in range(len(v) - 1, -1, -1):
            for i, a in enumerate(left):
                gradient[layer][i] = [g + a * b for g, b in zip(gradient[layer][i], xs[layer], strict=True)]
            if layer:
                back = [dot(left, [row[j] for row in v[layer]]) for j in range(len(xs[layer]))]
                left = [a * b for a, b in zip(slopes[layer - 1], back, strict=True)]
    return loss, gradient


def exact_losses(net: Learner, v: Tensor, data: Data, log_alpha: float, steps: int) -> list[mpf]:
    """J_1, J_2, ... of one network under V <- V - alpha grad J."""
    weights = [[[mpf(a) for a in row] for row in matrix[0].tolist()] for matrix in net.matrices(v)]
    x, y = [[mpf(a) for a in row] for row in data.x[0].tolist()], [mpf(a) for a in data.y[0].tolist()]
    h, alpha, found = mpf(data.h.item()), mp.exp(mpf(log_alpha)), []
    for _ in range(steps + 1):
        loss, gradient = exact_gradient(net.activation, weights, x, y, h)
        found.append(loss)
        weights = [
            [[a - alpha * b for a, b in zip(*rows, strict=True)] for rows in zip(*pair, strict=True)]
            for pair in zip(weights, gradient, strict=True)
        ]
    return found


def largest_step(net: Learner, v: Tensor, data: Data) -> Tensor:
    """log alpha_max, (3b)."""
    known = (v.norm(dim=1).numpy(), net.log_loss(v, data).numpy())
    return torch.as_tensor(paper_d.log_alpha_max(data.h.numpy(), net.depth, net.width, *known))


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("activation", ["huber", "swish"])
def test_a_hundred_steps_of_theorem_3_1_against_60_digits(activation, depth):
    """J_1 - J_t to 1e-8 at alpha_max, where plain float64 steps go nowhere."""
    net = Learner(4, 4, depth, activation)
    v, data = at_threshold(net, sphere(1, 3, 4, 0.01))
    log_loss, log_alpha = net.log_loss(v, data), largest_step(net, v, data)
    assert log_loss.item() < paper_d.log_threshold(3, depth)
    assert data.h.item() < paper_d.h_max(depth, 4, v.norm().item(), log_loss.item())
    descent, plain = Descent(net, v, data, log_alpha), v.clone()
    with mpmath.workdps(60):
        first, *later = exact_losses(net, v, data, log_alpha.item(), 100)
        assert abs(mp.exp(mpf(log_loss.item())) / first - 1) < 1e-12
        for true in later:
            descent.step()
            fall = -mpmath.expm1(mpf(descent.log_ratio().item())) * first
            assert abs(fall / (first - true) - 1) < 1e-8
            at, g = net.gradient(plain, data)
            plain -= torch.exp(log_alpha) * (torch.exp(at)[:, None] * g)
        lost = mp.exp(mpf(log_loss.item())) - mp.exp(mpf(net.log_loss(plain, data).item()))
        assert abs(lost / (first - true) - 1) > 0.5 and 0 < first - true < 1e-12 * first
    assert depth == 1 or torch.equal(plain, v)


@pytest.mark.parametrize("depth", [2, 3])
def test_steps_across_kinks_against_60_digits(depth):
    """The loss falls by a third, and preactivations enter and leave [0, h]."""
    net, data = Learner(4, 4, depth), sphere(1, 3, 4, 0.02)
    v = fitted(net, data, steps=60)
    log_loss, g = net.gradient(v, data)
    log_alpha = math.log(0.01) - 2 * g.norm(dim=1).log() - log_loss
    descent = Descent(net, v, data, log_alpha)
    with mpmath.workdps(60):
        first, *later = exact_losses(net, v, data, log_alpha.item(), 60)
        for true in later:
            descent.step()
            fall = -mpmath.expm1(mpf(descent.log_ratio().item())) * first
            assert abs(fall / (first - true) - 1) < 1e-12
    before, after = (torch.stack(net.layers(at, data)[0]) for at in (v, descent.v))
    crossed = ((before > 0) != (after > 0)) | ((before > data.h) != (after > data.h))
    assert crossed.any() and first / true > 1.5


def test_tiny_steps_onto_a_long_way():
    """2000 steps of 1e-19 of the way travelled before: without compensation none of them would count."""
    net, data = Learner(4, 4, 2), sphere(3, 3, 4, 0.3)
    v = starts(net, 3)
    log_loss, g = net.gradient(v + 1, data)
    descent = Descent(net, v, data, math.log(1e-19) - log_loss)
    descent.moved.fill_(1.0)
    for _ in range(2000):
        descent.step()
    assert (descent.moved - 1).norm() < 1e-12 and descent.moved.dtype == torch.float64
    torch.testing.assert_close((descent.moved - 1) + descent.rest, -2000 * 1e-19 * g, rtol=1e-6, atol=0)


def test_a_stack_steps_as_its_networks():
    net, data = Learner(4, 5, 2), sphere(3, 4, 4, 0.3)
    v, log_alpha = starts(net, 3), torch.tensor([-3.0, -1.0, -40.0], dtype=torch.float64)
    for given in (log_alpha, None):
        whole = Descent(net, v, data, given, 0.05)
        alone = [
            Descent(net, v[[r]], data.rows(torch.tensor([r])), None if given is None else given[[r]], 0.05)
            for r in range(3)
        ]
        for one in (whole, *alone):
            for _ in range(20):
                one.step()
        torch.testing.assert_close(torch.cat([one.moved for one in alone]), whole.moved, rtol=1e-10, atol=0)
        torch.testing.assert_close(
            torch.cat([one.log_ratio() for one in alone]), whole.log_ratio(), rtol=1e-9, atol=0
        )


def test_rates_are_falls_of_log_j():
    net, data = Learner(4, 4, 2), sphere(3, 3, 4, 0.3)
    v = fitted(net, data, steps=30)
    for rate, close in ((1e-3, 2e-3), (1e-2, 2e-2), (5e-2, 0.1)):
        descent, last = Descent(net, v, data, None, rate), torch.zeros(3).double()
        for _ in range(20):
            descent.step()
            torch.testing.assert_close(last - descent.log_ratio(), torch.full_like(last, rate), rtol=close, atol=0)
            last = descent.log_ratio()
    fast = Descent(net, v, data, None, 1e3)
    fast.step()
    torch.testing.assert_close(fast.moved.norm(dim=1), LONGEST * v.norm(dim=1), rtol=1e-12, atol=0)
    along = -fast.moved / fast.moved.norm(dim=1, keepdim=True)
    g = net.gradient(v, data)[1]
    torch.testing.assert_close(along, g / g.norm(dim=1, keepdim=True))


def test_log_ratio_near_and_far():
    """Whatever the loss did, and by whatever factor: margins of -1e4 are e^1e4 away from those of 1e4."""
    net, data = Learner(4, 4, 2), sphere(3, 3, 4, 0.3)
    v = fitted(net, data)
    v[:, -4:] *= 1000
    descent = Descent(net, v, data, torch.zeros(3).double())
    assert (descent.log_ratio() == 0).all()
    moves = [size * v for size in (1e-3, 0.01, 0.1, 3.0, -0.01, -0.1, -0.9)] + [-1.001 * v, 1e-4 * normal(*v.shape)]
    moves.append(torch.cat([0 * v[:, :-4], -2 * v[:, -4:]], 1))
    for move in moves:
        descent.moved.copy_(move)
        expected = net.log_loss(v + move, data) - net.log_loss(v, data)
        torch.testing.assert_close(descent.log_ratio(), expected, rtol=1e-9, atol=0)
    assert (expected > 5000).all()


def test_scaled_meets_its_target():
    net, data = Learner(4, 4, 2), sphere(4, 3, 4, 0.3)
    v = torch.cat([fitted(net, data.rows(torch.arange(3))), starts(net, 1)])
    data.y[3] = -net.margins(v, data)[3].sign() * data.y[3]  # wrong about all of its points
    for target in (-30.0, -700.0):
        there, h = scaled(net, v, data, target, lambda norm: 1 / norm)
        torch.testing.assert_close(h, 1 / there.norm(dim=1))
        found = net.log_loss(there, Data(data.x, data.y, h))
        assert (found[:3] <= target).all() and (found[:3] > target * (1 + 1e-13)).all()
        assert found[3] > 0 and (there[3] / v[3]).mean().item() == pytest.approx(1e6)
        torch.testing.assert_close(there / there.norm(dim=1, keepdim=True), v / v.norm(dim=1, keepdim=True))


# with Lightning


class Killed(Exception):
    """Stands for a killed job."""


def module() -> DescentModule:
    net, data = Learner(4, 4, 2), sphere(3, 3, 4, 0.3)
    v = starts(net, 3)
    log_alpha = math.log(1e-9) - net.log_loss(v, data)
    return DescentModule(Descent(net, v, data, log_alpha), 11, 2)


def record(made: DescentModule) -> tuple:
    """All that a run leaves behind, as bytes."""
    history = [(r.epoch, r.step, {k: v.numpy().tobytes() for k, v in r.values.items()}) for r in made.history]
    return history, {name: value.numpy().tobytes() for name, value in made.state_dict().items()}


def test_a_resumed_descent_ends_in_the_same_bytes(tmp_path, monkeypatch):
    """Compensation and history come back from the checkpoint."""
    save = lambda self, trainer, module: trainer.save_checkpoint(self.path)  # noqa: E731
    monkeypatch.setattr(fitting.Checkpoint, "on_train_epoch_end", save)
    said: list[str] = []
    whole, path = module(), tmp_path / "c.safetensors"
    fitting.fit(whole, CPU, say=said.append)
    plain = module().descent
    for _ in range(11):
        plain.step()
    assert torch.equal(whole.descent.moved, plain.moved) and (plain.rest != 0).any()
    for at in (5, 8):
        killed = module()

        def run_pass(epoch, at=at, run=killed.run_pass):
            if epoch == at:
                raise Killed
            run(epoch)

        killed.run_pass = run_pass
        with pytest.raises(Killed):
            fitting.fit(killed, CPU, path, say=said.append)
    resumed = module()
    fitting.fit(resumed, CPU, path, say=said.append)
    assert resumed.since == 8 and any(line.startswith("resuming from checkpoint") for line in said)
    assert record(resumed) == record(whole)
    last = whole.history[-1]
    assert [r.epoch for r in whole.history] == [2, 4, 6, 8, 10, 11] == [r.step for r in whole.history]
    assert torch.equal(last.values["train", "log_ratio"], plain.log_ratio())
    assert torch.equal(last.values["train", "log_loss"], plain.network.log_loss(plain.v, plain.data))
