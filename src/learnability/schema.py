"""The shape of the config: one pydantic model a section, unknown keys refused.

``config.py`` reads the files and turns what these models refuse into one line each.
A new network, teacher or axis is named here first.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

SCALES = ("smoke", "laptop", "paper")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._]*(-[A-Za-z0-9._]+)*")

PositiveInt = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    """Base of every section: unknown keys are refused, values are not coerced from strings."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Tracking(Strict):
    """Where W&B runs go; see ``tracking.py``."""

    mode: Literal["auto", "online", "offline", "disabled"] = "auto"
    project: str = "learnability"
    entity: str | None = None


class Settings(Strict):
    """``config/config.yaml``: how to run, never what to run."""

    scale: Literal["smoke", "laptop", "paper"] = "laptop"
    experiments: list[str] | None = None
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    scratch: str = ".scratch"
    tracking: Tracking = Tracking()


class ParityComposite(Strict):
    """Paper B, Figure 2: H = beta F + alpha G(F) on the hypercube; see ``teachers/parity.py``."""

    kind: Literal["parity_composite"]
    d: PositiveInt
    k: PositiveInt
    f_degree: PositiveInt = 2
    g_degree: PositiveInt = 4
    alpha: NonNegative
    beta: Finite = 1.0
    noise: NonNegative = 0.0

    @model_validator(mode="after")
    def _supports_fit(self) -> ParityComposite:
        if self.k * self.f_degree > self.d:
            raise ValueError(
                f"k * f_degree = {self.k * self.f_degree} coordinates are needed, d = {self.d}"
            )
        if self.k % self.g_degree:
            raise ValueError(f"k = {self.k} must be a multiple of g_degree = {self.g_degree}")
        return self


class Data(Strict):
    """Sizes of the three splits, the same for each seed, and the seeds themselves."""

    n_train: PositiveInt
    n_val: PositiveInt
    n_test: PositiveInt
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]

    @field_validator("seeds")
    @classmethod
    def _distinct(cls, seeds: list[int]) -> list[int]:
        if len(set(seeds)) != len(seeds):
            raise ValueError("seeds must be distinct")
        return seeds


class Training(Strict):
    """How a stack is trained; see ``training/``."""

    batch: PositiveInt = 50
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    phases: Annotated[list[PositiveInt], Field(min_length=1)] = [400, 400]
    drop: PositiveFloat = 10.0
    log_every: PositiveInt = 20
    checkpoint_seconds: NonNegative = 5.0
    cache_mb: PositiveFloat = 8.0
    diverged_at: PositiveFloat = 1000.0


class LearnerBase(Strict):
    """What every method has: a network and, if it differs from the experiment's, its axes."""

    network: Literal["resnet3", "layer3", "layer2"]
    init_scale: dict[Literal["W", "V", "A"], PositiveFloat] = {}
    axes: dict[str, Annotated[list[PositiveFloat | PositiveInt], Field(min_length=1)]] = {}


class Hidden(LearnerBase):
    """SGD on the hidden weights only (Appendix A of paper B)."""

    train: Literal["hidden"]
    lr: Annotated[list[PositiveFloat], Field(min_length=1)]
    wd: Annotated[list[NonNegative], Field(min_length=1)]
    lr_scale: dict[Literal["W", "V"], PositiveFloat] = {}


class Linear(LearnerBase):
    """``last``: conjugate kernel; ``ntk``: tangent kernel. Linear in the weights that train."""

    train: Literal["last", "ntk"]
    wd: Annotated[list[PositiveFloat], Field(min_length=1)]
    solver: Literal["ridge", "sgd"] = "ridge"
    lr: list[PositiveFloat] = []
    outputs: Literal["shared", "separate"] = "shared"

    @model_validator(mode="after")
    def _coherent(self) -> Linear:
        if (self.solver == "sgd") != bool(self.lr):
            raise ValueError("lr is needed with solver: sgd, and only there")
        if self.outputs == "separate" and (self.train != "ntk" or self.solver != "ridge"):
            raise ValueError("outputs: separate is for train: ntk with solver: ridge only")
        return self


Learner = Annotated[Hidden | Linear, Field(discriminator="train")]

AXES = {  # axis name -> section and key that it sweeps
    "m": ("learner", "width"),
    "N": ("data", "n_train"),
    "alpha": ("teacher", "alpha"),
    "beta": ("teacher", "beta"),
}


class Experiment(Strict):
    """One file of ``config/experiments`` at one scale: all that its claims need."""

    id: str
    claims: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]
    teacher: ParityComposite
    data: Data
    axes: dict[str, Annotated[list[PositiveFloat | PositiveInt], Field(min_length=1)]]
    learners: Annotated[dict[str, Learner], Field(min_length=1)]
    training: Training = Training()

    @field_validator("id")
    @classmethod
    def _plain_id(cls, value: str) -> str:
        if not NAME.fullmatch(value):
            raise ValueError("letters, digits, '.', '_' and '-' only")
        return value

    @model_validator(mode="after")
    def _axes_known(self) -> Experiment:
        for where, axes in [("axes", self.axes)] + [
            (f"learners.{name}.axes", spec.axes) for name, spec in self.learners.items()
        ]:
            for axis, values in axes.items():
                if axis not in AXES:
                    raise ValueError(f"{where}.{axis}: unknown axis, allowed: {', '.join(AXES)}")
                if axis in ("m", "N") and not all(isinstance(v, int) for v in values):
                    raise ValueError(f"{where}.{axis}: whole numbers only")
                if len(set(values)) != len(values):
                    raise ValueError(f"{where}.{axis}: values must be distinct")
        for name in self.learners:
            if not NAME.fullmatch(name):
                raise ValueError(f"learners.{name}: letters, digits, '.', '_' and '-' only")
            if "m" not in {**self.axes, **self.learners[name].axes}:
                raise ValueError(f"learners.{name}: no width; give the axis m")
        return self
