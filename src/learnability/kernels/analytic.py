"""Every kernel with a formula, by name: ``build('tangent', d=30, depth=2)``.

    gaussian, polynomial, arcsin, random_features, recursive          ``correlation.py``
    conjugate (recursive with relu), tangent,
    residual_conjugate, residual_tangent                              ``infinite_width.py``

``random_features`` and ``recursive`` take ``activation``, a name in ``dual.DUALS``, a function of tensors or a Dual
(and ``options`` for it, e.g. ``activation='power', options={'degree': 3}``).
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from learnability.kernels.correlation import (
    ArcSine,
    Gaussian,
    Kernel,
    Polynomial,
    RandomFeatures,
    Recursive,
)
from learnability.kernels.dual import dual
from learnability.kernels.infinite_width import ResidualConjugate, ResidualTangent, Tangent

KERNELS: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "polynomial": Polynomial,
    "arcsin": ArcSine,
    "random_features": RandomFeatures,
    "recursive": Recursive,
    "conjugate": Recursive,
    "tangent": Tangent,
    "residual_conjugate": ResidualConjugate,
    "residual_tangent": ResidualTangent,
}


def build(name: str, **parameters: Any) -> Kernel:
    """The kernel of that name; a ValueError says what is unknown, missing or out of range."""
    if name not in KERNELS:
        raise ValueError(f"no kernel {name!r}; there are {', '.join(KERNELS)}")
    family = KERNELS[name]
    known = {f.name for f in fields(family)} - {"dual"}
    if name in ("random_features", "recursive"):
        known |= {"activation", "options"}
        activation = parameters.get("activation", "relu")
        chosen = {"dual": dual(activation, **parameters.get("options", {}))}
    else:
        chosen = {}
    if unknown := parameters.keys() - known:
        raise ValueError(f"{name} has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    if "d" not in parameters:
        raise ValueError(f"{name} needs d, the dimension of its inputs")
    chosen |= {n: tuple(v) if isinstance(v, list) else v for n, v in parameters.items()}
    return family(**{n: v for n, v in chosen.items() if n not in ("activation", "options")})
