"""What is trained: one module per network, found by the config's ``network``.

``build('resnet3', d=30, k=8, width=200)`` gives a :class:`~learnability.learners.base.Network`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def module_of(network: str) -> str:
    """Module that holds a network, as a dotted name below the package."""
    return f"learners.{network}"


def build(network: str, **parameters: Any) -> Any:
    """The network of that name; its module has one class called ``Learner``."""
    return import_module(f"learnability.{module_of(network)}").Learner(**parameters)
