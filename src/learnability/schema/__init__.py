"""The shape of the config: one pydantic model a section, unknown keys refused.

``config.py`` reads the files and turns what these models refuse into one line each.
A new network, teacher, kernel or axis is named in one of these modules first.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from learnability.schema.base import (
    AXES,
    NAME,
    NAME_RULE,
    RESERVED,
    Axes,
    Axis,
    NonNegative,
    PositiveFloat,
    PositiveInt,
    Strict,
    Text,
    distinct,
    wrong,
)
from learnability.schema.densenet import DenseNet, TwoLayer
from learnability.schema.learners import Handmade, Learner, NetworkBase
from learnability.schema.logistic import Definition, LineTeacher, SmoothedBase, SphereTeacher
from learnability.schema.teachers import DenseTeacher, SmoothComposite, Teacher


class Tracking(Strict):
    """Where W&B runs go; see ``tracking.py``."""

    mode: Literal["auto", "online", "offline", "disabled"] = "auto"
    project: Text = "learnability"
    entity: Text | None = None


class Settings(Strict):
    """``config/config.yaml``: how to run, never what to run."""

    scale: Literal["smoke", "laptop", "paper"] = "laptop"
    experiments: Annotated[list[str], Field(min_length=1), AfterValidator(distinct)] | None = None
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    scratch: Text = ".scratch"
    tracking: Tracking = Tracking()


Count = Annotated[int, Field(ge=0)]


class Data(Strict):
    """Sizes of the three splits, the same for each seed, and the seeds themselves. Paper D has no other samples
    than those it trains on; all else needs all three.
    """

    n_train: PositiveInt
    n_val: Count = 0
    n_test: Count = 0
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1), AfterValidator(distinct)]


class Training(Strict):
    """How a stack is trained; see ``training/``."""

    batch: PositiveInt = 50
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    phases: Annotated[list[PositiveInt], Field(min_length=1)] = [400, 400]
    most_steps: PositiveInt | None = None
    drop: PositiveFloat = 10.0
    log_every: PositiveInt = 20
    checkpoint_seconds: NonNegative = 5.0
    cache_mb: PositiveFloat = 8.0
    diverged_at: PositiveFloat = 1000.0

    def phases_for(self, n_train: int) -> tuple[int, ...]:
        """Epochs of each phase for this many samples, all shortened alike if they take over ``most_steps``."""
        steps = sum(self.phases) * -(-n_train // self.batch)
        share = 1.0 if self.most_steps is None else min(1.0, self.most_steps / steps)
        return tuple(max(1, round(share * phase)) for phase in self.phases)


class Experiment(Strict):
    """One file of ``config/experiments`` at one scale: all that its claims need."""

    id: str
    claims: dict[str, dict[str, Any]]  # may be empty: measure and judge nothing
    joined: Annotated[list[str], AfterValidator(distinct)] = []
    teacher: Teacher
    data: Data
    axes: Axes
    together: Annotated[list[Axis], AfterValidator(distinct)] = []
    learners: Annotated[dict[str, Learner], Field(min_length=1)]
    training: Training = Training()

    def axes_of(self, learner: str) -> dict[str, list]:
        """Axes of one learner: the experiment's with its own over them; a kernel has no width and no depth."""
        spec = self.learners[learner]
        axes = {**self.axes, **spec.axes}
        return {a: v for a, v in axes.items() if spec.has_axis(a)}

    def swept(self) -> set[str]:
        """Axes that any learner sweeps."""
        return {axis for axes in (self.axes, *(s.axes for s in self.learners.values())) for axis in axes}

    def teacher_at(self, values: dict[str, Any]) -> Any:
        """The teacher with the axis values that are its own."""
        changes = {AXES[axis][1]: value for axis, value in values.items() if AXES[axis][0] == "teacher"}
        return type(self.teacher).model_validate(self.teacher.model_dump() | changes)

    @field_validator("id")
    @classmethod
    def _plain_id(cls, value: str) -> str:
        if not NAME.fullmatch(value):
            raise wrong((), f"{NAME_RULE}, got {value!r}")
        if value in RESERVED:
            raise wrong((), f"must not be {', '.join(RESERVED)}: results lie there, got {value!r}")
        return value

    @model_validator(mode="after")
    def _learners_fit(self) -> Experiment:
        for name, spec in self.learners.items():
            if not NAME.fullmatch(name):
                raise wrong(("learners", name), f"a learner's name {NAME_RULE}")
            axes = self.axes_of(name)
            for axis, what in (("m", "width"), ("L", "depth")):
                if axis in spec.axes and not spec.has_axis(axis):
                    raise wrong(("learners", name, "axes", axis), f"train: {spec.train} has no {what}")
            if spec.has_width and "m" not in axes:
                raise wrong(("learners", name, "axes", "m"), "missing; widths go here or in axes.m")
            if spec.has_depth and "L" not in axes:
                raise wrong(
                    ("learners", name, "axes", "L"), "missing; numbers of hidden layers go here or in axes.L"
                )
            self._suits_paper_d(name)
            if isinstance(spec, NetworkBase) and spec.network == "signed2":
                self._suits_signed2(name, axes)
            if isinstance(spec, DenseNet | TwoLayer):
                self._suits_dense_teachers(name)
            if isinstance(spec, DenseNet):
                self._suits_densenet(name)
            if strange := set(spec.seeds or []) - set(self.data.seeds):
                raise wrong(("learners", name, "seeds"), f"must be among data.seeds, got {min(strange)}")
            self._teacher_exists(name, axes)
        for axis in self.together:
            if axis not in self.swept():
                allowed = ", ".join(sorted(self.swept())) or "none"
                raise wrong(("together",), f"{axis} is no axis of this experiment; allowed: {allowed}")
        return self

    def _suits_signed2(self, name: str, axes: dict[str, list]) -> None:
        """a^T sigma(Wx) has one output, and as many positive as negative a."""
        if {self.teacher.k, *axes.get("k", [])} != {1}:
            raise wrong(("learners", name, "network"), "signed2 has one output: the teacher's k must be 1")
        if odd := [m for m in axes["m"] if m % 2]:
            raise wrong(("learners", name, "network"), f"signed2 needs even widths, got m = {odd[0]}")
        if isinstance(self.learners[name], Handmade):
            teacher = self.teacher
            alphas, betas = {*axes.get("alpha", [teacher.alpha])}, {*axes.get("beta", [teacher.beta])}
            if getattr(teacher, "f_degree", 0) != 6 or alphas != {0} or betas != {1}:
                needed = "handmade is for the parity of six: f_degree: 6, alpha: 0 and beta: 1"
                raise wrong(("learners", name, "train"), needed)
            if narrow := [m for m in axes["m"] if m < 200]:
                raise wrong(
                    ("learners", name, "train"), f"handmade needs widths of 200 or more, got m = {narrow[0]}"
                )

    def _prefix_will_do(self) -> bool:
        """Whether the first coordinates of an input are an input of a smaller teacher."""
        if isinstance(self.teacher, DenseTeacher):
            return self.teacher.distribution in ("gaussian", "uniform") and not self.teacher.classes
        return not isinstance(self.teacher, SmoothComposite)  # points on the sphere are drawn anew for each d

    def _suits_paper_d(self, name: str) -> None:
        """Paper D's methods are for its data sets and for nothing else; all others need three splits."""
        spec, teacher, at = self.learners[name], self.teacher, ("learners", name, "train")
        pairs = ((SmoothedBase, SphereTeacher, "sphere", "interpolate, two_phases, margin"),)
        for methods, sets, kind, words in (*pairs, (Definition, LineTeacher, "line", "definition")):
            if isinstance(spec, methods) and not isinstance(teacher, sets):
                raise wrong(at, f"{spec.train} is for a teacher of kind: {kind}, got {teacher.kind}")
            if isinstance(teacher, sets) and not isinstance(spec, methods):
                raise wrong(at, f"must be one of {words} for a teacher of kind: {kind}, got {spec.train}")
        for size in ("n_val", "n_test"):
            if not isinstance(spec, SmoothedBase | Definition) and not getattr(self.data, size):
                raise wrong(("data", size), f"must be > 0: learner {name} is measured there")

    def _suits_dense_teachers(self, name: str) -> None:
        """Paper A's learners are for paper A's teachers; two layers have the square loss only."""
        spec, teacher, at = self.learners[name], self.teacher, ("learners", name, "train")
        if not isinstance(teacher, DenseTeacher):
            raise wrong(at, f"{spec.train} is for a teacher of kind: densenet, got {teacher.kind}")
        if isinstance(spec, TwoLayer) and teacher.classes:
            raise wrong(at, "polynomial is for labels that are numbers; the teacher has classes: true")

    def _suits_densenet(self, name: str) -> None:
        """A DenseNet learns a DenseNet: as many layers, two stages each."""
        spec, teacher = self.learners[name], self.teacher
        count = teacher.layers
        if len(spec.stages) != 2 * count:
            needed = f"must have {2 * count} lengths, of 2-triangle, 2-nabla, ..., {count + 1}-nabla"
            raise wrong(("learners", name, "stages"), f"{needed}, got {len(spec.stages)}")
        if spec.layer_rates and len(spec.layer_rates) != count:
            raise wrong(
                ("learners", name, "layer_rates"), f"must have {count} factors, one a layer, or be left out"
            )
        if spec.distill == "svd" and teacher.signs:
            raise wrong(("learners", name, "distill"), "svd is for teachers without signs; use balanced")
        if strange := [g for g in spec.graphs or [] if len(g) != count]:
            raise wrong(("learners", name, "graphs"), f"each must have {count} lists, got {strange[0]}")

    def _teacher_exists(self, name: str, axes: dict[str, list]) -> None:
        """Every combination of the teacher's own axes is a teacher, and its samples can be cut from one file."""
        own = {axis: values for axis, values in axes.items() if AXES[axis][0] == "teacher"}
        mine = self.learners[name].axes
        if "d" in own and not self._prefix_will_do():
            at = ("learners", name, "axes", "d") if "d" in mine else ("axes", "d")
            message = "is for inputs with independent coordinates of one kind (parity_composite; densenet with"
            message += " distribution: gaussian or uniform, and no classes); else give each d a file"
            raise wrong(at, message)
        at = ("learners", name, "axes") if own.keys() & mine.keys() else ("axes",)
        for values in itertools.product(*own.values()):
            point = dict(zip(own, values, strict=True))
            try:
                self.teacher_at(point)
            except ValidationError as error:
                first = error.errors()[0]
                key = ".".join(map(str, first.get("ctx", {}).get("at", first["loc"])))
                named = ", ".join(f"{axis} = {value}" for axis, value in point.items())
                raise wrong(at, f"no such teacher at {named}: {key} {first['msg']}") from None
