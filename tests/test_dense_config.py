"""Paper A in the config: DenseNets as teachers and learners, two-layer networks; a mistake is one line."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from learnability.config import load_experiment
from learnability.errors import UserError

NET: dict[str, Any] = {"train": "densenet", "lr": [0.01], "stages": [2, 2, 2, 2]}
TWO: dict[str, Any] = {"train": "polynomial", "degree": 4, "wd": [1e-6], "axes": {"m": [3]}}
SIZES: dict[str, Any] = {"kind": "densenet", "d": 6, "alpha": 0.2}
TEACHER = SIZES | {"widths": [3, 2], "graph": [[0, 1], [0, 2]]}
PARITY = {"kind": "parity_composite", "d": 8, "k": 4, "f_degree": 1, "g_degree": None, "alpha": 0.3}
BODY: dict[str, Any] = {
    "id": "one",
    "claims": {},
    "teacher": TEACHER,
    "data": {"n_train": 40, "n_val": 20, "n_test": 30, "seeds": [0, 1]},
    "axes": {},
    "learners": {"net": NET},
    "scales": {"smoke": {}, "laptop": {}, "paper": {}},
}
FILE = Path("config/experiments/one.yaml")
INDEPENDENT = "is for inputs with independent coordinates of one kind"

# key to set -> value, key blamed ('' if the same), what the line must say
TEACHERS: dict[str, tuple[str, Any, str, str]] = {
    "alpha zero": ("alpha", 0, "", "must be a finite number > 0, got 0"),
    "alpha negative": ("alpha", -0.1, "", "must be a finite number > 0, got -0.1"),
    "no widths": ("widths", None, "", "missing; family: random needs k_2, ..., k_L"),
    "widths empty": ("widths", [], "", "a list of 1 to 4, each a whole number > 0, or null, got []"),
    "widths rise": ("widths", [2, 3], "", "must obey d >= k_2 >= ... >= k_L, got d = 6, [2, 3]"),
    "wider than d": ("widths", [7, 2], "", "must obey d >= k_2 >= ... >= k_L, got d = 6, [7, 2]"),
    "d below the widths": ("d", 2, "widths", "got d = 2, [3, 2]"),
    "depth and widths": ("depth", 4, "", "must be 3, one more than there are widths, or left out"),
    "too deep": ("depth", 7, "", "a whole number >= 2 and <= 5, or null, got 7"),
    "unknown family": ("family", "cubic", "", "one of random, supports, identity, even, toy, example, got"),
    "unknown distribution": (
        "distribution",
        "cauchy",
        "",
        "one of gaussian, covariance, mixture, axis_dropping, unif",
    ),
    "graph too short": ("graph", [[0, 1]], "", "must have 2 lists, J_2 to J_3, got 1"),
    "graph not of the layer before": ("graph", [[0], [0, 2]], "", "J_2 = {0} must hold 1, the layer before"),
    "graph of the one before": (
        "graph",
        [[0, 1], [0, 1, 2]],
        "",
        "J_3 = {0, 1, 2} must not hold 1, the layer before",
    ),
    "graph without a skip link": ("graph", [[0, 1], [2]], "", "J_3 = {2} must hold a skip link, one of 0 to 0"),
    "graph of a layer above": ("graph", [[0, 1], [2, 3]], "", "J_3 = {2, 3} must be distinct numbers from 0 to 2"),
    "graph with a link twice": ("graph", [[1, 1], [0, 2]], "", "J_2 = {1, 1} must be distinct numbers from 0 to 1"),
    "graph negative": ("graph", [[0, 1], [0, -2]], "graph.1.1", "a whole number >= 0, got -2"),
    "graph a list of numbers": ("graph", [[0, 1], 2], "graph.1", "must be a list, each a whole number >= 0, got 2"),
    "scale zero": ("scale", 0.0, "", "a finite number > 0, got 0.0"),
    "kappa below one": ("kappa", 0.5, "", "a finite number >= 1, got 0.5"),
    "spread below one": ("spread", 0.5, "", "a finite number >= 1, got 0.5"),
    "no components": ("components", 0, "", "a whole number > 0, got 0"),
    "noise negative": ("noise", -1.0, "", "a finite number >= 0, got -1.0"),
    "another teacher's key": ("g_degree", 2, "", "unknown key; allowed: alpha, classes, components, d, depth"),
    "two outputs": ("k", 2, "", "must be one of 1, got 2"),
    "signs a number": ("signs", 1, "", "must be true or false, got 1"),
    "too many widths": (
        "widths",
        [2] * 5,
        "",
        "a list of 1 to 4, each a whole number > 0, or null, got [2, 2, 2, 2, 2]",
    ),
}

# whole teachers
FAMILIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "toy in other dimensions": ({"family": "toy"}, "d", "must be 4 for family: toy, got 6"),
    "toy with a depth": ({"family": "toy", "d": 4, "depth": 3}, "depth", "is given by family: toy; leave it out"),
    "example with a graph": ({"family": "example", "d": 3, "graph": [[0, 1], [1, 2]]}, "graph", "is given by"),
    "even with widths": ({"family": "even", "widths": [1, 1]}, "widths", "is for family: random; even has its own"),
    "supports too small": ({"family": "supports", "d": 3}, "d", "at least 2^(L-1) = 4 for family: supports, got 3"),
    "deep supports too small": ({"family": "supports", "depth": 4}, "d", "at least 2^(L-1) = 8 for family: sup"),
    "signs of one neuron": ({"widths": [2, 1], "signs": True}, "signs", "needs two neurons or more in every layer"),
    "noisy classes": ({"widths": [2], "classes": True, "noise": 0.1}, "noise", "must be 0 where labels are"),
}  # fmt: skip

LEARNERS: dict[str, tuple[str, Any, str, str]] = {
    "stages too few": ("stages", [2, 2], "", "must have 4 lengths, of 2-triangle, 2-nabla, ..., 3-nabla, got 2"),
    "stages too many": ("stages", [2] * 6, "", "must have 4 lengths, of 2-triangle, 2-nabla, ..., 3-nabla, got 6"),
    "a stage of no length": ("stages", [2, 2, 2, 0], "stages.3", "a whole number > 0, got 0"),
    "no lr": ("lr", [], "", "a list of 1 or more, each a finite number > 0, got []"),
    "weight decay": ("wd", [0.1], "", "must be an empty list, or left out, got [0.1]"),
    "unknown way": ("how", "greedy", "", 'one of algorithm1, layerwise, frozen, together, got "greedy"'),
    "unknown optimiser": ("optimiser", "lbfgs", "", "one of adam, sgd"),
    "unknown distillation": ("distill", "pca", "", "one of balanced, svd, form"),
    "anneal one": ("anneal", 1.0, "", "a finite number > 0 and < 1, got 1.0"),
    "rates of other layers": ("layer_rates", [1.0], "", "must have 2 factors, one a layer, or be left out"),
    "a lambda negative": ("lambdas", [1.0, 1.0, -1.0], "lambdas.2", "a finite number >= 0, got -1.0"),
    "one lambda": ("lambdas", [1.0], "", "a list of 3, each a finite number >= 0"),
    "an alpha of zero": ("alphas", [0.1, 0.0], "alphas.1", "a finite number > 0, got 0.0"),
    "alphas twice": ("alphas", [0.1, 0.1], "", "must be distinct, 0.1 is given"),
    "graphs of another depth": ("graphs", [[[0, 1]]], "", "each must have 2 lists, got [[0, 1]]"),
    "graphs without the layer before": ("graphs", [[[0, 1], [0]]], "", "J_3 = {0} must hold 2, the layer before"),
    "graphs of a layer above": ("graphs", [[[0, 1], [2, 3]]], "", "J_3 = {2, 3} must be distinct numbers from 0"),
    "graphs twice": ("graphs", [TEACHER["graph"]] * 2, "", "must be distinct"),
    "a width": ("axes", {"m": [3]}, "axes.m", "train: densenet has no width"),
    "a network": ("network", "layer2", "", "unknown key; allowed: alphas, anneal, axes"),
}  # fmt: skip

# changes of the body, key blamed, what the line must say
OTHERS: dict[str, tuple[dict[str, Any], str, str]] = {
    "theory with C = 2": (
        {"learners": {"net": NET | {"constants": "theory", "theory_c": 2.0}}},
        "learners.net.theory_c",
        "must be a finite number >= 3, got 2.0",
    ),
    "theory layer-wise": (
        {"learners": {"net": NET | {"how": "layerwise", "constants": "theory"}}},
        "learners.net.constants",
        "theory is for how: algorithm1 only",
    ),
    "svd with signs": (
        {"teacher": TEACHER | {"signs": True}, "learners": {"net": NET | {"distill": "svd"}}},
        "learners.net.distill",
        "svd is for teachers without signs; use balanced",
    ),
    "a DenseNet for parities": ({"teacher": PARITY}, "learners.net.train", "is for a teacher of kind: densenet"),
    "d by covariance": (
        {"teacher": TEACHER | {"distribution": "covariance"}, "axes": {"d": [6]}},
        "axes.d",
        INDEPENDENT,
    ),
    "d by classes": ({"teacher": TEACHER | {"classes": True}, "axes": {"d": [6]}}, "axes.d", INDEPENDENT),
    "a d too small": ({"axes": {"d": [2, 6]}}, "axes", "no such teacher at d = 2: widths must obey d >= k_2"),
    "an alpha of zero": ({"axes": {"alpha": [0.1, 0.0]}}, "axes", "no such teacher at alpha = 0.0: alpha"),
    "noise of classes": (
        {"teacher": TEACHER | {"classes": True}, "axes": {"noise": [0.0, 0.1]}},
        "axes",
        "no such teacher at noise = 0.1: noise must be 0",
    ),
    "beta": ({"axes": {"beta": [1.0]}}, "axes", "no such teacher at beta = 1.0"),
    "no width of two layers": (
        {"learners": {"two": {k: v for k, v in TWO.items() if k != "axes"}}},
        "learners.two.axes.m",
        "missing; widths go here or in axes.m",
    ),
    "ridge of zero": (
        {"learners": {"two": TWO | {"wd": [0.0]}}},
        "learners.two.wd.0",
        "a finite number > 0, got 0.0",
    ),
    "degree of zero": ({"learners": {"two": TWO | {"degree": 0}}}, "learners.two.degree", ">= 1 and <= 16, got 0"),
    "two layers for parities": (
        {"teacher": PARITY, "learners": {"two": TWO}},
        "learners.two.train",
        "kind: densenet",
    ),
    "two layers for classes": (
        {"teacher": TEACHER | {"classes": True}, "learners": {"two": TWO}},
        "learners.two.train",
        "classes",
    ),
}

MISTAKES = {f"teacher: {kind}": ({"teacher": TEACHER | {key: value}}, f"teacher.{at or key}", says)
            for kind, (key, value, at, says) in TEACHERS.items()}  # fmt: skip
MISTAKES |= {
    kind: ({"teacher": SIZES | more}, f"teacher.{at}", says) for kind, (more, at, says) in FAMILIES.items()
}
MISTAKES |= {f"learner: {kind}": ({"learners": {"net": NET | {key: value}}}, f"learners.net.{at or key}", says)
             for kind, (key, value, at, says) in LEARNERS.items()}  # fmt: skip
MISTAKES |= OTHERS


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Reads an experiment with these sections replaced."""
    monkeypatch.chdir(tmp_path)
    FILE.parent.mkdir(parents=True)

    def read(changes: dict[str, Any]):
        FILE.write_text(yaml.safe_dump(copy.deepcopy(BODY) | changes, sort_keys=False))
        return load_experiment(FILE, "smoke")

    return read


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_one_line_with_file_key_and_choices(load, kind):
    changes, blamed, says = MISTAKES[kind]
    with pytest.raises(UserError) as caught:
        load(changes)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{FILE}: {blamed}: ") and says in line, line


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"teacher": SIZES | {"widths": [6, 6, 1], "depth": 4}, "learners": {"net": NET | {"stages": [1] * 6}}},
        {"teacher": SIZES | {"family": "even", "depth": 2}, "learners": {"net": NET | {"stages": [1, 1]}}},
        {"teacher": SIZES | {"family": "example", "d": 3}},
        {"teacher": TEACHER | {"signs": True}},
        {"axes": {"d": [3, 6], "alpha": [0.1, 2.0], "noise": [0.0, 0.1]}},
        {"learners": {"net": NET | {"graphs": [[[1], [2]], [[0, 1], [0, 1, 2]]], "alphas": [0.1, 0.2]}}},
        {"learners": {"two": TWO, "net": NET | {"how": "together", "layer_rates": [1.0, 2.0]}}},
    ],
    ids=["plain", "four", "two", "example", "signs", "axes", "graphs", "methods"],
)
def test_what_is_allowed(load, changes):
    """A learner may be given a graph that breaks the teacher's rules: vanilla, or with all links."""
    experiment = load(changes)
    assert experiment.teacher.layers in (1, 2, 3) and experiment.learners
