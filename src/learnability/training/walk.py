"""Down the gradient flow from mark to mark, with measurements at each and a checkpoint on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy
import torch
from torch import Tensor

from learnability.artifacts import read_tensors, write_tensors
from learnability.errors import UserError
from learnability.learners.logistic import Data, Learner
from learnability.training import flow

Logs = dict[str, numpy.ndarray]
Look = Callable[[int, flow.State], Logs]  # mark number, where the stack is -> measurements, (R,) each


def walk(
    network: Learner,
    start: Tensor,
    data: Data,
    marks: Tensor,
    look: Look,
    rtol: float,
    most: int,
    checkpoint: Path,
    seconds: float,
    say: Callable[[str], None],
) -> tuple[flow.State, list[Logs]]:
    """Carry a stack to each of ``marks`` (G, R), values of log J, and ``look`` there; where it got, what was seen.

    Goes on from ``checkpoint`` if it is there and whole. A network that does not get to a mark has NaN from there
    on in all that is seen.
    """
    state, seen = _resume(checkpoint, say) or (flow.begin(network, start, data), [])
    saved = told = time.monotonic()
    for i in range(len(seen), len(marks)):
        arrived = flow.advance(network, state, data, marks[i], rtol, most).cpu().numpy()
        seen.append({name: numpy.where(arrived, value, numpy.nan) for name, value in look(i, state).items()})
        now = time.monotonic()
        if now - told > 10:
            told, lost = now, int((~arrived).sum())
            stuck = f", {lost} stuck" if lost else ""
            say(f"mark {i + 1} of {len(marks)}, {int(state.tried.max())} rounds{stuck}")
        if now - saved > seconds:
            saved = now
            _save(checkpoint, state, seen)
    return state, seen


def _save(path: Path, state: flow.State, seen: list[Logs]) -> None:
    tensors = {f"state/{name}": value.cpu() for name, value in state.tensors().items()}
    for i, one in enumerate(seen):
        tensors |= {f"seen/{i}/{name}": torch.as_tensor(value) for name, value in one.items()}
    write_tensors(path, tensors, {"marks": str(len(seen))})


def _resume(path: Path, say: Callable[[str], None]) -> tuple[flow.State, list[Logs]] | None:
    if not path.exists():
        return None
    try:
        tensors, meta = read_tensors(path)
        seen: list[Logs] = [{} for _ in range(int(meta["marks"]))]
        for name, value in tensors.items():
            if name.startswith("seen/"):
                _, i, measure = name.split("/")
                seen[int(i)][measure] = value.numpy()
        state = {name.removeprefix("state/"): value for name, value in tensors.items() if name.startswith("state/")}
        found = flow.State(**state), seen
    except (UserError, KeyError, ValueError, TypeError, IndexError) as error:
        say(f"checkpoint cannot be used, starting anew: {error}")
        path.unlink()
        return None
    say(f"resuming from checkpoint {path} at mark {len(seen)}")
    return found
