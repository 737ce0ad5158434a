"""scores -> verdict: one claim, decided by its own module."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from learnability import claims
from learnability.artifacts import read_frame, write_json


def run(
    claim: str,
    given: dict[str, Any],
    teacher: dict[str, Any],
    scale: str,
    scores: Path,
    output: Path,
) -> str:
    """Judge ``claim`` on ``scores``, write the verdict and return its word."""
    module = claims.load(claim)
    judgement = module.judge(read_frame(scores), module.Parameters(**given), teacher)
    head = {"claim": claim, "paper": module.PAPER, "statement": module.STATEMENT}
    body = asdict(judgement)
    write_json(output, head | {"verdict": body.pop("verdict"), "unit": module.UNIT, "scale": scale} | body)
    return judgement.verdict
