"""What all sections of the config share: strictness, kinds of numbers, axes."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict  # pydantic refuses typing's before Python 3.12

SCALES = ("smoke", "laptop", "paper")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._]*(-[A-Za-z0-9._]+)*")
NAME_RULE = "must be letters, digits, '.' and '_', with single '-' between them"
RESERVED = ("figures", "logs", "verdicts", "wandb")  # folders beside the experiments' own
NAMING_LEARNERS = (
    "hero",
    "methods",
    "kernels",
    "others",
    "control",
    "beyond",
)  # claim parameters whose values are learners' names


def wrong(at: tuple[str, ...], message: str) -> PydanticCustomError:
    """What a validator of several keys raises: ``at`` is the key to blame, below its section."""
    return PydanticCustomError("wrong", "{message}", {"at": at, "message": message})


def distinct(values: list) -> list:
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


AXES = {  # axis name -> section and key that it sweeps
    "m": ("learner", "width"),
    "L": ("learner", "depth"),
    "N": ("data", "n_train"),
    "d": ("teacher", "d"),
    "k": ("teacher", "k"),
    "alpha": ("teacher", "alpha"),
    "beta": ("teacher", "beta"),
    "noise": ("teacher", "noise"),
}
Axis = Literal["m", "L", "N", "d", "k", "alpha", "beta", "noise"]
Counts = Annotated[list[PositiveInt], Field(min_length=1), AfterValidator(distinct)]


class Axes(TypedDict, total=False):
    """What is swept: values as :data:`AXES`' keys allow them. Points are named in this order."""

    __pydantic_config__ = Strict.model_config

    m: Counts
    L: Counts
    N: Counts
    d: Counts
    k: Counts
    alpha: Annotated[list[NonNegative], Field(min_length=1), AfterValidator(distinct)]
    beta: Annotated[list[float], Field(min_length=1), AfterValidator(distinct)]
    noise: Annotated[list[NonNegative], Field(min_length=1), AfterValidator(distinct)]


class LearnerBase(Strict):
    """What every method has: axes and seeds of its own, over the experiment's."""

    has_width: ClassVar[bool] = False  # whether the axis m is one of its own
    has_depth: ClassVar[bool] = False  # whether the axis L is

    axes: Axes = {}
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1), AfterValidator(distinct)] | None = None

    def has_axis(self, axis: str) -> bool:
        """Whether an axis of the experiment is one of this method's."""
        return {"m": self.has_width, "L": self.has_depth}.get(axis, True)

    @property
    def by_sgd(self) -> bool:
        """Whether it is trained step by step, and not solved for."""
        return False
