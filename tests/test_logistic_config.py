"""Paper D in the config: data sets on the sphere, the axis L, methods without a validation split; a mistake is one
line."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from learnability import plan
from learnability.config import load_experiment
from learnability.errors import UserError

SPHERE: dict[str, Any] = {"kind": "sphere", "d": 6}
DOWN: dict[str, Any] = {"train": "interpolate"}
BODY: dict[str, Any] = {
    "id": "one",
    "claims": {},
    "teacher": SPHERE,
    "data": {"n_train": 3, "seeds": [0, 1]},
    "axes": {"L": [1, 2]},
    "learners": {"down": DOWN},
    "scales": {"smoke": {}, "laptop": {}, "paper": {}},
}
FILE = Path("config/experiments/one.yaml")
HIDDEN = {"train": "hidden", "network": "layer2", "lr": [0.1], "wd": [0.0], "axes": {"m": [10]}}

# what to lay over the body -> key blamed, what the line must say
MISTAKES: dict[str, tuple[dict[str, Any], str, str]] = {
    "no depth": ({"axes": {}}, "learners.down.axes.L", "missing; numbers of hidden layers go here or in axes.L"),
    "depth zero": ({"axes": {"L": [0]}}, "axes.L.0", "a whole number > 0, got 0"),
    "one dimension": ({"teacher": SPHERE | {"d": 1}}, "teacher.d", "a whole number >= 2, got 1"),
    "unknown points": (
        {"teacher": SPHERE | {"points": "cube"}},
        "teacher.points",
        "one of random, halfspace, clust",
    ),
    "clusters without a radius": (
        {"teacher": SPHERE | {"points": "clustered"}},
        "teacher.radius",
        "missing; points: clustered needs it, or count, the n to choose it for",
    ),
    "radius too large": ({"teacher": SPHERE | {"radius": 1.5}}, "teacher.radius", "got 1.5"),
    "gap zero": ({"teacher": SPHERE | {"gap": 0}}, "teacher.gap", "a finite number > 0 and <= 2, got 0"),
    "unknown activation": (
        {"learners": {"down": DOWN | {"activation": "gelu"}}},
        "learners.down.activation",
        "one of huber, swish, relu, got",
    ),
    "negative fall": ({"learners": {"down": DOWN | {"s": -1}}}, "learners.down.s", "a finite number >= 0, got -1"),
    "no factor": ({"learners": {"down": DOWN | {"h_times": []}}}, "learners.down.h_times", "a list of 1 or more"),
    "factor twice": (
        {"learners": {"down": DOWN | {"alpha_times": [1.0, 1.0]}}},
        "learners.down.alpha_times",
        "values must be distinct",
    ),
    "another paper's learner": (
        {"learners": {"net": HIDDEN}},
        "learners.net.train",
        "must be one of interpolate, two_phases, margin for a teacher of kind: sphere, got hidden",
    ),
    "a line to descend on": (
        {"teacher": {"kind": "line"}},
        "learners.down.train",
        "interpolate is for a teacher of kind: sphere, got line",
    ),
    "an activation on the sphere": (
        {"learners": {"huber": {"train": "definition", "activation": "huber", "h": [1.0]}}},
        "learners.huber.train",
        "must be one of interpolate, two_phases, margin for a teacher of kind: sphere, got definition",
    ),
    "delta one": (
        {"learners": {"two": {"train": "two_phases", "delta": 1.0}}},
        "learners.two.delta",
        "a finite number > 0 and < 1, got 1.0",
    ),
    "unknown h": (
        {"learners": {"m": {"train": "margin", "h": "small"}}},
        "learners.m.h",
        'one of nt, clustered, got "small"',
    ),
}


def load(folder: Path, **over: Any):
    path = folder / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(copy.deepcopy(BODY) | over))
    return load_experiment(path, "laptop")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_file_key_and_choices(name, tmp_path):
    over, key, words = MISTAKES[name]
    with pytest.raises(UserError) as error:
        load(tmp_path, **over)
    line = str(error.value)
    assert "\n" not in line and f"{FILE}: {key}: " in line and words in line


def test_other_papers_need_all_three_splits(tmp_path):
    parity = {"kind": "parity_composite", "d": 8, "k": 4, "f_degree": 1, "g_degree": None, "alpha": 0.3}
    over = {"teacher": parity, "learners": {"net": HIDDEN}, "axes": {}}
    for size in ("n_val", "n_test"):
        sizes = {"n_train": 9, "n_val": 9, "n_test": 9, "seeds": [0]} | {size: 0}
        with pytest.raises(UserError, match=rf"data\.{size}: must be > 0: learner net is measured there"):
            load(tmp_path, **over, data=sizes)
    with pytest.raises(UserError, match=r"learners\.net\.axes\.L: train: hidden has no depth"):
        load(
            tmp_path,
            **over | {"learners": {"net": HIDDEN | {"axes": {"m": [10], "L": [1]}}}},
            data=sizes | {size: 9},
        )


def test_depth_is_an_axis_and_a_part_of_the_jobs_config(tmp_path):
    experiment = load(tmp_path, axes={"L": [1, 2], "d": [4, 6]}, together=["d"])
    jobs = plan.jobs(experiment)
    assert [job.point for job in jobs] == ["L1", "L2"] and len({job.digest() for job in jobs}) == 2
    parts = jobs[1].parts
    assert [(part.depth, part.teacher.d, part.name) for part in parts] == [(2, 4, "d4"), (2, 6, "d6")]
    assert parts[0].config()["depth"] == 2 and parts[0].columns()["L"] == 2 and math.isnan(parts[0].columns()["m"])
    assert all(job.work() > 0 and job.training is None for job in jobs)


def test_every_method_of_paper_d_is_read(tmp_path):
    learners = {
        "down": DOWN | {"activation": "swish", "alpha_times": [1, 1e8], "width": 9},
        "two": {"train": "two_phases", "c_1": 3.0},
        "margin": {"train": "margin", "h": "clustered", "starts": 2},
    }
    found = load(tmp_path, learners=learners).learners
    assert found["down"].width == 9 and found["two"].c_1 == 3.0 and found["margin"].starts == 2
    line = load(
        tmp_path,
        teacher={"kind": "line", "reach": 10.0},
        axes={},
        learners={"huber": {"train": "definition", "activation": "huber", "h": [0.1, 1.0]}},
    )
    assert line.learners["huber"].h == [0.1, 1.0] and plan.jobs(line)[0].point == "all"
