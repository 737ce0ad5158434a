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
INPUT_KEYS = ("kind", "support", "d", "distribution", "spread", "components", "classes", "draw")
INPUT_KEYS += ("points", "radius", "count", "delta", "gap", "reach")


def run(config: dict[str, Any], output: Path, say: Callable[[str], None]) -> None:
    """Draw x (S, n, d) and y (S, n, k) for each split; a seed has samples of its own in all three."""
    teacher = _teacher(config["teacher"])
    say(teacher.describe())
    seeds = config["data"]["seeds"]
    mine = [teacher.of_seed(seed) for seed in seeds]
    known = [one.tensors() for one in mine]
    tensors = {f"teacher_{name}": torch.stack([one[name] for one in known]) for name in known[0]}
    if hasattr(teacher, "variance"):
        tensors["variance"] = torch.tensor([one.variance() for one in mine], dtype=torch.float64)
    for split in SPLITS:
        n = config["data"][f"n_{split}"]
        xs = [one.inputs(n, stream("x", split, seed)) for one, seed in zip(mine, seeds, strict=True)]
        tensors[f"x_{split}"] = torch.stack(xs)
        tensors[f"y_{split}"] = _labels(mine, xs, split, seeds)
    write_tensors(output, tensors, {"config": json.dumps(config, sort_keys=True)})


def _labels(mine: list, xs: Any, split: str, seeds: list[int]) -> torch.Tensor:
    """Labels (S, n, k) of each seed's own teacher."""
    return torch.stack(
        [one.labels(x, stream("noise", split, seed)) for one, x, seed in zip(mine, xs, seeds, strict=True)]
    )


def variances(path: Path, config: dict[str, Any], seeds: list[int]) -> dict[int, float]:
    """Exact Var(G*) of each seed's teacher, where the teacher knows it: from the file if it is the file's
    teacher.
    """
    teacher = _teacher(config)
    if not hasattr(teacher, "variance"):
        return {}
    tensors, meta = read_tensors(path)
    made_with = json.loads(meta["config"])
    if made_with["teacher"] == config:
        held = made_with["data"]["seeds"]
        return {seed: float(tensors["variance"][held.index(seed)]) for seed in seeds}
    return {seed: teacher.of_seed(seed).variance() for seed in seeds}


def _teacher(config: dict[str, Any]) -> Any:
    """The teacher, or one line for the user if there is none with these parameters."""
    try:
        teacher = teachers.build(**config)
        teacher.of_seed(0)(teacher.of_seed(0).inputs(1, stream("x")))  # what is drawn late is drawn here
    except ValueError as error:
        raise UserError(f"teacher: {error}") from None
    return teacher


def load(path: Path, teacher_config: dict[str, Any], data: dict[str, Any]) -> dict[str, Split]:
    """The splits of a samples file for one part of a job: the first ``n_train`` training samples, the first d
    coordinates (a prefix of a uniform sign vector is one), labels by the part's own teacher (an axis may have
    changed it; the noise is drawn again from its stream) and the constant 1 beside x."""
    tensors, meta = _read(path)
    made_with = _check(path, tensors, meta, teacher_config, data)
    mine = [made_with["data"]["seeds"].index(seed) for seed in data["seeds"]]
    teacher = _teacher(teacher_config)
    ours = [teacher.of_seed(seed) for seed in data["seeds"]]
    splits = {}
    for split in SPLITS:
        columns = teacher.d + int(teacher_config.get("classes", False))  # x_0 before x
        x, y = tensors[f"x_{split}"][mine][..., :columns], tensors[f"y_{split}"][mine]
        if made_with["teacher"] != teacher_config:
            if teacher_config.get("classes"):  # x_0 lies about this teacher's mean
                count = x.shape[1]
                pairs = zip(ours, data["seeds"], strict=True)
                x = torch.stack([one.inputs(count, stream("x", split, seed)) for one, seed in pairs])
            y = _labels(ours, x, split, data["seeds"])
        n = data[f"n_{split}"]  # a prefix of the training samples, all of the others
        x, y = x[:, :n], y[:, :n]
        clean = torch.stack([one(x[i]) for i, one in enumerate(ours)]).float() if teacher.noise else None
        ones = torch.ones(*x.shape[:2], 1)
        splits[split] = Split(torch.cat([x, ones], dim=-1), y, teacher.probes(x), clean)
    return splits


def points(path: Path, teacher_config: dict[str, Any], data: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Paper D's data sets of one part of a job, as they are: x (S, n, d) and y (S, n), float64.

    Sets are nested in n. Those of another d than the file's are drawn anew from the same streams: no part of a
    point on a sphere lies on a smaller one.
    """
    tensors, meta = _read(path)
    made_with = _check(path, tensors, meta, teacher_config, data)
    held = made_with["data"]
    if made_with["teacher"] == teacher_config:
        mine = [held["seeds"].index(seed) for seed in data["seeds"]]
        x, y = tensors["x_train"][mine], tensors["y_train"][mine]
    else:
        teacher = _teacher(teacher_config)
        ours = [teacher.of_seed(seed) for seed in data["seeds"]]
        pairs = zip(ours, data["seeds"], strict=True)
        x = torch.stack([one.inputs(held["n_train"], stream("x", "train", seed)) for one, seed in pairs])
        y = _labels(ours, x, "train", data["seeds"])
    n = data["n_train"]
    return x[:, :n].double(), y[:, :n, 0].double()


def _read(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """A samples file, or one line that says how to make it."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; `learnability sample {path.parent.name}` makes it")
    return read_tensors(path)


def _check(path: Path, tensors: dict, meta: dict[str, str], teacher: dict, data: dict) -> dict[str, Any]:
    """The config a samples file was made with, if it holds what this job needs."""
    try:
        made_with = json.loads(meta["config"])
        held = made_with["data"]
        shapes = {name: tensors[name].shape[:2] for s in SPLITS for name in (f"x_{s}", f"y_{s}")}
        sizes = {name: (len(held["seeds"]), held[f"n_{name[2:]}"]) for name in shapes}
        inputs = {key: made_with["teacher"].get(key) for key in INPUT_KEYS}
        if "support" not in teacher and inputs["d"] > teacher["d"]:
            inputs["d"] = teacher["d"]  # a prefix of a sign vector will do
    except (KeyError, ValueError, TypeError, AttributeError):
        raise UserError(f"{path}: not a samples file; delete it and rerun to make it again") from None
    same = all(held[key] == data[key] for key in ("n_val", "n_test")) and set(data["seeds"]) <= set(held["seeds"])
    same = same and inputs == {key: teacher.get(key) for key in inputs}
    if not same or held["n_train"] < data["n_train"] or shapes != sizes:
        raise UserError(f"{path}: holds other seeds or sizes than the config; delete it and rerun")
    return made_with
