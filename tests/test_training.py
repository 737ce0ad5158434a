"""Schedule, chunks, batch order, divergence, devices: what the stack promises beside its mathematics."""

from __future__ import annotations

import fcntl
import math
import os

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from learnability import learners
from learnability.errors import UserError
from learnability.training import device
from learnability.training.sgd import StepSchedule
from learnability.training.stack import Split, Stack, batch_orders, chunk_rows, grid


def stack_and_split(seeds: list[int], lrs: list[float], n: int = 40, **more) -> tuple[Stack, Split]:
    network = learners.build("resnet3", d=6, k=2, width=12)
    generator = torch.Generator().manual_seed(0)
    x = torch.cat([torch.randn(len(seeds), n, 6, generator=generator), torch.ones(len(seeds), n, 1)], -1)
    y = torch.randn(len(seeds), n, 2, generator=generator)
    return Stack(network, grid(seeds, lrs, [0.0]), seeds, 10, **more), Split(x, y, {"cF": y})


@given(st.lists(st.integers(1, 50), min_size=1, max_size=4), st.floats(1.5, 20))
def test_schedule_drops_once_a_phase(phases: list[int], drop: float) -> None:
    schedule = StepSchedule(tuple(phases), drop)
    factors = [schedule.factor(epoch) for epoch in range(schedule.epochs)]
    expected = [drop**-i for i, length in enumerate(phases) for _ in range(length)]
    assert factors == pytest.approx(expected)


@given(st.integers(1, 300), st.integers(1, 10**6), st.floats(1, 10**8) | st.just(math.inf))
def test_chunks_cover_all_replicas_once_and_fit(count: int, each: int, cache: float) -> None:
    chunks = chunk_rows(count, each, cache)
    assert [i for rows in chunks for i in range(rows.start, rows.stop)] == list(range(count))
    for rows in chunks:
        assert rows.stop - rows.start == 1 or (rows.stop - rows.start) * each <= cache


def test_order_is_a_permutation_by_seed_and_epoch_only() -> None:
    one, _ = stack_and_split([3, 5], [0.1])
    other, _ = stack_and_split([5], [0.1, 0.2])
    order = batch_orders(one.seeds, 7, 40, torch.device("cpu"))
    assert order[0].sort().values.tolist() == list(range(40))
    # seed 5 in both
    assert (order[1] - 40).tolist() == batch_orders(other.seeds, 7, 40, torch.device("cpu"))[0].tolist()
    assert order[0].tolist() != batch_orders(one.seeds, 8, 40, torch.device("cpu"))[0].tolist()


def test_seeds_differ_in_start_and_rates_do_not() -> None:
    stack, _ = stack_and_split([0, 1], [0.1, 0.2])
    weights = stack.weights()["W"]
    by_replica = {(r.seed, r.lr): weights[i] for i, r in enumerate(stack.replicas)}
    assert torch.equal(by_replica[0, 0.1], by_replica[0, 0.2])
    assert not torch.equal(by_replica[0, 0.1], by_replica[1, 0.1])


def test_device_is_claimed_and_not_shared(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    taken = os.open(tmp_path / "gpu0.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(taken, fcntl.LOCK_EX)  # another job holds GPU 0
    assert device.pick_device("cuda", tmp_path) == torch.device("cuda", 1)
    assert device.pick_device("auto", tmp_path).type == "cuda"  # both taken: shared
    assert device.pick_device("cpu", tmp_path) == torch.device("cpu")
    os.close(taken)


def test_missing_device_is_a_clear_message(tmp_path) -> None:
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="device: 'cuda' is not available"):
            device.pick_device("cuda", tmp_path)
