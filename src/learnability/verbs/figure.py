"""scores, and training curves where a figure asks for them -> figure: one claim's picture as SVG, PDF and PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas

from learnability import claims, figures
from learnability.artifacts import read_frame
from learnability.figures import style

JOB = ["experiment", "learner", "point"]
LOGGED = ["replica", "seed", "epoch", "split", "name", "value"]


def run(
    claim: str,
    given: dict[str, Any],
    scores: list[Path],
    svg: Path,
    pdf: Path,
    png: Path,
) -> None:
    """Draw ``claim`` from ``scores`` and from the metrics beside them."""
    parameters = claims.load(claim).Parameters(**given)
    tables = {path: read_frame(path) for path in scores}
    content = [pandas.concat(tables.values(), ignore_index=True), parameters]
    if wanted := figures.learners(claim, parameters):
        content.append(curves(tables, wanted))
    style.save(figures.load(claim).draw(*content), svg, pdf, png)


def curves(tables: dict[Path, pandas.DataFrame], wanted: list[str]) -> pandas.DataFrame:
    """All that the picked replicas of the ``wanted`` learners logged, columns ``JOB`` and ``LOGGED``.

    ``tables`` has the scores by their files; a job's metrics lie beside them, in <learner>/<point>. A job without
    metrics, or whose replicas all diverged, has no rows.
    """
    found = [pandas.DataFrame(columns=[*JOB, *LOGGED])]
    for path, scores in tables.items():
        mine = scores[scores.learner.isin(wanted) & scores.picked]
        for job, rows in mine.groupby(JOB, sort=False):
            metrics = path.parent / job[1] / job[2] / "metrics.parquet"
            if metrics.exists():
                logged = read_frame(metrics)[LOGGED]
                logged = logged[logged.replica.isin(rows.replica)]
                found.append(logged.assign(**dict(zip(JOB, job, strict=True))))
    return pandas.concat(found[1:] or found, ignore_index=True)
