"""Samples of paper A's teachers: a teacher for every seed, exact Var(G*), labels of an axis' own teacher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from learnability import teachers
from learnability.artifacts import read_tensors
from learnability.errors import UserError
from learnability.schema.densenet import DenseTeacher
from learnability.verbs import sample

PARITY = {"kind": "parity_composite", "d": 8, "k": 4, "f_degree": 1, "g_degree": None, "alpha": 0.3}
DATA: dict[str, Any] = {"n_train": 50, "n_val": 20, "n_test": 30, "seeds": [2, 5]}


def plain(**more: Any) -> dict[str, Any]:
    return DenseTeacher(**({"kind": "densenet", "d": 6, "alpha": 0.2, "widths": [2, 1]} | more)).model_dump(
        mode="json"
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Samples of these teachers, by their changes."""
    made: dict[str, Path] = {}

    def path(**more: Any) -> Path:
        name = str(sorted(more.items()))
        if name not in made:
            made[name] = tmp_path_factory.mktemp("samples") / "samples.safetensors"
            sample.run({"teacher": plain(**more), "data": DATA}, made[name], lambda line: None)
        return made[name]

    return path


@pytest.mark.parametrize("classes", [False, True])
def test_each_seed_has_a_teacher_of_its_own(files, classes):
    more = {"classes": True, "scale": 0.2} if classes else {}
    splits = sample.load(files(**more), plain(**more), DATA)
    root = teachers.build(**plain(**more))
    tensors, _ = read_tensors(files(**more))
    for i, seed in enumerate(DATA["seeds"]):
        mine = root.of_seed(seed)
        for name, w in mine.tensors().items():
            assert torch.equal(tensors[f"teacher_{name}"][i], w)
        for split in splits.values():
            x = split.x[i, :, :-1]
            assert x.shape[1] == 6 + classes and (split.x[i, :, -1] == 1).all()
            expected = (x[:, :1] + mine(x)).sign() if classes else mine(x)
            torch.testing.assert_close(split.y[i], expected.float(), rtol=1e-5, atol=1e-5)
            assert not torch.allclose(split.y[i], root.of_seed(9)(x).float())
    assert not torch.equal(tensors["teacher_W2_0"][0], tensors["teacher_W2_0"][1])


def test_variances_are_exact_and_of_the_seeds_asked_for(files):
    root = teachers.build(**plain())
    exact = {seed: root.of_seed(seed).variance() for seed in (2, 5)}
    assert sample.variances(files(), plain(), [5, 2]) == pytest.approx(exact) and exact[2] != pytest.approx(
        exact[5]
    )
    assert list(sample.variances(files(), plain(), [5])) == [5]
    x = root.law.sample(100_000, torch.Generator().manual_seed(0))
    assert root.of_seed(2)(x).var().item() == pytest.approx(exact[2], rel=0.3)
    wider = sample.variances(files(), plain(alpha=0.7), [2])  # an axis has set another alpha
    assert (
        wider[2] == pytest.approx(teachers.build(**plain(alpha=0.7)).of_seed(2).variance()) and wider[2] > exact[2]
    )
    held, _ = read_tensors(files())
    assert held["variance"].tolist() == pytest.approx([exact[2], exact[5]])


def test_a_teacher_that_does_not_know_its_variance_has_none(tmp_path):
    parity = PARITY | {"beta": 1.0, "noise": 0.0}
    sample.run({"teacher": parity, "data": DATA}, tmp_path / "s.safetensors", lambda line: None)
    assert sample.variances(tmp_path / "s.safetensors", parity, [2]) == {}


@pytest.mark.parametrize(
    "own, other",
    [
        ({}, {"alpha": 0.7}),
        ({}, {"noise": 0.3}),
        ({"noise": 0.1}, {"noise": 0.0}),
        ({"distribution": "uniform"}, {"distribution": "uniform", "alpha": 0.7}),
    ],
    ids=["alpha", "noise", "no noise", "uniform"],
)
def test_labels_drawn_again_are_those_of_a_file_of_their_own(files, own, other):
    """A part whose teacher an axis has set gets what a file drawn with that teacher holds."""
    again, new = (sample.load(files(**f), plain(**other), DATA) for f in (own, other))
    for name in sample.SPLITS:
        assert torch.equal(again[name].x, new[name].x) and torch.equal(again[name].y, new[name].y)


def test_a_smaller_d_is_a_prefix_with_labels_by_its_own_teacher(files):
    splits, root = sample.load(files(), plain(d=4), DATA), teachers.build(**plain(d=4))
    wide = sample.load(files(), plain(), DATA)
    for name, split in splits.items():
        assert split.x.shape[2] == 5 and torch.equal(split.x[..., :4], wide[name].x[..., :4])
        for i, seed in enumerate(DATA["seeds"]):
            torch.testing.assert_close(split.y[i], root.of_seed(seed)(split.x[i, :, :4]).float())


def test_classes_of_another_alpha_are_those_of_a_file_of_their_own(files):
    own, other = ({"classes": True, "scale": 0.2, "alpha": alpha} for alpha in (0.2, 0.7))
    again, new = (sample.load(files(**f), plain(**other), DATA) for f in (own, other))
    assert all(torch.equal(again[n].y, new[n].y) and torch.equal(again[n].x, new[n].x) for n in sample.SPLITS)


@pytest.mark.parametrize("key, value", [("distribution", "mixture"), ("draw", 1), ("classes", True), ("d", 7)])
def test_samples_of_other_inputs_are_refused(files, key, value):
    with pytest.raises(UserError, match="holds other seeds or sizes than the config"):
        sample.load(files(), plain(**{key: value}), DATA)
