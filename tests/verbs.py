"""Runs the verbs of one experiment in this process, without Snakemake."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest

from learnability import cli
from learnability.config import load_experiment
from learnability.plan import Layout, jobs


def carry_out(folder: Path, text: str) -> Layout:
    """Write ``text`` as the only experiment of ``folder``, draw, train and evaluate it at scale smoke."""
    path = folder / "config/experiments/tiny.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (folder / "config/config.yaml").write_text("scale: smoke\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "disabled")
        for name in ("LEARNABILITY_SETTINGS", "LEARNABILITY_PARENT"):
            patch.delenv(name, raising=False)
        patch.chdir(folder)
        assert cli.main(["sample", "tiny"]) == 0
        for job in jobs(load_experiment(path, "smoke")):
            assert cli.main(["train", "tiny", job.learner, job.point]) == 0
        assert cli.main(["evaluate", "tiny"]) == 0
    return Layout("smoke", folder)


def scores_of(layout: Layout) -> pandas.DataFrame:
    return pandas.read_parquet(layout.scores("tiny"))
