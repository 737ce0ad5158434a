"""config -> samples: inputs and labels of every split and seed, and the teacher that made them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from learnability import teachers
from learnability.artifacts import read_tensors, write_tensors
from learnability.errors import UserError
from learnability.seeding import stream
from learnability.training.stack import Split

SPLITS = ("train", "val", "test")


def run(config: dict[str, Any], output: Path, say: Callable[[str], None]) -> None:
    """Draw x (S, n, d) and y (S, n, k) for each split; a seed has samples of its own in all three."""
    parameters = dict(config["teacher"])
    teacher = teachers.build(parameters.pop("kind"), **parameters)
    alone, nothing = teacher.risk_without_composite(), teacher.risk([{} for _ in range(teacher.k)])
    say(f"exact population errors: {nothing:.4g} of out = 0, {alone:.4g} of learning F alone")
    tensors: dict[str, torch.Tensor] = {}
    for split in SPLITS:
        n = config["data"][f"n_{split}"]
        xs, ys = [], []
        for seed in config["data"]["seeds"]:
            xs.append(teacher.inputs(n, stream("x", split, seed)))
            ys.append(teacher.labels(xs[-1], stream("noise", split, seed)))
        tensors[f"x_{split}"], tensors[f"y_{split}"] = torch.stack(xs), torch.stack(ys)
    write_tensors(output, tensors, {"config": json.dumps(config, sort_keys=True)})


def load(path: Path, teacher_config: dict[str, Any], data: dict[str, Any]) -> dict[str, Split]:
    """The splits of a samples file for one job: the first ``n_train`` training samples, labels by
    the job's teacher (an axis may have changed alpha or beta), and the constant 1 beside x."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; `learnability sample {path.parent.name}` makes it")
    tensors, meta = read_tensors(path)
    n_train = data["n_train"]
    made_with = _check(path, tensors, meta, data)["teacher"]
    parameters = dict(teacher_config)
    teacher = teachers.build(parameters.pop("kind"), **parameters)
    splits = {}
    for split in SPLITS:
        x, y = tensors[f"x_{split}"], tensors[f"y_{split}"]
        if split == "train":
            x, y = x[:, :n_train], y[:, :n_train]
        if made_with != teacher_config:
            before = teachers.build(**made_with)
            y = teacher(x) + (y - before(x))  # the same noise on the new signal
        ones = torch.ones(*x.shape[:2], 1)
        splits[split] = Split(torch.cat([x, ones], dim=-1), y, teacher.probes(x))
    return splits


def _check(path: Path, tensors: dict, meta: dict[str, str], data: dict[str, Any]) -> dict[str, Any]:
    """The config a samples file was made with, if it holds what this job needs."""
    try:
        made_with = json.loads(meta["config"])
        held = made_with["data"]
        shapes = {name: tensors[name].shape[:2] for s in SPLITS for name in (f"x_{s}", f"y_{s}")}
        sizes = {name: (len(held["seeds"]), held[f"n_{name[2:]}"]) for name in shapes}
    except (KeyError, ValueError, TypeError):
        raise UserError(f"{path}: not a samples file; delete it and rerun to make it again") from None
    same = all(held[key] == data[key] for key in ("seeds", "n_val", "n_test"))
    if not same or held["n_train"] < data["n_train"] or shapes != sizes:
        raise UserError(f"{path}: holds other seeds or sizes than the config; delete it and rerun")
    return made_with
