"""Teachers as the config gives them, one model a kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from learnability.schema.base import NonNegative, PositiveFloat, PositiveInt, Strict, wrong
from learnability.schema.densenet import DenseTeacher
from learnability.schema.logistic import LineTeacher, SphereTeacher


class ParityComposite(Strict):
    """Paper B, Figure 2 and Theorem 2: H = beta F + alpha G(F) on the hypercube; see ``teachers/parity.py``."""

    kind: Literal["parity_composite"]
    d: PositiveInt
    k: PositiveInt
    f_degree: PositiveInt = 2
    g_degree: PositiveInt | None = 4  # null: k, one product of all of F
    alpha: NonNegative
    beta: float = 1.0
    noise: NonNegative = 0.0

    @model_validator(mode="after")
    def _supports_fit(self) -> ParityComposite:
        if self.k * self.f_degree > self.d:
            needed = f"{self.k} * {self.f_degree} = {self.k * self.f_degree}"
            raise wrong(("d",), f"must be at least k * f_degree = {needed}, got {self.d}")
        if self.k % (self.g_degree or self.k):
            raise wrong(("k",), f"must be a multiple of g_degree = {self.g_degree}, got {self.k}")
        if self.alpha and (self.g_degree or self.k) == 1:
            raise wrong(("alpha",), "must be 0 where g_degree is 1: there G(F) is F itself")
        return self


ACTIVATIONS = Literal["polynomial", "exp", "sin", "cos", "sigmoid", "tanh"]


class SmoothComposite(Strict):
    """Paper B, Concept 1: H = beta F + alpha G(F) with smooth activations; see ``teachers/concept.py``."""

    kind: Literal["concept1"]
    d: PositiveInt
    k: PositiveInt
    alpha: NonNegative
    beta: float = 1.0
    noise: NonNegative = 0.0
    support: Literal["sphere", "hypercube"] = "sphere"
    p_f: PositiveInt = 4
    p_g: PositiveInt = 4
    f_activation: ACTIVATIONS = "sin"
    g_activation: ACTIVATIONS = "cos"
    f_scale: PositiveFloat | None = None
    g_scale: PositiveFloat | None = None
    f_coefficients: list[float] = []
    g_coefficients: list[float] = []
    g_size: PositiveFloat = 1.0
    draw: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _coefficients_go_with_polynomials(self) -> SmoothComposite:
        for side in ("f", "g"):
            named = getattr(self, f"{side}_activation") == "polynomial"
            if named != bool(getattr(self, f"{side}_coefficients")):
                raise wrong((f"{side}_coefficients",), f"goes with {side}_activation: polynomial, and only with it")
        return self


Teacher = Annotated[
    ParityComposite | SmoothComposite | DenseTeacher | SphereTeacher | LineTeacher, Field(discriminator="kind")
]
