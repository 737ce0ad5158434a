"""scores -> verdict: one claim, decided by its own module."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from learnability import claims
from learnability.artifacts import read_frames, write_json


def run(
    claim: str,
    given: dict[str, Any],
    scale: str,
    config: str,
    scores: list[Path],
    output: Path,
) -> str:
    """Judge ``claim`` on ``scores``, write the verdict and return its word.

    ``config`` is the hash of what was judged: a ledger can tell a verdict that is out of date.
    """
    module = claims.load(claim)
    judgement = module.judge(read_frames(scores), module.Parameters(**given))
    body = asdict(judgement)
    verdict = {
        "claim": claim,
        "paper": module.PAPER,
        "statement": module.STATEMENT,
        "verdict": body.pop("verdict"),
        "unit": module.UNIT,
        "scale": scale,
        "config": config,
    }
    write_json(output, verdict | body)
    return judgement.verdict
