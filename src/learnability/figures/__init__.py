"""Measurements in, picture out: one module per claim, named as its judge is.

A figure module holds ``draw(scores, given) -> matplotlib Figure``; ``lines.py`` and ``seeds.py`` have what they
share. One that also shows how learners got there says so: ``CURVES`` lists the parameters of its claim that name
those learners, and it holds ``draw(scores, given, curves)`` (``stages.py``).
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def module_of(claim: str) -> str:
    """``B-fig2a`` -> ``figures.b_fig2a``, below the package."""
    return "figures." + claim.lower().replace("-", "_").replace(".", "_")


def load(claim: str) -> ModuleType:
    """The module that draws a claim."""
    return import_module(f"learnability.{module_of(claim)}")


@cache
def curves(claim: str) -> tuple[str, ...]:
    """``CURVES`` of the module that draws a claim, () without: read, not run, as it would load matplotlib."""
    path = Path(__file__).parent / f"{module_of(claim).removeprefix('figures.')}.py"
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CURVES":
            return ast.literal_eval(node.value)
    return ()


def learners(claim: str, given: Any) -> list[str]:
    """Learners whose training curves the figure of a claim with parameters ``given`` draws."""
    return [getattr(given, name) for name in curves(claim)]
