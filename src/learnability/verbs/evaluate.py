"""metrics -> scores: one row per learner x point x replica, with the numbers that claims need."""

from __future__ import annotations

from pathlib import Path

import numpy
import pandas

from learnability.artifacts import read_frame, write_frame
from learnability.plan import Job

KEY = ["replica", "part", "seed", "lr", "wd"]


def run(jobs: list[tuple[Job, Path]], output: Path) -> None:
    """Last value of every (split, name) of every replica, and which replica each seed picks."""
    write_frame(output, pandas.concat([_scores(job, read_frame(p)) for job, p in jobs], ignore_index=True))


def _scores(job: Job, metrics: pandas.DataFrame) -> pandas.DataFrame:
    """Wide table of one job: ``val_error``, ``test_cG``, ..., ``picked``, and every axis of :meth:`Part.columns`.

    ``picked`` marks, for each seed and part, the replica with the least validation error. Each seed thus is one
    whole experiment (its samples, its start, its search), and seeds are independent of one another.
    """
    last = metrics.sort_values("step", kind="stable").drop_duplicates(["replica", "split", "name"], keep="last")
    last = last.assign(column=last["split"] + "_" + last["name"])
    wide = last.pivot(index="replica", columns="column", values="value")
    keys = last[KEY].drop_duplicates().set_index("replica").sort_index()
    scores = keys.join(wide).reset_index()
    if "val_error" in scores:
        scores["diverged"] = ~numpy.isfinite(scores.val_error)
        best = scores.loc[~scores.diverged].groupby(["part", "seed"]).val_error.idxmin()
        scores["picked"] = scores.index.isin(best)
    else:  # nothing to choose among: every replica is a measurement of its own
        scores["diverged"] = scores.train_lost == 1 if "train_lost" in scores else False
        scores["picked"] = ~scores.diverged
    axes = pandas.DataFrame([job.parts[part].columns() for part in scores.part])
    front = {"experiment": job.experiment, "learner": [job.learner] * len(scores), "point": job.point}
    return pandas.concat([pandas.DataFrame(front), axes, scores.drop(columns="part")], axis=1)
