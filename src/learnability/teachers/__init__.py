"""Where labels come from: one module per concept class, found by its ``kind`` in the config."""

from __future__ import annotations

from importlib import import_module
from typing import Any

MODULES = {"parity_composite": "parity", "concept1": "concept", "concept2": "concept2", "densenet": "densenet"}
MODULES |= {"sphere": "sphere", "line": "line"}


def module_of(kind: str) -> str:
    """Module that holds a teacher, as a dotted name below the package."""
    return f"teachers.{MODULES[kind]}"


def build(kind: str, **parameters: Any) -> Any:
    """The teacher of that kind, e.g. ``build('parity_composite', d=30, k=8, alpha=0.3)``."""
    return import_module(f"learnability.{module_of(kind)}").Teacher(**parameters)
