"""The bench measures what it says: arithmetic counted by torch, and every side trains the same net."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from learnability import learners
from learnability.bench import throughput
from learnability.learners.base import Network
from learnability.training.stack import Stack, grid


def test_flops_are_those_torch_counts() -> None:
    width = 64
    network = learners.build("resnet3", d=throughput.D, k=throughput.K, width=width)
    stack = Stack(network, grid([0], [0.1], [0.0]), [0], throughput.BATCH)
    split = throughput.samples([0])
    batch = slice(0, throughput.BATCH)
    into = {name: torch.zeros_like(stack.weights()[name]) for name in network.trained}
    with FlopCounterMode(display=False) as counter:  # it counts autograd's products, not in-place ones
        Network.accumulate(network, stack.weights(), split.x[:, batch], split.y[:, batch], into, 0.0, {})
    unneeded = 2 * throughput.BATCH * width  # autograd also sends back to the constant 1 of (out1, 1)
    assert counter.get_total_flops() == throughput.flops(width) + unneeded


def test_plain_network_is_the_same_function() -> None:
    plain = throughput.PlainResNet(16)
    network = learners.build("resnet3", d=throughput.D, k=throughput.K, width=16)
    weights = {
        "A": plain.a.T[None],
        "W": torch.cat([plain.first.weight, plain.first.bias[:, None]], 1).T[None],
        "V": torch.cat([plain.second.weight, plain.second.bias[:, None]], 1).T[None],
    }
    x = torch.randn(7, throughput.D)
    with_one = torch.cat([x, torch.ones(7, 1)], 1)[None]
    torch.testing.assert_close(network.forward(weights, with_one)[0], plain(x))


def test_bench_writes_its_table(tmp_path: Path) -> None:
    code = (
        "from learnability.bench import descent, gram, throughput, startup, __main__ as bench;"
        "descent.FALL, descent.PEERS = 0.05, {'LSODA': 1e-4};"
        "gram.SIZES, gram.LARGE, gram.ROUNDS = (500,), 5000, 1;"
        "throughput.ROUNDS = 1; throughput.REPLICAS[50] = 16;"
        "measured = startup.measure; startup.measure = lambda say: measured(say, rounds=1);"
        "bench.main([50])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "results/bench/bench.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["name", "ours", "peer", "peer_name", "unit", "ratio"]
    names = [row["name"] for row in rows]
    assert names[:4] == ["stack m=50"] * 3 + ["arithmetic m=50"]
    grams = ["tangent Gram n=500", "tangent Gram on hypercube n=500", "Gram memory n=5000"]
    assert names[4:7] == grams and float(rows[6]["ours"]) < 2 * float(rows[6]["peer"])
    assert names[7] == "sliding flow L=3 p=8" and "start judge" in names and "start train (SGD)" in names
    for row in rows:
        assert abs(float(row["ratio"]) - float(row["ours"]) / float(row["peer"])) < 0.02 * float(row["ratio"])
