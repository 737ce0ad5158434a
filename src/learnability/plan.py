"""Which jobs an experiment asks for, what each one depends on, and where its files lie.

A *point* is one value of every axis (``m200``, ``m200-N1000``); a *job* is one learner at one point.
The Snakemake rules and the verbs both ask here, so a path is spelled in one place only.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learnability.errors import UserError
from learnability.schema import Data, Experiment, Training
from learnability.schema.base import AXES
from learnability.schema.densenet import DenseNet, DenseTeacher, TwoLayer
from learnability.schema.learners import Handmade, Hidden, Kernel, Linear
from learnability.schema.logistic import Definition, Interpolate, LineTeacher, Margin, SphereTeacher, TwoPhases
from learnability.schema.teachers import ParityComposite, SmoothComposite

Spec = Hidden | Linear | Kernel | Handmade | DenseNet | TwoLayer | Interpolate | TwoPhases | Margin | Definition


@dataclass(frozen=True)
class Part:
    """One setting that a job runs: the values of the axes taken together, written where they belong."""

    values: dict[str, float]
    width: int | None  # None for a kernel
    teacher: ParityComposite | SmoothComposite | DenseTeacher | SphereTeacher | LineTeacher
    data: Data
    depth: int | None = None  # hidden layers, of paper D's networks

    @property
    def name(self) -> str:
        """``N1000-beta0.5``; '' if nothing is taken together."""
        return point_name(self.values)

    def config(self) -> dict[str, Any]:
        """What decides the part's numbers beside the job's own."""
        return {
            "values": dict(self.values),
            "width": self.width,
            "teacher": self.teacher.model_dump(mode="json"),
            "data": self.data.model_dump(mode="json"),
        } | ({"depth": self.depth} if self.depth else {})

    def columns(self) -> dict[str, float]:
        """Every axis with its value here, swept or not, and g_size = E||G(F)||^2: the columns of the scores."""
        own = [(axis, key) for axis, (of, key) in AXES.items() if of == "teacher"]
        teacher = {axis: getattr(self.teacher, key, math.nan) for axis, key in own}
        size = getattr(self.teacher, "g_size", self.teacher.k)  # parities: each of the k outputs of G(F) is +-1
        sizes = {"m": self.width or math.nan, "L": self.depth or math.nan, "N": self.data.n_train}
        return {**sizes, **teacher, "g_size": float(size)}


@dataclass(frozen=True)
class Job:
    """One learner at one point: its parts are run one after the other by one process."""

    experiment: str
    learner: str
    point: str
    values: dict[str, float]
    spec: Spec
    parts: tuple[Part, ...]
    training: Training | None  # None where nothing is trained by SGD

    def config(self) -> dict[str, Any]:
        """All that decides the job's numbers, as plain JSON types."""
        return {
            "experiment": self.experiment,
            "learner": self.learner,
            "point": self.point,
            "axes": dict(self.values),
            "spec": self.spec.model_dump(mode="json", exclude={"axes", "seeds"}),
            "parts": [part.config() for part in self.parts],
            "training": self.training and self.training.model_dump(mode="json"),
        }

    def work(self) -> float:
        """Rough relative cost, so that the longest jobs start first and none is left to run alone."""
        return sum(self._work(part) for part in self.parts)

    def _work(self, part: Part) -> float:
        if part.depth or isinstance(self.spec, Definition):
            rounds = {"margin": 1.0, "two_phases": 4e3}.get(self.spec.train, 1e3)
            return 1e6 * rounds * (part.depth or 1) ** 2 * len(part.data.seeds) * part.teacher.d
        n, grid = part.data.n_train, max(1, len(self.spec.wd)) * max(1, len(self.spec.lr))
        if isinstance(self.spec, DenseNet):
            models = grid * len(part.data.seeds) * len(self.spec.alphas or [1]) * len(self.spec.graphs or [1])
            return 30 * sum(self.spec.stages) * n * models * part.teacher.d * part.teacher.layers
        if isinstance(self.spec, TwoLayer):
            return len(part.data.seeds) * self.spec.steps * n * (part.width * self.spec.degree) ** 2
        if part.width is None:
            return len(part.data.seeds) * (1e7 + n**3)
        hidden = part.width if self.spec.network == "layer3" else part.teacher.k
        weights = part.width * (part.teacher.d + hidden)
        passes = 100 if self.training is None else sum(self.training.phases_for(n))
        return weights * passes * len(part.data.seeds) * grid * n

    def digest(self) -> str:
        """Hash of :meth:`config`: names the scratch folder and the W&B run."""
        return digest(self.config())


