"""scores -> figure: one claim's picture as SVG, PDF and PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from learnability import claims, figures
from learnability.artifacts import read_frame
from learnability.figures import style


def run(
    claim: str,
    given: dict[str, Any],
    teacher: dict[str, Any],
    scores: Path,
    svg: Path,
    pdf: Path,
    png: Path,
) -> None:
    """Draw ``claim`` from ``scores``."""
    parameters = claims.load(claim).Parameters(**given)
    style.save(figures.load(claim).draw(read_frame(scores), parameters, teacher), svg, pdf, png)
