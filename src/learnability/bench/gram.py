"""Entries a second of the tangent kernel's Gram matrix against plain NumPy, and the memory of a large one.

The kernel is that of the three-layer ReLU network at infinite width (two hidden layers, A fixed), float64, d = 30.
The peer is the recursion as one writes it down in NumPy. Two kinds of inputs: Gaussian, where every entry is
computed, and {-1, 1}^d, where the kernel takes d + 1 values. Memory is the growth of a process's peak while it
multiplies by a matrix of n = 20,000 that it never holds, against the block size that it was given.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from learnability.kernels.analytic import build
from learnability.kernels.gram import BLOCK_MB, gram

D = 30
SIZES = (2000, 5000)
LARGE = 20_000
ROUNDS = 3

MEMORY = """
import resource, sys, torch
from pathlib import Path
from learnability.kernels.analytic import build
from learnability.kernels.gram import gram, gram_times
how, n, block_mb = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
torch.set_num_threads(1)
def peak():  # in MB; on Linux ru_maxrss starts from the parent's, so the kernel's own count is read
    if Path("/proc/self/status").exists():
        return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
x = torch.randn(n, 30, dtype=torch.float64)
kernel, vectors = build("tangent", d=30, depth=2), x[:, :8].contiguous()
gram(kernel, x[:50], block_mb=0.1), gram_times(kernel, x[:50], vectors[:50], block_mb=0.1)  # libraries load
square = x[:400] @ x[:400].T  # and BLAS takes the workspace that it keeps
square @ vectors[:400], square.T @ vectors[:400]
ballast = torch.ones(2**25)  # held: the peak of the imports, freed since, must not hide ours
before = peak()
result = gram(kernel, x, block_mb=block_mb) if how == "gram" else gram_times(kernel, x, vectors, block_mb=block_mb)
print(peak() - before - result.numel() * 8 / 2**20)
"""


def plain_tangent(x: np.ndarray) -> np.ndarray:
    """Theta of the three-layer network, hidden weights trained: (n, d) -> (n, n)."""
    cov = x @ x.T / x.shape[1]
    q = np.diag(cov)
    theta = cov
    for layer in range(2):
        norms = np.sqrt(np.outer(q, q))
        rho = np.clip(cov / norms, -1, 1)
        angle = np.arccos(rho)
        slope = (np.pi - angle) / (2 * np.pi)
        cov = norms * (np.sin(angle) + (np.pi - angle) * rho) / (2 * np.pi)
        theta = slope * theta + (cov if layer == 0 else 0)
        q = q / 2
    return theta


def speeds(n: int, say: Callable[[str], None]) -> tuple[float, float, float]:
    """Entries a second, in millions: ours on Gaussian inputs, ours on {-1, 1}^d, the peer; medians."""
    x = torch.randn(n, D, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    kernel, plain = build("tangent", d=D, depth=2), x.numpy()
    cube = x.sign()
    sides = [lambda: gram(kernel, x), lambda: gram(kernel, cube), lambda: plain_tangent(plain)]
    seconds: list[list[float]] = [[], [], []]
    for _ in range(ROUNDS):
        for side, record in zip(sides, seconds, strict=True):
            start = time.perf_counter()
            side()
            record.append(time.perf_counter() - start)
    found = [n * n / 1e6 / statistics.median(record) for record in seconds]
    say(
        f"Gram n = {n}: million entries/s on reals, on the hypercube, NumPy: "
        + ", ".join(f"{v:.0f}" for v in found)
    )
    return found[0], found[1], found[2]


def memory(n: int, block_mb: float = BLOCK_MB) -> float:
    """Growth of a fresh process's peak in MB (2^20 bytes), the result aside."""
    words = [sys.executable, "-c", MEMORY, "gram_times", str(n), str(block_mb)]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def measure(say: Callable[[str], None]) -> list[tuple[str, float, float, str, str]]:
    """(name, ours, peer, peer's name, unit) of each line."""
    found = []
    for n in SIZES:
        reals, cube, peer = speeds(n, say)
        found.append((f"tangent Gram n={n}", reals, peer, "NumPy", "million entries/s"))
        found.append((f"tangent Gram on hypercube n={n}", cube, peer, "NumPy", "million entries/s"))
    grown = memory(LARGE)
    say(f"Gram n = {LARGE}: {grown:.1f} MB of {BLOCK_MB:.0f} MB allowed")
    found.append((f"Gram memory n={LARGE}", grown, BLOCK_MB, "block size", "MB"))
    return found
