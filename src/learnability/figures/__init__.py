"""Measurements in, picture out: one module per claim, named as its judge is.

A figure module holds ``draw(scores, given) -> matplotlib Figure``; ``lines.py`` has what they share.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def module_of(claim: str) -> str:
    """``B-fig2a`` -> ``figures.b_fig2a``, below the package."""
    return "figures." + claim.lower().replace("-", "_").replace(".", "_")


def load(claim: str) -> ModuleType:
    """The module that draws a claim."""
    return import_module(f"learnability.{module_of(claim)}")
