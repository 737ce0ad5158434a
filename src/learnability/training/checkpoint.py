"""Checkpoints without pickle: tensors in safetensors, the rest of Lightning's state as JSON beside them.

The tree that Lightning hands over is taken apart: tensors go under numbered names, everything else must
be of JSON's types (tuples come back as lists, which Lightning accepts). Written whole, then renamed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch.plugins.io import CheckpointIO

from learnability.artifacts import read_tensors, write_tensors


def take_apart(tree: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """``tree`` with each tensor moved to ``tensors`` and a mark left in its place."""
    if isinstance(tree, torch.Tensor):
        name = f"t{len(tensors)}"
        tensors[name] = tree.detach().clone()  # views of one storage must not be shared in a file
        return {"tensor": name}
    if isinstance(tree, dict):  # keys may be numbers (torch's optimiser state): kept as pairs
        return {"dict": [[key, take_apart(value, tensors)] for key, value in tree.items()]}
    if isinstance(tree, list | tuple):
        return [take_apart(value, tensors) for value in tree]
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    raise TypeError(f"a checkpoint holds tensors and JSON types only, not {type(tree).__name__}")


def put_together(tree: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """Inverse of :func:`take_apart`."""
    if isinstance(tree, dict):
        if "tensor" in tree:
            return tensors[tree["tensor"]]
        return {key: put_together(value, tensors) for key, value in tree["dict"]}
    if isinstance(tree, list):
        return [put_together(value, tensors) for value in tree]
    return tree


class SafeCheckpointIO(CheckpointIO):
    """Lightning's checkpoint reader and writer, over safetensors."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        tensors: dict[str, torch.Tensor] = {}
        tree = take_apart(checkpoint, tensors)
        write_tensors(Path(path), tensors, {"tree": json.dumps(tree)})

    def load_checkpoint(
        self, path: str | Path, map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        tensors, meta = read_tensors(Path(path))
        return put_together(json.loads(meta["tree"]), tensors)

    def remove_checkpoint(self, path: str | Path) -> None:
        Path(path).unlink(missing_ok=True)
