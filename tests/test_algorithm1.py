"""Algorithm 1's stages on objectives made up for it, and the flat optimisers against torch's."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from learnability.training.algorithm1 import NEVER, Machine, Stages
from learnability.training.flat import FlatOptimizer
from networks import normal

NAMES = ("2-triangle", "2-nabla", "3-triangle", "3-nabla", "4-triangle", "4-nabla")


def machine(stages: Stages, replicas: int = 1, epsilon: float = 1e-9, thresholds: Tensor | None = None) -> Machine:
    return Machine(stages, replicas, torch.full((replicas,), epsilon), thresholds)


def walk(m: Machine, curve, epochs: int, replica: int = 0) -> list[int]:
    """Feed curve(stage, age) to every replica; the stage that ``replica`` was in, pass by pass."""
    found, age = [], torch.zeros(len(m.stage), dtype=torch.long)
    for epoch in range(epochs):
        found.append(int(m.stage[replica]))
        values = [curve(int(s), int(a)) for s, a in zip(m.stage, age, strict=True)]
        moved = m.observe(epoch, torch.tensor(values, dtype=torch.float64))
        age = torch.where(moved, 0, age + 1)
    return found


# which weights train: rows are stages 2-triangle .. 4-nabla, columns W2 K2 W3 K3 W4 K4
TRAINS = {
    "algorithm1": ("100000", "110000", "111000", "111100", "111110", "111111"),
    "layerwise": ("100000", "110000", "001000", "001100", "000010", "000011"),
    "frozen": ("100000", "110000", "101000", "101100", "101010", "101011"),
    "together": ("111111",),
}


@pytest.mark.parametrize("how", TRAINS)
def test_what_trains_in_each_stage(how):
    stages = Stages(how, (5, 4, 3, 2, 6, 7))
    columns = [(layer, part) for layer in (2, 3, 4) for part in "WK"]
    table = tuple("".join(str(int(stages.trains(s, *c))) for c in columns) for s in range(len(stages.names)))
    assert table == TRAINS[how] and stages.epochs == 27
    together = how == "together"
    assert stages.names == (("together",) if together else NAMES)
    assert stages.lengths == ((27,) if together else (5, 4, 3, 2, 6, 7))


def test_stages_follow_one_another_and_end_on_a_plateau():
    """Ten passes that halve the objective, then none that change it: hand-counted."""
    stages = Stages("algorithm1", (100,) * 6, anneal=0.3, patience=5, smoothing=0.0)
    m = machine(stages)
    found = walk(m, lambda stage, age: (stage + 1) * 0.5 ** min(age, 9), 300)
    # last gain at age 9, flat for 5 passes at age 14, the rate falls in ages 15 to 44
    assert [found.count(s) for s in range(6)] == [45] * 6 and found == sorted(found)
    assert m.entered[0].tolist() == [0, 45, 90, 135, 180, 225]
    assert m.finished.all() and m.stage.tolist() == [6] and found[270:] == [6] * 30
    assert stages.names == NAMES


def test_an_objective_that_keeps_falling_takes_the_longest_time():
    stages = Stages("algorithm1", (20, 7, 50, 3), anneal=0.4, patience=5)
    m = machine(stages)
    found = walk(m, lambda stage, age: 0.8**age, 80)
    assert m.entered[0].tolist() == [0, 20, 27, 77] and m.finished.all()
    assert [found.count(s) for s in range(4)] == [20, 7, 50, 3]


@pytest.mark.parametrize("fall, gain, passes", [(0.995, 0.05, 16), (0.96, 0.05, 100), (0.96, 0.5, 16)])
def test_only_a_gain_of_its_share_counts(fall, gain, passes):
    """A slow fall is flat after 5 passes, then come 10 of falling rate; 0.96^2 is a gain of 5 percent every 2."""
    stages = Stages("algorithm1", (100,), anneal=0.1, patience=5, smoothing=0.0, gain=gain)
    assert walk(machine(stages), lambda stage, age: fall**age, 120).count(0) == passes


def test_the_plateau_rule_watches_a_smoothed_objective():
    """One lucky pass must not count as a gain that later passes are held to."""
    curve = lambda stage, age: 1e-3 if age == 2 else 0.97**age  # noqa: E731
    lengths = {}
    for smoothing in (0.0, 0.9):
        stages = Stages("algorithm1", (100,), anneal=0.1, patience=10, smoothing=smoothing)
        lengths[smoothing] = walk(machine(stages), curve, 150).count(0)
    assert lengths == {0.0: 2 + 10 + 1 + 10, 0.9: 100}


def test_the_rate_falls_linearly_to_its_floor():
    stages = Stages("algorithm1", (10, 10), anneal=0.4, floor=0.01, patience=50)
    m, factors = machine(stages), []
    for epoch in range(22):
        factors.append(m.factor(epoch).item())
        m.observe(epoch, torch.tensor([0.5**epoch]))
    each = [1.0] * 6 + [0.75, 0.5, 0.25, 0.01]
    assert factors == pytest.approx([*each, *each, 0.0, 0.0])


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(3, 30), min_size=2, max_size=6),
    anneal=st.floats(0.1, 0.8),
    patience=st.integers(1, 20),
    seed=st.integers(0, 10**6),
)
def test_no_stage_is_longer_than_its_longest(lengths, anneal, patience, seed):
    stages = Stages("algorithm1", tuple(lengths), anneal=anneal, patience=patience)
    values = normal(stages.epochs, seed=seed).exp().tolist()
    m, noise = machine(stages), iter(values)
    found = walk(m, lambda stage, age: 0.9**age * next(noise), stages.epochs)
    for stage, longest in enumerate(lengths):
        assert stages.annealing(stage) < found.count(stage) <= longest
    assert m.finished.all() and found == sorted(found)


@pytest.mark.parametrize("longest, anneal", [(1, 0.8), (2, 0.8), (10, 0.95)])
def test_no_short_stage_is_longer_than_its_longest(longest, anneal):
    m = machine(Stages("algorithm1", (longest, longest), anneal=anneal))
    assert walk(m, lambda stage, age: 0.9**age, 2 * longest).count(0) <= longest


def test_theory_ends_a_stage_at_its_threshold():
    stages = Stages("algorithm1", (5, 5, 5, 5), constants="theory", patience=1)
    m = machine(stages, 2, thresholds=torch.tensor([[1.0, 0.5, 0.25, 0.1], [1e-3] * 4]))
    seen = []
    for epoch, value in enumerate([1.01, 1.0, 1e-2, 0.4, 0.26, 0.26, 0.25, *[0.01] * 13]):
        assert m.factor(epoch).tolist() == [1.0, 1.0]  # no falling rates
        m.observe(epoch, torch.tensor([value, value]))
        seen.append(m.stage.tolist())
    assert [s for s, _ in seen] == [
        0,
        1,
        2,
        2,
        2,
        2,
        3,
        *[3] * 12,
        4,
    ]  # one stage at a time; the last takes the rest
    assert all(s == 0 for _, s in seen)
    assert m.entered.tolist() == [[0, 2, 3, 7], [0, NEVER, NEVER, NEVER]]


@pytest.mark.parametrize("squared", [True, False])
def test_epsilon_halves_at_its_target(squared):
    m = Machine(Stages("algorithm1", (50, 50)), 2, torch.tensor([2.0, 8.0]))
    # eps_0 = 2: 1, then eps_0 = 1: 1/4 or 1/2, then eps_0 = 1/2: 1/16 or 1/4
    targets = [1.0, 0.25, 0.0625] if squared else [1.0, 0.5, 0.25]
    epsilon = 2.0
    for epoch, target in enumerate(targets):
        m.observe(2 * epoch, torch.tensor([target * 1.001, 100.0]), squared)
        assert m.epsilon.tolist() == [epsilon, 8.0]
        m.observe(2 * epoch + 1, torch.tensor([target, 100.0]), squared)
        epsilon /= 2
        assert m.epsilon.tolist() == [epsilon, 8.0] and m.halvings.tolist() == [epoch + 1, 0]
    m.observe(6, torch.tensor([math.nan, 0.0]), squared)
    assert m.epsilon.tolist() == [epsilon, 4.0]
    m.stage[:] = 2
    m.observe(7, torch.zeros(2), squared)  # who is through does not halve
    assert m.epsilon.tolist() == [epsilon, 4.0] and m.halvings.tolist() == [3, 1]


def feed(m: Machine, values: Tensor, start: int = 0) -> list[list[bool]]:
    return [m.observe(start + epoch, v).tolist() for epoch, v in enumerate(values)]


@pytest.mark.parametrize("constants", ["practical", "theory"])
def test_replicas_are_independent_and_survive_a_checkpoint(constants):
    stages = Stages("algorithm1", (12, 9, 14, 8), constants, anneal=0.5, patience=3)
    values = normal(45, 3, seed=4).exp() * 0.9 ** torch.arange(45)[:, None]
    values[20:, 2] = math.nan  # one dies
    epsilon, thresholds = torch.tensor([3.0, 1.0, 2.0]), torch.tensor([[0.3], [0.05], [1e-9]]).expand(3, 4)
    given = thresholds if constants == "theory" else None
    whole = Machine(stages, 3, epsilon, given)
    moved = feed(whole, values)
    assert len({tuple(row) for row in whole.entered.tolist()}) == 3
    for i in range(3):
        own = Machine(stages, 1, epsilon[i : i + 1], None if given is None else given[i : i + 1])
        assert [m[i] for m in moved] == [m[0] for m in feed(own, values[:, i : i + 1])]
        for name, value in own.named_buffers():
            assert (
                torch.equal(value.nan_to_num(), getattr(whole, name)[i : i + 1].nan_to_num())
                or name == "thresholds"
            )
    first, second = Machine(stages, 3, epsilon, given), Machine(stages, 3, torch.ones(3), given)
    early = feed(first, values[:17])
    second.load_state_dict(first.state_dict())
    assert early + feed(second, values[17:], 17) == moved
    for name, value in whole.named_buffers():
        torch.testing.assert_close(getattr(second, name), value, rtol=0, atol=0, equal_nan=True)


# optimisers


def stepped(
    method: str, rates: Tensor, steps: int, dtype=torch.float64, chunks=(slice(None),), **more
) -> FlatOptimizer:
    """Weights (r, 11) after ``steps`` gradients, with each replica's rate."""
    optimizer = FlatOptimizer(torch.nn.Parameter(normal(len(rates), 11).to(dtype)), method, **more)
    for step in range(steps):
        gradient = normal(len(rates), 11, seed=100 + step).to(dtype)
        for rows in chunks:
            optimizer.apply(rows, gradient[rows], rates[rows].expand(-1, 11).to(dtype))
    return optimizer


