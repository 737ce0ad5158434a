"""ledger and figures -> W&B: all verdicts in a run of their own (job type ``verdict``)."""

from __future__ import annotations

from pathlib import Path

import pandas

from learnability.tracking import Tracker


def run(ledger: Path, figures: list[Path], tracker: Tracker) -> None:
    """Send the ledger as a table, a summary entry a claim, and the pictures."""
    table = pandas.read_csv(ledger)
    tracker.table("ledger", table)
    tracker.summary({f"{row.claim}/verdict": row.verdict for row in table.itertuples()})
    tracker.summary({f"{r.claim}/value": r.value for r in table.itertuples() if r.value == r.value})
    for path in figures:
        tracker.image(path.stem, path)
