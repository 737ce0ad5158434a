"""Paper D's samples as its jobs read them: nested in n, drawn anew for another d, only training sets, misfits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from learnability import teachers
from learnability.artifacts import read_tensors
from learnability.errors import UserError
from learnability.schema.logistic import SphereTeacher
from learnability.seeding import stream
from learnability.teachers.sphere import KINDS
from learnability.verbs import sample

DATA: dict[str, Any] = {"n_train": 20, "n_val": 0, "n_test": 0, "seeds": [0, 5]}


def config(points: str, d: int = 60, **more: Any) -> dict[str, Any]:
    return SphereTeacher(kind="sphere", d=d, points=points, count=20, gap=0.3, **more).model_dump(mode="json")


PARITY = {"kind": "parity_composite", "d": 60, "k": 2, "f_degree": 1, "g_degree": None, "alpha": 0.3}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("samples")
    found = {points: config(points) for points in KINDS} | {"parity": PARITY | {"beta": 1.0, "noise": 0.0}}
    for name, teacher in found.items():
        sample.run({"teacher": teacher, "data": DATA}, folder / f"{name}.safetensors", lambda line: None)
    return {name: folder / f"{name}.safetensors" for name in found}


@pytest.mark.parametrize("points", KINDS)
def test_points_are_the_teachers(files, points):
    x, y = sample.points(files[points], config(points), DATA)
    assert x.shape == (2, 20, 60) and y.shape == (2, 20) and x.dtype == y.dtype == torch.float64
    for row, seed in enumerate(DATA["seeds"]):
        teacher = teachers.build(**config(points)).of_seed(seed)
        expected = teacher.inputs(20, stream("x", "train", seed))
        assert torch.equal(x[row], expected)
        assert torch.equal(y[row], teacher.labels(expected, stream("noise", "train", seed))[:, 0])
    assert set(y.unique().tolist()) == {-1.0, 1.0} and not torch.equal(x[0], x[1])


@pytest.mark.parametrize("d", [60, 40])
@pytest.mark.parametrize("points", KINDS)
def test_sets_are_nested_in_n(files, points, d):
    many, few = (sample.points(files[points], config(points, d), DATA | {"n_train": n}) for n in (20, 6))
    assert few[0].shape == (2, 6, d)
    for more, less in zip(many, few, strict=True):
        assert torch.equal(less, more[:, :6])
    one = sample.points(files[points], config(points, d), DATA | {"seeds": [5]})
    assert torch.equal(one[0], many[0][1:]) and torch.equal(one[1], many[1][1:])


@pytest.mark.parametrize("points", KINDS)
def test_another_d_is_drawn_anew(files, points, tmp_path):
    """On its own sphere, as a file of that d holds it; the file's points are no part of it."""
    narrow = config(points, 40)
    x, y = sample.points(files[points], narrow, DATA)
    torch.testing.assert_close(x.norm(dim=-1), torch.ones(2, 20, dtype=torch.float64), rtol=0, atol=1e-13)
    sample.run({"teacher": narrow, "data": DATA}, tmp_path / "own.safetensors", lambda line: None)
    own = sample.points(tmp_path / "own.safetensors", narrow, DATA)
    assert torch.equal(x, own[0]) and torch.equal(y, own[1])
    wide = sample.points(files[points], config(points), DATA)[0]
    assert not torch.allclose(x, wide[..., :40] / wide[..., :40].norm(dim=-1, keepdim=True))
    if points == "clustered":
        mu = torch.stack([teachers.build(**narrow).of_seed(seed).mu for seed in DATA["seeds"]])
        away = (x - y[..., None] * mu[:, None]).norm(dim=-1)
        radius = math.sqrt(40) * math.sqrt(math.pi) / 80 / math.sqrt(math.log(3 * 40 * 20 / 0.1))  # its own, < 1/16
        torch.testing.assert_close(away, torch.full_like(away, radius))


def test_no_validation_or_test_samples(files):
    for points in KINDS:
        tensors, _ = read_tensors(files[points])
        for split in ("val", "test"):
            assert tensors[f"x_{split}"].shape == (2, 0, 60) and tensors[f"y_{split}"].shape == (2, 0, 1)
        assert ("teacher_mu" in tensors) == (points in ("halfspace", "clustered"))


@pytest.mark.parametrize(
    ("file", "teacher", "data"),
    [
        ("random", config("halfspace"), {}),
        ("parity", config("random"), {}),
        ("random", PARITY | {"beta": 1.0, "noise": 0.0}, {}),
        ("clustered", config("clustered", radius=0.3), {}),
        ("random", config("random", 61), {}),
        ("random", config("random"), {"n_train": 21}),
        ("random", config("random"), {"seeds": [0, 1]}),
        ("random", config("random"), {"n_val": 5}),
    ],
    ids=["points", "signs", "sphere", "radius", "wider", "more", "seeds", "validation"],
)
def test_a_file_of_another_kind_is_refused(files, file, teacher, data):
    with pytest.raises(UserError, match=rf"{file}.safetensors: holds other seeds or sizes than the config") as said:
        sample.points(files[file], teacher, DATA | data)
    assert "\n" not in str(said.value)


def test_a_missing_or_damaged_file_is_one_line(files, tmp_path):
    path = tmp_path / "margin" / "s.safetensors"
    with pytest.raises(UserError, match="no such file; `learnability sample margin` makes it"):
        sample.points(path, config("random"), DATA)
    path.parent.mkdir()
    whole = files["random"].read_bytes()
    path.write_bytes(whole[: math.floor(0.9 * len(whole))])
    with pytest.raises(UserError, match="damaged or truncated") as said:
        sample.points(path, config("random"), DATA)
    assert "\n" not in str(said.value)