def torchs(method: str, rate: float, gradients: list[Tensor], start: Tensor) -> Tensor:
    weights = torch.nn.Parameter(start.clone())
    if method == "adam":
        optimizer = torch.optim.Adam([weights], lr=rate, betas=(0.9, 0.999), eps=1e-12)
    else:
        optimizer = torch.optim.SGD([weights], lr=rate, momentum=0.9)
    for gradient in gradients:
        weights.grad = gradient.clone()
        optimizer.step()
    return weights.data


@pytest.mark.parametrize("dtype, close", [(torch.float64, 1e-11), (torch.float32, 5e-5)], ids=("64", "32"))
@pytest.mark.parametrize("method", ["adam", "sgd"])
def test_flat_steps_are_torchs(method, dtype, close):
    rates = torch.tensor([[0.01], [0.3], [0.05]])
    optimizer = stepped(method, rates, 50, dtype)
    cut = stepped(method, rates, 50, dtype, chunks=(slice(0, 2), slice(2, 3)))
    assert torch.equal(cut.weights, optimizer.weights)
    gradients = [normal(3, 11, seed=100 + step) for step in range(50)]
    for i in range(3):
        expected = torchs(method, rates[i].item(), [g[i] for g in gradients], normal(3, 11)[i])
        assert (expected - normal(3, 11)[i]).abs().max() > 0.05
        torch.testing.assert_close(optimizer.weights[i].double(), expected, rtol=close, atol=close)


