"""Paper D as the config gives it: data sets on the sphere, and what is done with smoothed-ReLU networks."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from learnability.schema.base import (
    LearnerBase,
    NonNegative,
    PositiveFloat,
    PositiveInt,
    Strict,
    distinct,
    wrong,
)

Probability = Annotated[float, Field(gt=0, lt=1)]
Factors = Annotated[list[PositiveFloat], Field(min_length=1), AfterValidator(distinct)]


class SphereTeacher(Strict):
    """n labelled points on the unit sphere; see ``teachers/sphere.py``."""

    kind: Literal["sphere"]
    d: Annotated[int, Field(ge=2)]
    k: Literal[1] = 1  # outputs
    points: Literal["random", "halfspace", "clustered", "colliding"] = "random"
    radius: Annotated[float, Field(ge=0, lt=1.4142)] | None = None
    count: PositiveInt | None = None
    delta: Probability = 0.1
    gap: Annotated[float, Field(gt=0, le=2)] = 0.01

    @model_validator(mode="after")
    def _clusters_have_a_radius(self) -> SphereTeacher:
        if self.points == "clustered" and self.radius is None and self.count is None:
            raise wrong(("radius",), "missing; points: clustered needs it, or count, the n to choose it for")
        return self


class LineTeacher(Strict):
    """Arguments of an activation, in units of h, with ReLU's values; see ``teachers/line.py``."""

    kind: Literal["line"]
    d: Literal[1] = 1
    k: Literal[1] = 1
    reach: PositiveFloat = 1e4


class SmoothedBase(LearnerBase):
    """A method with paper D's networks: L hidden layers (axis L), as wide as the inputs unless ``width`` is set."""

    has_depth: ClassVar[bool] = True

    width: PositiveInt | None = None


class Interpolate(SmoothedBase):
    """Theorem 3.1 from a start that meets its hypotheses, or fails one on purpose."""

    train: Literal["interpolate"]
    activation: Literal["huber", "swish", "relu"] = "huber"
    start_loss: PositiveFloat = 1.02
    h_times: Factors = [0.5]
    alpha_times: Factors = [1.0]
    s: NonNegative = 40.0
    points: PositiveInt = 40
    probes: PositiveInt = 8
    steps: PositiveInt = 64
    rtol: PositiveFloat = 1e-5
    most_rounds: PositiveInt = 20000
    draws: PositiveInt = 4
    passes: PositiveInt = 300
    rate: PositiveFloat = 0.05


class TwoPhases(SmoothedBase):
    """Theorem 3.3: from a random start to the threshold with alpha_NT, and on with alpha_max."""

    train: Literal["two_phases"]
    s: PositiveFloat = 20.0
    points: PositiveInt = 40
    rtol: PositiveFloat = 1e-5
    most_rounds: PositiveInt = 100000
    delta: Probability = 0.1
    c_1: PositiveFloat = 2.0
    c_tau: PositiveFloat = 1.0
    c_alpha: PositiveFloat = 1.0


class Margin(SmoothedBase):
    """Assumption 3.2: the exact margin of the tangent features at random starts."""

    train: Literal["margin"]
    h: Literal["nt", "clustered"] = "nt"
    starts: PositiveInt = 1


class Definition(LearnerBase):
    """Definition 2.1 of an activation at several h; nothing is trained."""

    train: Literal["definition"]
    activation: Literal["huber", "swish", "relu", "gelu", "softplus", "swish_unscaled", "tanh"]
    h: Factors
