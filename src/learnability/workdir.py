"""After a kill: let the same command go on, without ``--unlock`` and without a job left behind.

Snakemake's lock outlives a Snakemake that was killed, and so do its jobs. Every Snakemake that reads our
Snakefile therefore holds a shared flock, which the kernel drops with the process; whoever can get it
alone knows that no other is alive and that a lock found is stale.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

_held: list[int] = []  # open for the life of the process


def clear_stale_lock(folder: Path = Path(".snakemake")) -> bool:
    """Remove ``folder/locks/*`` if no other Snakemake of this directory lives; True if any was there."""
    folder.mkdir(exist_ok=True)
    handle = os.open(folder / "alive.flock", os.O_CREAT | os.O_RDWR)
    _held.append(handle)
    stale = []
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        stale = list((folder / "locks").glob("*.lock"))
        for path in stale:
            path.unlink()
    except BlockingIOError:
        pass  # another one is alive: its lock is good
    fcntl.flock(handle, fcntl.LOCK_SH)
    return bool(stale)


def end_with(process: int, say: Callable[[str], None], every: float = 1.0) -> None:
    """End this process when ``process`` (the Snakemake that started it) is gone."""

    def watch() -> None:
        while True:
            time.sleep(every)
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                say("Snakemake is gone: stopping here; the next run resumes from the checkpoint")
                os._exit(143)

    threading.Thread(target=watch, daemon=True).start()
