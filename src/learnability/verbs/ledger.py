"""verdicts -> ledger: all claims in one table, as CSV, Markdown and the front page of the report."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from learnability.artifacts import read_json, write_text
from learnability.plan import Layout, claim_config, jobs
from learnability.schema import Experiment

COLUMNS = [
    "claim",
    "paper",
    "statement",
    "verdict",
    "value",
    "low",
    "high",
    "threshold",
    "unit",
    "seeds",
    "scale",
    "note",
]


def run(verdicts: dict[str, Path], scale: str, outputs: dict[str, Path], missing: dict[str, str]) -> None:
    """Write ``outputs`` (csv, md, rst); a claim in ``missing`` gets a row that says why it is open."""
    rows = [_row(read_json(path)) for path in verdicts.values()]
    rows += [_open_row(claim, scale, why) for claim, why in missing.items()]
    rows.sort(key=lambda row: row["claim"])
    write_text(outputs["md"], _markdown(rows))
    write_text(outputs["rst"], _front_page(rows, scale))
    write_text(outputs["csv"], _csv(rows))


def _results(layout: Layout, experiments: list[Experiment]) -> dict[str, Path]:
    """``learner/point`` -> its metrics, of all that a claim rests on."""
    places = [(job, layout.metrics(job.experiment, job.learner, job.point)) for e in experiments for job in jobs(e)]
    return {f"{job.experiment}/{job.learner}/{job.point}": path for job, path in places}


def is_current(layout: Layout, experiments: list[Experiment], claim: str) -> bool:
    """Whether a claim's verdict rests on the config and the measurements that are there now."""
    path = layout.verdict(claim)
    needed = [*_results(layout, experiments).values(), *[layout.scores(e.id) for e in experiments]]
    if not all(file.exists() for file in [path, *needed]):
        return False
    newest = max(file.stat().st_mtime_ns for file in needed)
    return path.stat().st_mtime_ns >= newest and read_json(path).get("config") == claim_config(experiments, claim)


def why_open(layout: Layout, experiments: list[Experiment], claim: str) -> str:
    """The first error in each log of what a claim needs, and the jobs that have no result."""
    logs = layout.base / "logs"
    names = [f"*/{claim}.log"] + [n for e in experiments for n in (f"*/{e.id}/**/*.log", f"*/{e.id}.log")]
    found = []
    for path in sorted(path for name in names for path in logs.glob(name)):
        errors = [line for line in path.read_text().splitlines() if line.startswith("error: ")]
        found += [f"{path.relative_to(logs).with_suffix('')}: {error}" for error in errors[:1]]
    lost = [name for name, path in _results(layout, experiments).items() if not path.exists()]
    if lost:
        more = f" and {len(lost) - 6} more" if len(lost) > 6 else ""
        found.append(f"no result from {', '.join(lost[:6])}{more}")
    return "; ".join(found) or "not run to the end since the last change"


def _row(verdict: dict[str, Any]) -> dict[str, str]:
    def text(value: Any) -> str:
        return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)

    return {column: text(verdict[column]) for column in COLUMNS}


def _open_row(claim: str, scale: str, why: str) -> dict[str, str]:
    from learnability import claims

    module = claims.load(claim)
    known = {
        "claim": claim,
        "paper": module.PAPER,
        "statement": module.STATEMENT,
        "unit": module.UNIT,
    }
    state = {"verdict": "inconclusive", "seeds": "0", "scale": scale, "note": why}
    return {column: (known | state).get(column, "") for column in COLUMNS}


def _csv(rows: list[dict[str, str]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _cells(row: dict[str, str]) -> list[str]:
    """What a reader needs of a row: claim, verdict, number with interval and threshold, seeds, note."""
    number = ""
    if row["value"]:
        value, low, high = (f"{float(row[c]):.3g}" for c in ("value", "low", "high"))
        number = f"{value} [{low}, {high}]"
    threshold = f"{float(row['threshold']):.3g}" if row["threshold"] else ""
    return [
        row["claim"],
        row["statement"],
        row["verdict"],
        number,
        threshold,
        row["unit"],
        row["seeds"],
        row["note"],
    ]


HEAD = [
    "claim",
    "what the paper says",
    "verdict",
    "value [95% interval]",
    "threshold",
    "unit",
    "seeds",
    "note",
]


def _markdown(rows: list[dict[str, str]]) -> str:
    lines = [HEAD, ["---"] * len(HEAD)] + [_cells(row) for row in rows]
    return "".join("| " + " | ".join(c.replace("|", "\\|") for c in line) + " |\n" for line in lines)


def _front_page(rows: list[dict[str, str]], scale: str) -> str:
    """reStructuredText for Snakemake's report: a narrow table, then each claim in words."""
    words = ("supported", "contradicted", "inconclusive")
    counts = ", ".join(f"{sum(row['verdict'] == word for row in rows)} {word}" for word in words)
    narrow = [HEAD.index(name) for name in ("claim", "verdict", "value [95% interval]", "threshold", "seeds")]
    lines = [[cells[i] for i in narrow] for cells in [HEAD, *map(_cells, rows)]]
    table = "".join("   " + ", ".join(_quote(cell) for cell in line) + "\n" for line in lines)
    claims = "".join(
        f"**{row['claim']}** (paper {row['paper']}): {_literal(row['statement'])}. Measured: "
        f"{_literal(row['unit'])}. Why: {_literal(row['note'])}.\n\n"
        for row in rows
    )
    return (
        f"The ledger\n==========\n\nScale {scale}: {counts}.\n\n"
        f".. csv-table::\n   :header-rows: 1\n\n{table}\n{claims}"
        "Figures, verdicts with all their numbers, and the resolved configuration are in the menu; "
        "run times are under *Statistics*.\n"
    )


def _literal(text: str) -> str:
    """Text whose markup characters are shown, not obeyed."""
    return "".join(f"\\{c}" if c in "\\*`|_" else c for c in text)


def _quote(cell: str) -> str:
    """A cell of a CSV table that shows the text itself."""
    return '"' + _literal(cell).replace('"', '""') + '"'
