"""The stack against plain training: torch.optim.SGD, replicas alone, chunks, divergence."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from learnability.training.sgd import StepSchedule
from learnability.training.stack import Replica, Split, Stack, batch_orders, grid
from networks import EVERY, NETWORKS, build, normal, samples


class Plain(nn.Module):
    """One replica as an ordinary torch module with nn.Linear layers."""

    def __init__(self, name: str, p: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.name = name
        self.register_buffer("A", p["A"].clone())
        for n in ("W", "V") if "V" in p else ("W",):
            layer = nn.Linear(p[n].shape[0] - 1, p[n].shape[1], dtype=torch.float64)
            layer.weight.data, layer.bias.data = p[n][:-1].T.clone(), p[n][-1].clone()
            setattr(self, n, layer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.W(x))
        if self.name == "layer2":
            return h @ self.A.T
        if self.name == "layer3":
            return torch.relu(self.V(h)) @ self.A.T
        out1 = h @ self.A.T
        return out1 + torch.relu(self.V(out1)) @ self.A.T


def run(stack: Stack, split: Split, epochs: int, schedule=None, momentum=0.9, lr_scale=None):
    schedule = schedule or StepSchedule((epochs,))
    optimizer = stack.optimizer(momentum, lr_scale)
    errors = [stack.run_epoch(split, optimizer, e, schedule.factor(e)) for e in range(epochs)]
    return SimpleNamespace(optimizer=optimizer, errors=errors)


@pytest.mark.parametrize("lr_scale", [{}, {"W": 0.5, "V": 2.0}])
@pytest.mark.parametrize("name", NETWORKS)
def test_training_is_torch_sgd(name, lr_scale):
    """20 steps, momentum and weight decay, a partial last batch, the rate dropped half way."""
    network, split = build(name), samples(2, 23, 6, 4)
    replicas = grid([0, 1], [0.05, 0.2], [0.0, 0.03])
    stack = Stack(network, replicas, [0, 1], batch=5, dtype=torch.float64)
    starts = [{n: v[i].clone() for n, v in stack.weights().items()} for i in range(len(replicas))]
    done = run(stack, split, 4, StepSchedule((2, 2), 10), lr_scale=lr_scale)
    for i, replica in enumerate(replicas):
        model = Plain(name, starts[i])
        groups = [
            {"params": getattr(model, n).parameters(), "lr": replica.lr * lr_scale.get(n, 1.0)}
            for n in network.trained
        ]
        optimizer = torch.optim.SGD(groups, momentum=0.9, weight_decay=replica.wd)
        schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2], gamma=0.1)
        x, y = split.x[replica.seed, :, :-1], split.y[replica.seed]
        for epoch in range(4):
            order = batch_orders(stack.seeds, epoch, 23, torch.device("cpu"))[replica.seed] - 23 * replica.seed
            assert sorted(order.tolist()) == list(range(23))
            total = 0.0
            for rows in order.split(5):
                squares = (model(x[rows]) - y[rows]).square().sum(1)
                total += squares.sum().item()
                optimizer.zero_grad()
                (0.5 * squares.mean()).backward()
                optimizer.step()
            schedule.step()
            assert done.errors[epoch][i].item() == pytest.approx(total / 23, rel=1e-10)
        for n in network.trained:
            layer, ours = getattr(model, n), getattr(stack, n)[i]
            assert not torch.equal(ours, starts[i][n])
            torch.testing.assert_close(ours[:-1], layer.weight.T, rtol=1e-10, atol=1e-10)
            torch.testing.assert_close(ours[-1], layer.bias, rtol=1e-10, atol=1e-10)
        assert torch.equal(stack.A[i], starts[i]["A"])


def relative(a: torch.Tensor, b: torch.Tensor) -> float:
    return ((a - b).norm() / b.norm()).item()


@pytest.mark.parametrize("name", EVERY)
def test_a_replica_in_a_stack_is_the_replica_alone(name):
    """64 replicas with rates, decays and seeds of their own, 200 steps in float32."""
    network, seeds = build(name), [3, 1, 4, 2]
    split = samples(4, 40, 6, 4, torch.float32)
    replicas = grid(seeds, [0.002, 0.005, 0.01, 0.02], [0.0, 0.001, 0.01, 0.1])
    stack = Stack(network, replicas, seeds, batch=20)
    errors = run(stack, split, 100).errors[-1]
    scores = stack.evaluate(split)
    assert (stack.died == -1).all() and len(replicas) == 64
    for i in (0, 37, 62):
        seed, row = replicas[i].seed, seeds.index(replicas[i].seed)
        own = Split(split.x[[row]], split.y[[row]], {"cF": split.probes["cF"][[row]]})
        alone = Stack(network, [replicas[i]], [seed], batch=20)
        error = run(alone, own, 100).errors[-1]
        assert error.item() == pytest.approx(errors[i].item(), rel=1e-5)
        for n in network.trained:
            assert relative(getattr(stack, n)[i], getattr(alone, n)[0]) < 1e-5
        for n, value in alone.evaluate(own).items():
            assert value.item() == pytest.approx(scores[n][i].item(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", [*NETWORKS, "resnet3-last", "resnet3-ntk"])
def test_chunks_change_nothing(name):
    network, split = build(name), samples(3, 24, 6, 4, torch.float32)
    replicas = grid([0, 1, 2], [0.01, 0.05], [0.0, 0.01])
    whole = Stack(network, replicas, [0, 1, 2], batch=10)
    each = network.working_set(10)
    cut = Stack(network, replicas, [0, 1, 2], batch=10, cache_bytes=5.5 * each)
    assert len(whole.chunks()) == 1 and len(cut.chunks()) == 3
    first, second = run(whole, split, 10), run(cut, split, 10)
    torch.testing.assert_close(first.errors[-1], second.errors[-1], rtol=1e-5, atol=0)
    for n in network.trained:
        assert relative(getattr(cut, n), getattr(whole, n)) < 1e-6
    for n, value in whole.evaluate(split).items():
        torch.testing.assert_close(cut.evaluate(split, block=7)[n], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [*NETWORKS, "layer2-last", "resnet3-ntk"])
def test_a_diverging_replica_harms_no_other(name):
    network, split = build(name), samples(2, 24, 6, 4, torch.float32)
    good = grid([0, 1], [0.01, 0.02], [0.0, 0.01])
    bad = [Replica(1, 1e6, 0.0), Replica(0, 1e30, 0.0)]
    mixed = [*good[:3], bad[0], *good[3:], bad[1]]
    keep = [i for i, replica in enumerate(mixed) if replica not in bad]
    stack = Stack(network, mixed, [0, 1], batch=10, diverged_at=1000.0)
    calm = Stack(network, good, [0, 1], batch=10, diverged_at=1000.0)
    done, expected = run(stack, split, 8), run(calm, split, 8)
    dead = [i for i in range(len(mixed)) if i not in keep]
    assert (stack.died[dead] >= 0).all() and (stack.died[dead] < 3).all()
    assert (stack.died[keep] == -1).all() and (calm.died == -1).all()
    assert done.errors[-1][dead].isnan().all() and done.errors[-1][keep].isfinite().all()
    torch.testing.assert_close(done.errors[-1][keep], expected.errors[-1], rtol=1e-6, atol=0)
    for n in network.trained:
        assert relative(getattr(stack, n)[keep], getattr(calm, n)) < 1e-6
        assert (getattr(stack, n)[dead] == 0).all()
    scores = stack.evaluate(split)
    assert scores["error"][dead].isnan().all() and scores["error"][keep].isfinite().all()


@pytest.mark.parametrize("name", EVERY)
def test_evaluate_is_the_mean_over_points(name):
    network, split = build(name), samples(2, 13, 6, 4)
    stack = Stack(network, grid([0, 1], [0.1], [0.0, 0.1]), [0, 1], batch=5, dtype=torch.float64)
    run(stack, split, 2)
    scores = stack.evaluate(split, block=4)
    for i, replica in enumerate(stack.replicas):
        p = {n: value[i : i + 1] for n, value in stack.weights().items()}
        out = network.forward(p, split.x[[replica.seed]])[0]
        error = sum((out[j] - split.y[replica.seed, j]).square().sum() for j in range(13)) / 13
        share = sum(out[j] @ split.probes["cF"][replica.seed, j] for j in range(13)) / (13 * 4)
        assert scores["error"][i].item() == pytest.approx(error.item(), rel=1e-12)
        assert scores["cF"][i].item() == pytest.approx(share.item(), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", ["resnet3", "layer2", "layer2-last", "resnet3-ntk"])
def test_distances_are_norms_of_the_weights_and_of_their_moves(name):
    network, split = build(name), samples(2, 24, 6, 4, torch.float32)
    replicas = [*grid([0, 1], [0.01, 0.05], [0.0, 0.1]), Replica(1, 1e30, 0.0)]
    stack = Stack(network, replicas, [0, 1], batch=10, diverged_at=1000.0)
    starts = {n: getattr(stack, n).clone() for n in network.trained}
    assert all((stack.distances()[f"moved_{n}"] == 0).all() for n in network.trained)
    run(stack, split, 5)
    found = stack.distances()
    assert set(found) == {f"{what}_{n}" for n in network.trained for what in ("norm", "moved")}
    for n in network.trained:
        for i in range(len(replicas) - 1):
            now, before = (v[i].flatten().double().tolist() for v in (getattr(stack, n), starts[n]))
            assert found[f"norm_{n}"][i].item() == pytest.approx(sum(a * a for a in now) ** 0.5, rel=1e-12)
            moved = sum((a - b) ** 2 for a, b in zip(now, before, strict=True)) ** 0.5
            assert 0 < moved == pytest.approx(found[f"moved_{n}"][i].item(), rel=1e-12)
        assert found[f"norm_{n}"][-1].isnan() and found[f"moved_{n}"][-1].isnan()  # it diverged


def test_noisy_labels_are_measured_against_clean_ones_too():
    network, split = build("layer2"), samples(2, 13, 6, 4)
    noisy = replace(split, clean=split.y, y=split.y + normal(2, 13, 4, seed=9)).to(
        torch.device("cpu"), torch.float64
    )
    stack = Stack(network, grid([0, 1], [0.1], [0.0, 0.1]), [0, 1], batch=5, dtype=torch.float64)
    scores, plain = stack.evaluate(noisy, block=4), stack.evaluate(split)
    assert torch.equal(scores["risk"], stack.evaluate(split, block=4)["error"]) and "risk" not in plain
    assert not torch.isclose(scores["error"], scores["risk"]).any()
    assert torch.equal(scores["cF"], stack.evaluate(split, block=4)["cF"])
