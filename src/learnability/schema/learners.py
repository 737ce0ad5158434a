"""Methods as the config gives them: networks trained by SGD, networks made linear, kernels."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from learnability.schema.base import LearnerBase, NonNegative, PositiveFloat, PositiveInt, distinct, wrong
from learnability.schema.densenet import DenseNet, TwoLayer
from learnability.schema.logistic import Definition, Interpolate, Margin, TwoPhases

Ridges = Annotated[list[PositiveFloat], Field(min_length=1), AfterValidator(distinct)]


class NetworkBase(LearnerBase):
    """A method with a network of some width."""

    has_width: ClassVar[bool] = True

    network: Literal["resnet3", "layer3", "layer2", "signed2"]
    init_scale: dict[Literal["W", "V", "A"], PositiveFloat] = {}


class Hidden(NetworkBase):
    """SGD on the hidden weights only (Appendix A of paper B)."""

    train: Literal["hidden"]
    lr: Annotated[list[PositiveFloat], Field(min_length=1), AfterValidator(distinct)]
    wd: Annotated[list[NonNegative], Field(min_length=1), AfterValidator(distinct)]
    lr_scale: dict[Literal["W", "V"], PositiveFloat] = {}
    phases: Annotated[list[PositiveInt], Field(min_length=1)] | None = None

    @property
    def by_sgd(self) -> bool:
        return True


class Linear(NetworkBase):
    """``last``: conjugate kernel; ``ntk``: tangent kernel. Linear in the weights that train."""

    train: Literal["last", "ntk"]
    wd: Ridges
    solver: Literal["ridge", "sgd"] = "ridge"
    lr: list[PositiveFloat] = []
    outputs: Literal["shared", "separate"] = "shared"

    @property
    def by_sgd(self) -> bool:
        return self.solver == "sgd"

    @model_validator(mode="after")
    def _coherent(self) -> Linear:
        if self.solver == "ridge" and self.lr:
            raise wrong(("lr",), "is for solver: sgd only; solver is ridge")
        if self.solver == "sgd" and not self.lr:
            raise wrong(("lr",), "missing; solver: sgd needs a list of 1 or more, each a number > 0")
        if self.outputs == "separate" and (self.train != "ntk" or self.solver != "ridge"):
            raise wrong(("outputs",), "separate is for train: ntk with solver: ridge only")
        return self


KERNELS = {  # kernel -> the keys that are its own
    "gaussian": {"bandwidth"},
    "polynomial": {"degree", "offset"},
    "arcsin": set(),
    "random_features": {"activation", "variance"},
    "recursive": {"activation", "depth", "weight_var", "bias_var"},
    "conjugate": {"depth", "weight_var", "bias_var"},
    "tangent": {"depth", "weight_var", "bias_var", "output_var", "trains", "parameterisation"},
    "residual_conjugate": {"weight_var", "bias_var"},
    "residual_tangent": {"weight_var", "bias_var", "output_var", "trains", "parameterisation"},
}


class Kernel(LearnerBase):
    """Ridge regression with a kernel that has a formula; see ``kernels/analytic.py``. It has no width."""

    train: Literal["kernel"]
    kernel: Literal[
        "gaussian",
        "polynomial",
        "arcsin",
        "random_features",
        "recursive",
        "conjugate",
        "tangent",
        "residual_conjugate",
        "residual_tangent",
    ]
    wd: Ridges
    lr: Annotated[list[PositiveFloat], Field(max_length=0)] = []  # nothing is trained
    block_mb: Annotated[float, Field(ge=1)] = 64.0
    bandwidth: PositiveFloat | None = None
    degree: PositiveInt | None = None
    offset: NonNegative | None = None
    activation: Literal["relu", "step", "sign", "abs", "erf", "cos", "sin", "exp", "gaussian"] | None = None
    variance: PositiveFloat | None = None
    depth: PositiveInt | None = None
    weight_var: NonNegative | None = None
    bias_var: NonNegative | None = None
    output_var: PositiveFloat | None = None
    trains: Literal["hidden", "all"] | None = None
    parameterisation: Literal["ntk", "standard"] | None = None

    @model_validator(mode="after")
    def _own_keys_only(self) -> Kernel:
        own = KERNELS[self.kernel]
        for key in sorted(set().union(*KERNELS.values()) - own):
            if getattr(self, key) is not None:
                allowed = f"it takes {', '.join(sorted(own))}" if own else "it takes none"
                raise wrong((key,), f"is no parameter of {self.kernel}; {allowed}")
        return self

    def parameters(self) -> dict[str, Any]:
        """What ``kernels.analytic.build`` takes beside the name and d."""
        given = {key: getattr(self, key) for key in KERNELS[self.kernel] if getattr(self, key) is not None}
        return {"train" if key == "trains" else key: value for key, value in given.items()}


class Handmade(NetworkBase):
    """Networks of small norm made by hand for a parity of six; see ``theory/minimal_norm.py``."""

    network: Literal["signed2"]
    train: Literal["handmade"]
    errors: Annotated[list[Annotated[float, Field(gt=0, lt=1)]], Field(min_length=1), AfterValidator(distinct)]
    lr: Annotated[list[PositiveFloat], Field(max_length=0)] = []  # not a sweep
    wd: Annotated[list[PositiveFloat], Field(max_length=0)] = []


Learner = Annotated[
    Hidden | Linear | Kernel | Handmade | DenseNet | TwoLayer | Interpolate | TwoPhases | Margin | Definition,
    Field(discriminator="train"),
]
