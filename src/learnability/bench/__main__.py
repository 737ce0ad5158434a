"""``python -m learnability.bench [WIDTH ...]``: writes ``results/bench/bench.csv`` and prints it."""

from __future__ import annotations

import csv
import io
import os
import sys
from pathlib import Path

for pool in ("OMP", "MKL", "OPENBLAS"):  # before torch: one thread for every side
    os.environ[f"{pool}_NUM_THREADS"] = "1"

from learnability.artifacts import write_text  # noqa: E402
from learnability.bench import descent, gram, startup, throughput  # noqa: E402
from learnability.training.device import set_threads  # noqa: E402

OUTPUT = Path("results/bench/bench.csv")
COLUMNS = ["name", "ours", "peer", "peer_name", "unit", "ratio"]


def say(line: str) -> None:
    """Progress, apart from the result."""
    print(line, file=sys.stderr, flush=True)


def row(name: str, ours: float, peer: float, peer_name: str, unit: str) -> list[str]:
    """One line of the table; the ratio is ours / peer."""
    return [name, f"{ours:.4g}", f"{peer:.4g}", peer_name, unit, f"{ours / peer:.3g}"]


def main(widths: list[int]) -> None:
    """Measure, write, print."""
    set_threads(1)
    rows = []
    peak = throughput.peak_gflops()
    for width in widths:
        speeds = throughput.measure(width, say)
        peers = {
            "one Lightning run per model": speeds.lightning,
            "one bare Lightning run per model": speeds.bare,
            "plain PyTorch loop per model": speeds.loop,
        }
        for peer_name, peer in peers.items():
            rows.append(row(f"stack m={width}", speeds.stack, peer, peer_name, "model-steps/s"))
        achieved = speeds.stack * throughput.flops(width) / 1e9
        rows.append(row(f"arithmetic m={width}", achieved, peak, "1024^3 matrix product", "GFLOP/s"))
    rows += [row(*line) for line in gram.measure(say)]
    rows += [row(*line) for line in descent.measure(say)]
    seconds = startup.measure(say)
    bare = seconds.pop("import torch")
    rows += [row(f"start {verb}", value, bare, "import torch", "s") for verb, value in seconds.items()]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([COLUMNS, *rows])
    write_text(OUTPUT, buffer.getvalue())
    print(buffer.getvalue(), end="")


if __name__ == "__main__":
    main([int(w) for w in sys.argv[1:]] or list(throughput.REPLICAS))
