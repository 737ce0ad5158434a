"""Which jobs an experiment asks for, what each one depends on, and where its files lie.

A *point* is one value of every axis (``m200``, ``m200-N1000``); a *job* is one learner at one point.
The Snakemake rules and the verbs both ask here, so a path is spelled in one place only.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learnability.errors import UserError
from learnability.schema import AXES, Data, Experiment, Hidden, Linear, ParityComposite, Training


@dataclass(frozen=True)
class Job:
    """One learner at one point, with every axis value written into the section it sweeps."""

    experiment: str
    learner: str
    point: str
    values: dict[str, float]
    width: int
    spec: Hidden | Linear
    teacher: ParityComposite
    data: Data
    training: Training | None  # None where nothing is trained by SGD

    def config(self) -> dict[str, Any]:
        """All that decides the job's numbers, as plain JSON types."""
        return {
            "experiment": self.experiment,
            "learner": self.learner,
            "point": self.point,
            "axes": dict(self.values),
            "width": self.width,
            "spec": self.spec.model_dump(mode="json", exclude={"axes"}),
            "teacher": self.teacher.model_dump(mode="json"),
            "data": self.data.model_dump(mode="json"),
            "training": self.training and self.training.model_dump(mode="json"),
        }

    def work(self) -> float:
        """Rough relative cost, so that the longest jobs start first and none is left to run alone."""
        hidden = self.width if self.spec.network == "layer3" else self.teacher.k
        weights = self.width * (self.teacher.d + hidden)
        passes = 100 if self.training is None else sum(self.training.phases)
        replicas = len(self.data.seeds) * len(self.spec.wd) * max(1, len(self.spec.lr))
        return weights * passes * replicas * self.data.n_train

    def digest(self) -> str:
        """Hash of :meth:`config`: names the scratch folder and the W&B run."""
        return digest(self.config())


def digest(content: Any) -> str:
    """First 12 hex digits of the SHA-256 of the canonical JSON of ``content``."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def point_name(values: dict[str, float]) -> str:
    """``{'m': 200, 'N': 1000}`` -> ``'m200-N1000'``."""
    return "-".join(f"{axis}{value}" for axis, value in values.items())


def sample_config(experiment: Experiment) -> dict[str, Any]:
    """What decides ``samples.safetensors``: the teacher, and the largest training set asked for."""
    sizes = [v for axes in _all_axes(experiment) for v in axes.get("N", [])]
    data = experiment.data.model_dump(mode="json")
    data["n_train"] = int(max([experiment.data.n_train, *sizes]))
    return {"teacher": experiment.teacher.model_dump(mode="json"), "data": data}


def _all_axes(experiment: Experiment) -> list[dict[str, list]]:
    return [{**experiment.axes, **spec.axes} for spec in experiment.learners.values()]


def jobs(experiment: Experiment) -> list[Job]:
    """Every job of an experiment: learners x the product of their axes, in config order."""
    found = []
    for learner, spec in experiment.learners.items():
        axes = {**experiment.axes, **spec.axes}
        for combination in itertools.product(*axes.values()):
            found.append(_job(experiment, learner, dict(zip(axes, combination, strict=True))))
    return found


def _job(experiment: Experiment, learner: str, values: dict[str, float]) -> Job:
    sections: dict[str, dict[str, Any]] = {"teacher": {}, "data": {}, "learner": {}}
    for axis, value in values.items():
        section, key = AXES[axis]
        sections[section][key] = value
    spec = experiment.learners[learner]
    by_sgd = isinstance(spec, Hidden) or spec.solver == "sgd"
    return Job(
        experiment=experiment.id,
        learner=learner,
        point=point_name(values),
        values=values,
        width=sections["learner"]["width"],
        spec=spec,
        teacher=experiment.teacher.model_copy(update=sections["teacher"]),
        data=experiment.data.model_copy(update=sections["data"]),
        training=experiment.training if by_sgd else None,
    )


def claim_config(experiment: Experiment, claim: str) -> str:
    """Hash of all that a verdict rests on: the judge's parameters, the teacher, every job."""
    teacher = experiment.teacher.model_dump(mode="json")
    return digest([experiment.claims[claim], teacher, [job.digest() for job in jobs(experiment)]])


def find_job(experiment: Experiment, learner: str, point: str) -> Job:
    """The job named on a command line, or a :class:`UserError` that lists what there is."""
    if learner not in experiment.learners:
        allowed = ", ".join(experiment.learners)
        raise UserError(f"{experiment.id}: no learner {learner!r}; allowed: {allowed}")
    mine = {job.point: job for job in jobs(experiment) if job.learner == learner}
    if point not in mine:
        raise UserError(f"{experiment.id}/{learner}: no point {point!r}; allowed: {', '.join(mine)}")
    return mine[point]


@dataclass(frozen=True)
class Layout:
    """Where the files of one scale lie, below ``root`` (the working directory by default)."""

    scale: str
    root: Path = Path()

    @property
    def base(self) -> Path:
        return self.root / "results" / self.scale

    def samples(self, experiment: str) -> Path:
        return self.base / experiment / "samples.safetensors"

    def config(self, experiment: str) -> Path:
        return self.base / experiment / "config.yaml"

    def metrics(self, experiment: str, learner: str, point: str) -> Path:
        return self.base / experiment / learner / point / "metrics.parquet"

    def model(self, experiment: str, learner: str, point: str) -> Path:
        return self.base / experiment / learner / point / "model.safetensors"

    def scores(self, experiment: str) -> Path:
        return self.base / experiment / "scores.parquet"

    def verdict(self, claim: str) -> Path:
        return self.base / "verdicts" / f"{claim}.json"

    def figure(self, claim: str, ending: str) -> Path:
        return self.base / "figures" / f"{claim}.{ending}"

    def ledger(self, ending: str) -> Path:
        return self.base / f"ledger.{ending}"

    def log(self, *parts: str) -> Path:
        return self.base / "logs" / Path(*parts[:-1]) / f"{parts[-1]}.log"

    def tracking(self, name: str) -> Path:
        return self.base / "wandb" / name
