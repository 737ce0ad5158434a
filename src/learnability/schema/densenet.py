"""Paper A's teachers and learners as the config gives them: quadratic DenseNets, and two-layer polynomial
networks.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from learnability.schema.base import LearnerBase, NonNegative, PositiveFloat, PositiveInt, Strict, distinct, wrong
from learnability.theory.graphs import FIXED, broken_rule, layers, resolve

Graph = list[list[Annotated[int, Field(ge=0)]]]


def check_graph(graph: Graph, at: tuple[str, ...], strict: bool = True) -> None:
    """Refuse a graph that breaks a rule of paper A, Section 2."""
    if problem := broken_rule(graph, strict):
        raise wrong(at, problem)


class DenseTeacher(Strict):
    """Paper A, (1.1): quadratic DenseNets; see ``teachers/densenet.py``."""

    kind: Literal["densenet"]
    d: PositiveInt
    k: Literal[1] = 1  # outputs
    alpha: PositiveFloat
    family: Literal["random", "supports", "identity", "even", "toy", "example"] = "random"
    depth: Annotated[int, Field(ge=2, le=5)] | None = None
    widths: Annotated[list[PositiveInt], Field(min_length=1, max_length=4)] | None = None
    graph: Graph | None = None
    scale: PositiveFloat = 1.0
    kappa: Annotated[float, Field(ge=1)] = 1.0
    signs: bool = False
    distribution: Literal["gaussian", "covariance", "mixture", "axis_dropping", "uniform"] = "gaussian"
    spread: Annotated[float, Field(ge=1)] = 2.0
    components: PositiveInt = 3
    noise: NonNegative = 0.0
    classes: bool = False
    draw: Annotated[int, Field(ge=0)] = 0

    @property
    def layers(self) -> int:
        """L - 1, how many layers have weights."""
        return layers(self.family, self.depth, self.widths)

    def resolved(self) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        """k_2..k_L and J_2..J_L."""
        return resolve(self.family, self.d, self.depth, self.widths, self.graph)

    @model_validator(mode="after")
    def _coherent(self) -> DenseTeacher:
        if self.family == "random":
            if not self.widths:
                raise wrong(("widths",), "missing; family: random needs k_2, ..., k_L")
            if self.depth is not None and self.depth != len(self.widths) + 1:
                raise wrong(
                    ("depth",), f"must be {len(self.widths) + 1}, one more than there are widths, or left out"
                )
            if sorted(self.widths, reverse=True) != self.widths or self.widths[0] > self.d:
                raise wrong(("widths",), f"must obey d >= k_2 >= ... >= k_L, got d = {self.d}, {self.widths}")
        elif self.widths is not None:
            raise wrong(("widths",), f"is for family: random; {self.family} has its own")
        if self.family in FIXED:
            self._is_fixed()
        if self.family == "supports" and self.d < 2**self.layers:
            raise wrong(("d",), f"must be at least 2^(L-1) = {2**self.layers} for family: supports, got {self.d}")
        if self.graph is not None and len(self.graph) != self.layers:
            raise wrong(
                ("graph",), f"must have {self.layers} lists, J_2 to J_{self.layers + 1}, got {len(self.graph)}"
            )
        check_graph(self.resolved()[1], ("graph",), strict=self.family != "example")
        if self.signs and any(k < 2 for k in self.resolved()[0]):
            raise wrong(("signs",), "needs two neurons or more in every layer: half of them count negative")
        if self.classes and self.noise:
            raise wrong(("noise",), "must be 0 where labels are classes")
        return self

    def _is_fixed(self) -> None:
        d = FIXED[self.family][0]
        if self.d != d:
            raise wrong(("d",), f"must be {d} for family: {self.family}, got {self.d}")
        for key in ("depth", "graph"):
            if getattr(self, key) is not None:
                raise wrong((key,), f"is given by family: {self.family}; leave it out")


class DenseNet(LearnerBase):
    """Algorithm 1 or one of its controls; see ``training/algorithm1.py`` and ``training/densenet.py``."""

    train: Literal["densenet"]
    how: Literal["algorithm1", "layerwise", "frozen", "together"] = "algorithm1"
    constants: Literal["practical", "theory"] = "practical"
    theory_c: Annotated[float, Field(ge=3)] = 3.0  # C > C_1 >= 2, integers (Section 3)
    stages: Annotated[list[PositiveInt], Field(min_length=1)]
    anneal: Annotated[float, Field(gt=0, lt=1)] = 0.8
    patience: PositiveInt = 15
    gain: Annotated[float, Field(ge=0, lt=1)] = 0.05
    lr: Annotated[list[PositiveFloat], Field(min_length=1), AfterValidator(distinct)]
    wd: Annotated[list[PositiveFloat], Field(max_length=0)] = []  # weight decay is lambda_6, below
    optimiser: Literal["adam", "sgd"] = "adam"
    clip: PositiveFloat | None = 0.1
    layer_rates: list[PositiveFloat] = []
    lambdas: Annotated[list[NonNegative], Field(min_length=3, max_length=3)] = [3.0, 1.0, 0.3]
    decay: NonNegative = 1e-3
    noise_w: NonNegative = 1e-5
    draws: PositiveInt = 50
    rows: PositiveInt = 1
    distill: Literal["balanced", "svd", "form"] = "balanced"
    bound: PositiveFloat = 30.0
    over: PositiveInt = 2
    spare: Annotated[int, Field(ge=0)] = 1
    sharpness: PositiveFloat = 2.0
    alphas: Annotated[list[PositiveFloat], Field(min_length=1), AfterValidator(distinct)] | None = None
    graphs: Annotated[list[Graph], Field(min_length=1), AfterValidator(distinct)] | None = None

    @property
    def by_sgd(self) -> bool:
        return True

    @model_validator(mode="after")
    def _coherent(self) -> DenseNet:
        if self.constants == "theory" and self.how != "algorithm1":
            raise wrong(("constants",), "theory is for how: algorithm1 only")
        for graph in self.graphs or []:
            check_graph(graph, ("graphs",), strict=False)
        return self


class TwoLayer(LearnerBase):
    """Two-layer networks with a free polynomial for every neuron; see ``training/polynomial2.py``."""

    has_width: ClassVar[bool] = True

    train: Literal["polynomial"]
    degree: Annotated[int, Field(ge=1, le=16)]
    with_squares: bool = True
    steps: PositiveInt = 300
    lr: Annotated[list[PositiveFloat], Field(min_length=1), AfterValidator(distinct)] = [0.03]
    wd: Annotated[list[PositiveFloat], Field(min_length=1), AfterValidator(distinct)]
