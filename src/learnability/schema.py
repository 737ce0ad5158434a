"""The shape of the config: one pydantic model a section, unknown keys refused.

``config.py`` reads the files and turns what these models refuse into one line each.
A new network, teacher or axis is named here first.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict  # pydantic refuses typing's before Python 3.12

SCALES = ("smoke", "laptop", "paper")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._]*(-[A-Za-z0-9._]+)*")
NAME_RULE = "must be letters, digits, '.' and '_', with single '-' between them"
RESERVED = ("figures", "logs", "verdicts", "wandb")  # folders beside the experiments' own
NAMING_LEARNERS = ("hero", "methods")  # claim parameters whose values are learners' names


def wrong(at: tuple[str, ...], message: str) -> PydanticCustomError:
    """What a validator of several keys raises: ``at`` is the key to blame, below its section."""
    return PydanticCustomError("wrong", "{message}", {"at": at, "message": message})


def _distinct(values: list) -> list:
    for value in values:
        if values.count(value) > 1:
            raise wrong((), f"values must be distinct, {value} is given more than once")
    return values


Text = Annotated[str, Field(min_length=1)]
PositiveInt = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class Strict(BaseModel):
    """Base of every section: unknown keys, NaN and infinity are refused, strings are no numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Tracking(Strict):
    """Where W&B runs go; see ``tracking.py``."""

    mode: Literal["auto", "online", "offline", "disabled"] = "auto"
    project: Text = "learnability"
    entity: Text | None = None


class Settings(Strict):
    """``config/config.yaml``: how to run, never what to run."""

    scale: Literal["smoke", "laptop", "paper"] = "laptop"
    experiments: Annotated[list[str], Field(min_length=1), AfterValidator(_distinct)] | None = None
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    scratch: Text = ".scratch"
    tracking: Tracking = Tracking()


class ParityComposite(Strict):
    """Paper B, Figure 2: H = beta F + alpha G(F) on the hypercube; see ``teachers/parity.py``."""

    kind: Literal["parity_composite"]
    d: PositiveInt
    k: PositiveInt
    f_degree: PositiveInt = 2
    g_degree: Annotated[int, Field(ge=2)] = 4  # G(F) = F at degree 1
    alpha: NonNegative
    beta: float = 1.0
    noise: NonNegative = 0.0

    @model_validator(mode="after")
    def _supports_fit(self) -> ParityComposite:
        if self.k * self.f_degree > self.d:
            needed = f"{self.k} * {self.f_degree} = {self.k * self.f_degree}"
            raise wrong(("d",), f"must be at least k * f_degree = {needed}, got {self.d}")
        if self.k % self.g_degree:
            raise wrong(("k",), f"must be a multiple of g_degree = {self.g_degree}, got {self.k}")
        return self


class Data(Strict):
    """Sizes of the three splits, the same for each seed, and the seeds themselves."""

    n_train: PositiveInt
    n_val: PositiveInt
    n_test: PositiveInt
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1), AfterValidator(_distinct)]


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


AXES = {  # axis name -> section and key that it sweeps
    "m": ("learner", "width"),
    "N": ("data", "n_train"),
    "alpha": ("teacher", "alpha"),
    "beta": ("teacher", "beta"),
}
Counts = Annotated[list[PositiveInt], Field(min_length=1), AfterValidator(_distinct)]


class Axes(TypedDict, total=False):
    """What is swept: values as :data:`AXES`' keys allow them. Points are named in this order."""

    __pydantic_config__ = Strict.model_config

    m: Counts
    N: Counts
    alpha: Annotated[list[NonNegative], Field(min_length=1), AfterValidator(_distinct)]
    beta: Annotated[list[float], Field(min_length=1), AfterValidator(_distinct)]


class LearnerBase(Strict):
    """What every method has: a network and, if it differs from the experiment's, its axes."""

    network: Literal["resnet3", "layer3", "layer2"]
    init_scale: dict[Literal["W", "V", "A"], PositiveFloat] = {}
    axes: Axes = {}


class Hidden(LearnerBase):
    """SGD on the hidden weights only (Appendix A of paper B)."""

    train: Literal["hidden"]
    lr: Annotated[list[PositiveFloat], Field(min_length=1), AfterValidator(_distinct)]
    wd: Annotated[list[NonNegative], Field(min_length=1), AfterValidator(_distinct)]
    lr_scale: dict[Literal["W", "V"], PositiveFloat] = {}


class Linear(LearnerBase):
    """``last``: conjugate kernel; ``ntk``: tangent kernel. Linear in the weights that train."""

    train: Literal["last", "ntk"]
    wd: Annotated[list[PositiveFloat], Field(min_length=1), AfterValidator(_distinct)]
    solver: Literal["ridge", "sgd"] = "ridge"
    lr: list[PositiveFloat] = []
    outputs: Literal["shared", "separate"] = "shared"

    @model_validator(mode="after")
    def _coherent(self) -> Linear:
        if self.solver == "ridge" and self.lr:
            raise wrong(("lr",), "is for solver: sgd only; solver is ridge")
        if self.solver == "sgd" and not self.lr:
            raise wrong(("lr",), "missing; solver: sgd needs a list of 1 or more, each a number > 0")
        if self.outputs == "separate" and (self.train != "ntk" or self.solver != "ridge"):
            raise wrong(("outputs",), "separate is for train: ntk with solver: ridge only")
        return self


Learner = Annotated[Hidden | Linear, Field(discriminator="train")]


class Experiment(Strict):
    """One file of ``config/experiments`` at one scale: all that its claims need."""

    id: str
    claims: dict[str, dict[str, Any]]  # may be empty: measure and judge nothing
    teacher: ParityComposite
    data: Data
    axes: Axes
    learners: Annotated[dict[str, Learner], Field(min_length=1)]
    training: Training = Training()

    def swept(self) -> set[str]:
        """Axes that any learner sweeps."""
        return {axis for axes in (self.axes, *(s.axes for s in self.learners.values())) for axis in axes}

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
            if "m" not in {**self.axes, **spec.axes}:
                raise wrong(("learners", name, "axes", "m"), "missing; widths go here or in axes.m")
        return self