@pytest.mark.parametrize("method", ["adam", "sgd"])
def test_forget_starts_anew_for_some(method):
    rates = torch.full((3, 1), 0.1, dtype=torch.float64)
    optimizer = stepped(method, rates, 20)
    middle = optimizer.weights.detach().clone()
    optimizer.forget(torch.tensor([False, True, False]))
    later = [normal(3, 11, seed=500 + step) for step in range(10)]
    saved = FlatOptimizer(torch.nn.Parameter(middle.clone()), method)
    saved.load_state_dict(copy.deepcopy(optimizer.state_dict()))  # a checkpoint keeps the rest
    for gradient in later:
        for one in (optimizer, saved):
            one.apply(slice(None), gradient.clone(), rates.expand(-1, 11))
    assert torch.equal(saved.weights, optimizer.weights)
    for i, forgotten in enumerate((False, True, False)):
        before = [normal(3, 11, seed=100 + step)[i] for step in range(20)]
        start = middle[i] if forgotten else normal(3, 11)[i]
        expected = torchs(method, 0.1, ([] if forgotten else before) + [g[i] for g in later], start)
        torch.testing.assert_close(optimizer.weights[i].detach(), expected, rtol=1e-11, atol=1e-11)


def test_clip_bounds_the_gradient_of_what_moves():
    """Per replica, weights that are held back not counted."""
    rate = torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]).double()
    gradient = torch.tensor([[3.0, 4.0, 100.0], [0.3, 0.4, 0.0], [0.0, 6.0, 8.0]]).double()
    optimizer = FlatOptimizer(torch.nn.Parameter(torch.zeros(3, 3).double()), "sgd", momentum=0.0, clip=1.0)
    optimizer.apply(slice(None), gradient.clone(), rate)
    expected = torch.tensor([[-0.3, -0.4, 0.0], [-0.15, -0.2, 0.0], [0.0, -0.3, -0.4]]).double()
    torch.testing.assert_close(optimizer.weights.data, expected)
    optimizer.apply(slice(None), torch.zeros(3, 3).double(), rate)  # a zero gradient is no division by zero
    torch.testing.assert_close(optimizer.weights.data, expected)


@pytest.mark.parametrize("method", ["adam", "sgd"])
def test_a_rate_of_zero_holds_a_weight_back(method):
    optimizer = stepped(method, torch.full((2, 1), 0.1), 5, clip=0.5)
    before, rate = optimizer.weights.detach().clone(), torch.full((2, 11), 0.1).double()
    rate[0, ::2] = rate[1, :3] = 0.0
    for step in range(5):
        optimizer.apply(slice(None), normal(2, 11, seed=step), rate)
    assert torch.equal(optimizer.weights == before, rate == 0)
