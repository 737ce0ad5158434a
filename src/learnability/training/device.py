"""Which device a job runs on. Snakemake does not hand out local GPU numbers, so jobs claim them."""

from __future__ import annotations

import ctypes
import fcntl
import os
from contextlib import suppress
from pathlib import Path

import torch

from learnability.errors import UserError

_held: list[int] = []  # open lock files: kept until the process ends


def pick_device(wanted: str, locks: Path) -> torch.device:
    """``auto``, ``cpu``, ``cuda`` or ``mps`` -> a device; of several GPUs, one no other job holds.

    A GPU is held by an flock on ``locks/gpu<i>.lock`` until the process ends, however it ends. If
    all are taken (more jobs than GPUs), jobs share them by process number.
    """
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if wanted == "auto":
        wanted = "cuda" if cuda else "cpu"
    if (wanted == "cuda" and not cuda) or (wanted == "mps" and not mps):
        raise UserError(f"config: device: {wanted!r} is not available here; use 'auto' or 'cpu'")
    if wanted != "cuda":
        return torch.device(wanted)
    locks.mkdir(parents=True, exist_ok=True)
    count = torch.cuda.device_count()
    for index in range(count):
        handle = os.open(locks / f"gpu{index}.lock", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            continue
        _held.append(handle)
        return torch.device("cuda", index)
    return torch.device("cuda", os.getpid() % count)


def set_threads(threads: int) -> None:
    """Pin torch's pools to what the rule was given; the BLAS pools are pinned by environment."""
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)


def keep_freed_memory() -> None:
    """Tell glibc to reuse freed arrays instead of handing them back to the kernel page by page.

    Products of tangent features allocate arrays of tens of megabytes thousands of times; without this,
    over a third of their time went into page faults. Elsewhere than on glibc nothing happens.
    """
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL("libc.so.6").mallopt
        mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD: arrays up to this size come from the heap
        mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD: which keeps this much when they are freed
