"""What each verb costs to start: the whole process on an experiment so small that the work is nothing."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

TINY = """
id: tiny
claims: {B-fig2a: {methods: [3resnet, 3resnet-last], min_seeds: 5, from_width: 1}}
teacher: {kind: parity_composite, d: 8, k: 4, f_degree: 2, g_degree: 4, alpha: 0.3}
data: {n_train: 20, n_val: 20, n_test: 20, seeds: [0, 1]}
axes: {m: [10]}
learners:
  3resnet: {network: resnet3, train: hidden, lr: [0.1], wd: [0.001]}
  3resnet-last: {network: resnet3, train: last, wd: [0.01]}
training: {batch: 10, phases: [1], log_every: 1}
scales: {smoke: {}, laptop: {}, paper: {}}
"""

CALLS = {
    "sample": ["sample", "tiny"],
    "train (SGD)": ["train", "tiny", "3resnet", "m10"],
    "train (ridge)": ["train", "tiny", "3resnet-last", "m10"],
    "evaluate": ["evaluate", "tiny"],
    "judge": ["judge", "B-fig2a"],
    "figure": ["figure", "B-fig2a"],
    "ledger": ["ledger"],
    "publish": ["publish"],
}


def measure(say: Callable[[str], None], rounds: int = 3) -> dict[str, float]:
    """Seconds of a whole process by verb, and of ``python -c 'import torch'`` beside them; medians."""
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        experiments = Path(folder) / "config" / "experiments"
        experiments.mkdir(parents=True)
        (experiments / "tiny.yaml").write_text(TINY)
        (experiments.parent / "config.yaml").write_text("tracking: {mode: offline}\n")
        calls = {name: ["-m", "learnability", *words] for name, words in CALLS.items()}
        calls["import torch"] = ["-c", "import torch"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("WANDB", "LEARNA"))}
        for _ in range(rounds):
            for name, words in calls.items():
                start = time.perf_counter()
                subprocess.run(
                    [sys.executable, *words],
                    cwd=folder,
                    env=environment,
                    check=True,
                    capture_output=True,
                )
                seconds.setdefault(name, []).append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    say(", ".join(f"{name} {value:.2f} s" for name, value in medians.items()))
    return medians
