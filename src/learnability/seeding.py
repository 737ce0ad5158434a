"""Random streams named by what they are for, not by the order in which they are drawn.

Each stream's seed is a hash of its names, so that replica 7's initialisation is the same alone, in a
stack of 64 or after a resume, and no two purposes share numbers. Drawn on the CPU on every device.
"""

from __future__ import annotations

import hashlib

import torch


def stream(*names: str | int) -> torch.Generator:
    """A CPU generator for e.g. ``stream('init', 'resnet3', 200, seed)``."""
    text = "/".join(map(str, names))
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
    return torch.Generator().manual_seed(seed)
