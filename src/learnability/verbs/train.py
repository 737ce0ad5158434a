"""samples -> metrics and model: one learner at one point, its whole sweep at once, part by part.

A part that is done leaves its rows and weights in the scratch folder: a job killed in a later one goes on there.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas
import torch

from learnability.artifacts import read_frame, read_tensors, write_frame, write_tensors
from learnability.errors import UserError
from learnability.plan import Job, Part
from learnability.tracking import Tracker
from learnability.training.stack import Replica
from learnability.verbs import sample

Tensors = dict[str, torch.Tensor]
PAPER_D = ("interpolate", "two_phases", "margin", "definition")


@dataclass
class Rows:
    """Collects the long table of one part: one row per replica x moment x split x name."""

    part: Part
    number: int
    first: int  # number of the part's first replica in the job
    parts: list[pandas.DataFrame] = field(default_factory=list)

    def add(
        self, replicas: list[Replica], first: int, epoch: int, step: int, split: str, name: str, values
    ) -> None:
        """One value per replica, measured at one moment; NaN stands for a diverged replica."""
        start = self.first + first
        self.parts.append(
            pandas.DataFrame(
                {
                    "replica": range(start, start + len(replicas)),
                    "part": self.number,
                    **self.part.values,
                    "seed": [r.seed for r in replicas],
                    "lr": [r.lr for r in replicas],
                    "wd": [r.wd for r in replicas],
                    "step": step,
                    "epoch": epoch,
                    "split": split,
                    "name": name,
                    "value": [float(v) for v in values],
                }
            )
        )

    def add_teacher(self, variances: dict[int, float]) -> None:
        """Var(G*) of each replica's teacher, where it is known."""
        if variances:
            last = pandas.concat(self.parts).drop_duplicates("replica", keep="last")
            values = [variances[seed] for seed in last.seed]
            self.parts.append(last.assign(split="teacher", name="variance", value=values))

    def frame(self) -> pandas.DataFrame:
        """The whole table."""
        return pandas.concat(self.parts, ignore_index=True)


@dataclass
class Curves:
    """A part's place in the job's W&B run: its steps go on where the last part's ended."""

    tracker: Tracker
    part: str
    offset: int
    last: int = 0

    def __call__(self, step: int, name: str, values, best: int | None = None) -> None:
        """One value per replica at one step."""
        self.last = self.offset + step
        self.tracker.curves(self.last, f"{self.part}/{name}" if self.part else name, values, best)


def run(
    job: Job,
    samples: Path,
    metrics: Path,
    model: Path,
    scratch: Path,
    device: torch.device,
    tracker: Tracker,
    say: Callable[[str], None],
) -> None:
    """Train (or solve) the sweep of ``job`` and write its two files, the model first."""
    frames, weights, offset, first = [], {}, 0, 0
    for number, part in enumerate(job.parts):
        place = scratch / part.name if part.name else scratch
        curves = Curves(tracker, part.name, offset)
        found = _done(place, curves, say)
        if found is None:
            if part.name:
                say(f"part {number + 1} of {len(job.parts)}: {part.name}")
            rows = Rows(part, number, first)
            best = _train(job, part, samples, place, device, curves, rows, say)
            rows.add_teacher(sample.variances(samples, part.teacher.model_dump(mode="json"), part.data.seeds))
            found = rows.frame(), best
            if part.name:
                write_tensors(place / "model.safetensors", best)
                write_frame(place / "metrics.parquet", found[0])
                (place / "stack.safetensors").unlink(missing_ok=True)
        frames.append(found[0])
        weights |= {f"{part.name}/{n}" if part.name else n: value for n, value in found[1].items()}
        offset, first = max(offset, curves.last) + 1, first + found[0].replica.nunique()
    frame = pandas.concat(frames, ignore_index=True)
    tracker.summary(_summary(frame))
    write_tensors(model, weights, {"rows": "one per seed: the replica with the least validation error"})
    write_frame(metrics, frame)
    shutil.rmtree(scratch, ignore_errors=True)


def _train(job, part, samples, place, device, curves, rows, say) -> Tensors:
    """One part, by the means its learner asks for."""
    from learnability.verbs import dense
    from learnability.verbs import part as means

    if job.spec.train in PAPER_D:
        return _paper_d(job, part, samples, place, device, curves, rows, say)
    splits = sample.load(samples, part.teacher.model_dump(mode="json"), part.data.model_dump(mode="json"))
    if device.type == "mps" and not job.spec.by_sgd:
        device = torch.device("cpu")  # exact solutions are in float64, which MPS does not have
    on_cpu = {"kernel": means.by_kernel, "handmade": means.by_hand, "polynomial": dense.by_projection}
    if job.spec.train in on_cpu:
        return on_cpu[job.spec.train](job, part, splits, curves, say, rows)
    splits = {name: split.to(device) for name, split in splits.items()}
    if job.spec.by_sgd:
        place.mkdir(parents=True, exist_ok=True)
        if job.spec.train == "densenet":
            return dense.by_algorithm1(job, part, splits, place, device, curves, say, rows)
        return means.by_sgd(job, part, splits, place, device, curves, say, rows)
    return means.by_ridge(job, part, splits, curves, say, rows)


def _paper_d(job, part, samples, place, device, curves, rows, say) -> Tensors:
    """Paper D's methods take their points as they are, all of them to train on, in float64."""
    from learnability.verbs import logistic, margins, two_phases

    points = sample.points(samples, part.teacher.model_dump(mode="json"), part.data.model_dump(mode="json"))
    place.mkdir(parents=True, exist_ok=True)
    if job.spec.train == "interpolate":
        return logistic.by_interpolation(job, part, points, place, device, curves, say, rows)
    if job.spec.train == "two_phases":
        return two_phases.by_two_phases(job, part, points, place, curves, say, rows)
    by = {"margin": margins.by_margin, "definition": margins.by_definition}
    return by[job.spec.train](job, part, points, curves, say, rows)


def _done(place: Path, curves: Curves, say) -> tuple[pandas.DataFrame, Tensors] | None:
    """Rows and weights of a part that an earlier call finished; its curves are told again."""
    if not (place / "metrics.parquet").exists():
        return None
    try:
        frame, (weights, _) = read_frame(place / "metrics.parquet"), read_tensors(place / "model.safetensors")
    except UserError as error:
        say(f"part cannot be used, starting it anew: {error}")
        return None
    say(f"{place.name}: done before")
    for (step, split, name), rows in frame[frame.split != "test"].groupby(["step", "split", "name"], sort=False):
        curves(int(step), f"{split}/{name}", rows.value.to_numpy())
    return frame, weights


def _summary(frame: pandas.DataFrame) -> dict[str, float]:
    """Least, median and largest final value of every measure on validation and test."""
    last = frame.groupby("part").epoch.transform("max")
    finals = frame[frame.split.isin(["val", "test"]) & (frame.epoch == last)]
    found = finals.groupby(["split", "name"]).value.agg(["min", "median", "max"])
    return {f"{s}/{n}/{k}": v for (s, n), r in found.iterrows() for k, v in r.items()}
