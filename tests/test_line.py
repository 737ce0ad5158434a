"""Arguments of an activation: dense about 0, far on both sides, ReLU's values; no samples but training ones."""

from __future__ import annotations

import math

import pytest
import torch

from learnability import teachers
from learnability.schema.logistic import LineTeacher
from learnability.seeding import stream
from learnability.teachers.line import LEAST, Teacher
from learnability.verbs import sample


@pytest.mark.parametrize("reach", [1e4, 50.0])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 50, 51, 400, 2001, 2002])
def test_half_of_the_line_is_even_the_rest_goes_far(n, reach):
    u = Teacher(reach=reach).inputs(n, stream("x"))
    assert u.shape == (n, 1) and u.dtype == torch.float64
    found = u[:, 0].tolist()
    assert found == sorted(found) and found == [-a for a in reversed(found)]
    assert found.count(0.0) == (0 if n == 0 else 1 if n % 2 else 2)
    positive, side = [a for a in found if a > 0], (n // 2 | 1) // 2
    even = [8 * (i + 1) / side for i in range(side)]
    far = [a for a in positive if min((abs(a - b) for b in even), default=1.0) > 1e-12]
    assert len(positive) == max(0, n - 1) // 2 and len(far) == len(positive) - side
    if len(far) > 1:
        assert far == pytest.approx([LEAST * (reach / LEAST) ** (i / (len(far) - 1)) for i in range(len(far))])


def test_labels_are_relu_whatever_the_seed():
    teacher = Teacher()
    u = teacher.of_seed(3).inputs(101, stream("x", 3))
    assert torch.equal(u, teacher.of_seed(4).inputs(101, stream("x", 4)))
    assert teacher.labels(u, stream("noise"))[:, 0].tolist() == [max(a, 0.0) for a in u[:, 0].tolist()]
    assert torch.equal(teacher(torch.stack([u, -u])), torch.stack([u, -u]).clamp_min(0))
    assert (teacher.d, teacher.k, teacher.noise, teacher.probes(u), teacher.tensors()) == (1, 1, 0.0, {}, {})
    assert "10000" in teacher.describe() and "\n" not in teacher.describe()
    assert teacher.inputs(0, stream("x")).shape == (0, 1)


def test_the_line_as_a_samples_file(tmp_path):
    config = LineTeacher(kind="line", reach=100.0).model_dump(mode="json")
    data, said = {"n_train": 41, "n_val": 0, "n_test": 0, "seeds": [0, 2]}, []
    sample.run({"teacher": config, "data": data}, tmp_path / "s.safetensors", said.append)
    u, y = sample.points(tmp_path / "s.safetensors", config, data)
    assert u.shape == (2, 41, 1) and y.shape == (2, 41) and torch.equal(y, u[..., 0].clamp_min(0))
    assert math.isclose(u.max().item(), 100) and said == [teachers.build(**config).describe()]
