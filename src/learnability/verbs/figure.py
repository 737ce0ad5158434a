"""scores -> figure: one claim's picture as SVG, PDF and PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from learnability import claims, figures
from learnability.artifacts import read_frames
from learnability.figures import style


def run(
    claim: str,
    given: dict[str, Any],
    scores: list[Path],
    svg: Path,
    pdf: Path,
    png: Path,
) -> None:
    """Draw ``claim`` from ``scores``."""
    parameters = claims.load(claim).Parameters(**given)
    style.save(figures.load(claim).draw(read_frames(scores), parameters), svg, pdf, png)
