"""Measurements in, verdict out: one module per claim, named after it (B-fig2a -> ``b_fig2a.py``).

A claim module holds ``ID``, ``PAPER``, ``STATEMENT``, ``UNIT``, ``AXES`` (what its experiment may sweep), a
pydantic model ``Parameters`` (what the experiment file may set under ``claims.<id>``) and
``judge(scores, given) -> Judgement``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

Word = Literal["supported", "contradicted", "inconclusive"]


@dataclass
class Judgement:
    """A verdict and its figures: the number that decides, its interval, what it is held against."""

    verdict: Word
    value: float | None
    low: float | None
    high: float | None
    threshold: float | None
    seeds: int
    note: str
    details: dict[str, Any] = field(default_factory=dict)


def module_of(claim: str) -> str:
    """``B-fig2a`` -> ``claims.b_fig2a``, below the package."""
    return "claims." + claim.lower().replace("-", "_").replace(".", "_")


def available() -> set[str]:
    """Ids of all claims that have a module, read off the file names' ``ID`` lines without importing."""
    found = set()
    for path in Path(__file__).parent.glob("[a-z]_*.py"):
        line = next(line for line in path.read_text().splitlines() if line.startswith("ID = "))
        found.add(line.split('"')[1])
    return found


def load(claim: str) -> ModuleType:
    """The module of a claim."""
    return import_module(f"learnability.{module_of(claim)}")
