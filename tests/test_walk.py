"""Down the flow from mark to mark: what is seen there, networks that get stuck, checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from learnability.artifacts import read_tensors, write_tensors
from learnability.learners.logistic import Learner
from learnability.training.walk import walk
from logistic_cases import fitted, sphere, starts


class Killed(Exception):
    """Stands for a killed job."""


class Case:
    """Two networks that get everywhere, and between them one whose points contradict each other."""

    def __init__(self, tmp_path):
        self.network, self.data = Learner(4, 4, 2), sphere(3, 4, 4, 0.01)
        self.data.x[1, 1] = self.data.x[1, 0]
        ends = torch.tensor([0, 2])
        self.start = starts(self.network, 3)
        self.start[ends] = fitted(self.network, self.data.rows(ends), steps=60)
        self.marks = self.network.log_loss(self.start, self.data) - torch.tensor([[0.02], [0.5], [1.0], [2.5]])
        self.path, self.said, self.looked = tmp_path / "flow.safetensors", [], []

    def walk(self, kill: int | None = None, seconds: float = -1.0):
        def look(i: int, state) -> dict[str, np.ndarray]:
            if i == kill:
                raise Killed
            self.looked.append(i)
            found = {"log_loss": state.log_loss.numpy().copy(), "log_time": state.log_time.numpy().copy()}
            return found | ({"odd": state.v.norm(dim=1).numpy()} if i % 2 else {})

        way = (self.network, self.start, self.data, self.marks, look, 1e-4, 60)
        return walk(*way, self.path, seconds, self.said.append)


def as_bytes(walked) -> tuple:
    state, seen = walked
    kept = {name: value.numpy().tobytes() for name, value in state.tensors().items()}
    return kept, [{name: value.tobytes() for name, value in one.items()} for one in seen]


def test_walk_looks_at_its_marks(tmp_path):
    case = Case(tmp_path)
    state, seen = case.walk(seconds=1e9)
    assert case.looked == [0, 1, 2, 3] and [set(one) for one in seen][1:3] == [
        {"log_loss", "log_time", "odd"},
        {"log_loss", "log_time"},
    ]
    losses = np.stack([one["log_loss"] for one in seen])
    over = case.marks.numpy() - losses
    assert (over[:, [0, 2]] >= 0).all() and (over[:, [0, 2]] < 0.02).all()
    stuck = np.isnan(losses[:, 1])
    assert stuck[-1] and not stuck[0] and (np.diff(stuck.astype(int)) >= 0).all()  # once stuck, NaN from there on
    assert all(np.isnan(value[1]) for value in seen[-1].values()) and state.tried[1] == 60
    assert torch.equal(state.log_loss[[0, 2]], torch.as_tensor(losses[-1, [0, 2]]))
    assert not case.path.exists()


def test_a_resumed_walk_sees_the_same(tmp_path):
    whole = Case(tmp_path / "whole").walk(seconds=1e9)
    case = Case(tmp_path)
    for kill in (1, 3):
        with pytest.raises(Killed):
            case.walk(kill)
        assert int(read_tensors(case.path)[1]["marks"]) == kill
    assert as_bytes(case.walk()) == as_bytes(whole)
    assert case.looked == [0, 1, 2, 3]  # none twice
    assert [line for line in case.said if "resuming" in line] == [
        f"resuming from checkpoint {case.path} at mark {k}" for k in (1, 3)
    ]


@pytest.mark.parametrize("how", ["cut", "text", "other"])
def test_a_damaged_checkpoint_starts_anew(tmp_path, how):
    whole, case = Case(tmp_path / "whole").walk(seconds=1e9), Case(tmp_path)
    with pytest.raises(Killed):
        case.walk(2)
    if how == "cut":
        case.path.write_bytes(case.path.read_bytes()[:300])
    elif how == "text":
        case.path.write_text("nothing")
    else:
        write_tensors(case.path, {"state/v": case.start}, {"marks": "1"})
    assert as_bytes(case.walk(seconds=1e9)) == as_bytes(whole) and not case.path.exists()
    complaints = [line for line in case.said if line.startswith("checkpoint cannot be used, starting anew: ")]
    assert len(complaints) == 1 and "\n" not in complaints[0] and case.looked == [0, 1, 0, 1, 2, 3]