def digest(content: Any) -> str:
    """First 12 hex digits of the SHA-256 of the canonical JSON of ``content``."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def point_name(values: dict[str, float]) -> str:
    """``{'m': 200, 'N': 1000}`` -> ``'m200-N1000'``; '' without values."""
    return "-".join(f"{axis}{value}" for axis, value in values.items())


def sample_config(experiment: Experiment) -> dict[str, Any]:
    """What decides ``samples.safetensors``: the teacher, the largest training set and dimension asked for."""
    axes = [experiment.axes_of(name) for name in experiment.learners]
    sizes = [value for found in axes for value in found.get("N", [])]
    data = experiment.data.model_dump(mode="json")
    data["n_train"] = int(max([experiment.data.n_train, *sizes]))
    widest = max([experiment.teacher.d, *[value for found in axes for value in found.get("d", [])]])
    teacher = experiment.teacher.model_dump(mode="json") | {"d": int(widest)}
    return {"teacher": teacher, "data": data}


def jobs(experiment: Experiment) -> list[Job]:
    """Every job of an experiment: learners x the product of their axes that are not taken together."""
    found = []
    for learner in experiment.learners:
        axes = experiment.axes_of(learner)
        inside = {axis: values for axis, values in axes.items() if axis in experiment.together}
        outside = {axis: values for axis, values in axes.items() if axis not in experiment.together}
        for values in _product(outside):
            found.append(_job(experiment, learner, values, _product(inside)))
    return found


def _product(axes: dict[str, list]) -> list[dict[str, float]]:
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def _job(experiment: Experiment, learner: str, values: dict, inside: list[dict[str, float]]) -> Job:
    spec = experiment.learners[learner]
    return Job(
        experiment=experiment.id,
        learner=learner,
        point=point_name(values) or "all",
        values=values,
        spec=spec,
        parts=tuple(_part(experiment, spec, values | within, within) for within in inside),
        training=_training(experiment.training, spec),
    )


def _training(training: Training, spec: Spec) -> Training | None:
    """The experiment's training with the learner's own phases; None if nothing is trained."""
    phases = getattr(spec, "phases", None)
    own = training.model_copy(update={"phases": phases}) if phases else training
    return own if spec.by_sgd else None


def _part(experiment: Experiment, spec: Spec, values: dict[str, float], inside: dict[str, float]) -> Part:
    changes = {AXES[axis][1]: value for axis, value in values.items() if AXES[axis][0] == "data"}
    data = experiment.data.model_copy(update=changes | ({"seeds": spec.seeds} if spec.seeds else {}))
    return Part(inside, values.get("m"), experiment.teacher_at(values), data, values.get("L"))


def judged_on(experiments: dict[str, Experiment], name: str) -> list[Experiment]:
    """The experiments whose scores the claims of one rest on: itself and those it joins."""
    return [experiments[other] for other in (name, *experiments[name].joined)]


def claim_config(found: list[Experiment], claim: str) -> str:
    """Hash of what a verdict rests on: the judge's parameters and every job of ``found`` (see judged_on)."""
    return digest([found[0].claims[claim], [job.digest() for one in found for job in jobs(one)]])


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
