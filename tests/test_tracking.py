"""Tracking: the modes, what an offline run holds, and that no failure of wandb reaches a job."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learnability.tracking import MARKER_SECONDS, Tracker, resolve_mode
from wandb_log import decoded, history, last_summary, offline_runs, records

KEY = "f00dfeed" * 5  # a well-formed key that no server knows


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NETRC", raising=False)


def start(tmp_path: Path, said: list[str] | None = None, **changes) -> Tracker:
    about = {
        "mode": "offline",
        "project": "learnability",
        "entity": None,
        "run_id": "c0ffee",
        "name": "mlp-d20",
        "group": "scaling",
        "job_type": "mlp",
        "config": {"width": 64, "teacher": {"path": Path("a/b"), "degree": np.int64(3)}},
        "folder": tmp_path / "job",
        "marker": tmp_path / "shared" / "offline.json",
        "say": print if said is None else said.append,
    }
    return Tracker.open(**(about | changes))


@pytest.mark.parametrize(
    ("mode", "environ", "expected"),
    [
        ("auto", {}, "offline"),
        ("auto", {"WANDB_API_KEY": KEY}, "online"),
        ("auto", {"WANDB_API_KEY": ""}, "offline"),
        ("auto", {"WANDB_API_KEY": KEY, "WANDB_MODE": "offline"}, "offline"),
        ("auto", {"WANDB_MODE": "dryrun"}, "offline"),
        ("auto", {"WANDB_MODE": "run"}, "online"),
        ("auto", {"WANDB_MODE": "shared"}, "online"),
        ("online", {"WANDB_MODE": "ofline"}, "offline"),
        ("auto", {"WANDB_MODE": ""}, "offline"),
        ("online", {}, "online"),
        ("offline", {"WANDB_API_KEY": KEY}, "offline"),
        ("disabled", {"WANDB_API_KEY": KEY}, "disabled"),
        ("offline", {"WANDB_MODE": "online"}, "online"),
        ("disabled", {"WANDB_MODE": "Offline"}, "offline"),
        ("online", {"WANDB_MODE": "disabled"}, "disabled"),
        ("online", {"WANDB_MODE": "online", "WANDB_DISABLED": "true"}, "disabled"),
        ("online", {"WANDB_DISABLED": "false"}, "online"),
    ],
)
def test_mode(mode, environ, expected, tmp_path):
    assert resolve_mode(mode, {"HOME": str(tmp_path)} | environ) == expected


def test_mode_with_a_netrc_file(tmp_path):
    home = {"HOME": str(tmp_path)}
    (tmp_path / ".netrc").write_text(f"machine api.wandb.ai\n  login user\n  password {KEY}\n")
    assert resolve_mode("auto", home) == "online"
    assert resolve_mode("auto", home | {"WANDB_BASE_URL": "http://other.invalid"}) == "offline"
    assert resolve_mode("auto", home | {"NETRC": str(tmp_path / "none")}) == "offline"
    (tmp_path / ".netrc").write_text("machine\n")
    assert resolve_mode("auto", home) == "offline"


def test_unknown_config_mode():
    with pytest.raises(ValueError, match="sometimes"):
        resolve_mode("sometimes", {})


def test_disabled_never_imports_wandb(tmp_path):
    script = """
import sys
from pathlib import Path
from learnability.tracking import Tracker
here = Path(sys.argv[1])
with Tracker.open(mode="disabled", project="p", entity=None, run_id="i", name="n", group="g",
                  job_type="j", config={}, folder=here / "job", marker=here / "marker") as tracker:
    tracker.log(0, {"loss": 1.0})
    tracker.curves(0, "loss", [1.0, 2.0], best=0)
    tracker.table("verdicts", None)
    tracker.image("figure", here / "figure.png")
    tracker.summary({"best": 1.0})
assert "wandb" not in sys.modules
assert not list(here.iterdir())
"""
    empty = tmp_path / "empty"
    empty.mkdir()
    subprocess.run([sys.executable, "-c", script, str(empty)], check=True, timeout=60)


def test_offline_run_holds_config_metrics_and_summary(tmp_path):
    environ = dict(os.environ)
    begun = time.monotonic()
    with start(tmp_path) as tracker:
        assert tracker.mode == "offline"
        for step in (0, 10, 20):
            tracker.log(step, {"loss": 1.0 / (1 + step)})
            tracker.curves(step, "excess", [1.0, 2.0, 3.0, 4.0, 5.0, math.nan], best=1)
            tracker.log(step, {"rate": np.float32(0.5)})
        tracker.summary({"best": np.float64(0.25), "replicas": 6})
    assert time.monotonic() - begun < 10
    tracker.finish()
    tracker.log(30, {"loss": 0.0})
    assert dict(os.environ) == environ

    (run,) = [record.run for record in records(tmp_path / "job") if record.HasField("run")]
    assert (run.run_id, run.project, run.display_name) == ("c0ffee", "learnability", "mlp-d20")
    assert (run.run_group, run.job_type) == ("scaling", "mlp")
    config = decoded(run.config.update)
    assert config["width"] == 64
    assert config["teacher"] == {"path": "a/b", "degree": 3}

    rows = history(tmp_path / "job")
    assert [row["_step"] for row in rows] == [0, 10, 20]
    assert [row["loss"] for row in rows] == pytest.approx([1.0, 1 / 11, 1 / 21])
    assert [row["rate"] for row in rows] == [0.5] * 3
    expected = {"min": 1.0, "q10": 1.4, "q50": 3.0, "q90": 4.6, "alive": 5, "best": 2.0}
    for row in rows:
        given = {key[7:]: value for key, value in row.items() if key.startswith("excess/")}
        assert given == pytest.approx(expected)

    summary = last_summary(tmp_path / "job")
    assert (summary["best"], summary["replicas"]) == (0.25, 6)
    assert not [record for record in records(tmp_path / "job") if record.HasField("stats")]


def test_curves_count_diverged_replicas_and_the_end_of_all(tmp_path):
    many = np.linspace(0.0, 1.0, 401)
    many[-100:] = np.inf
    with start(tmp_path) as tracker:
        tracker.log(1, {"rate": math.nan})
        tracker.curves(1, "loss", many, best=400)
        tracker.curves(2, "loss", [math.nan, math.inf], best=0)
    first, second = history(tmp_path / "job")
    assert math.isnan(float(first["rate"]))
    given = {key: value for key, value in first.items() if key.startswith("loss/")}
    assert given == pytest.approx(
        {
            "loss/min": 0.0,
            "loss/q10": 0.075,
            "loss/q50": 0.375,
            "loss/q90": 0.675,
            "loss/alive": 301,
        }
    )
    assert {key for key in second if key.startswith("loss/")} == {"loss/alive"}
    assert second["loss/alive"] == 0


def test_table_and_image(tmp_path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1, 1))
    figure.savefig(tmp_path / "figure.png")
    figure.savefig(tmp_path / "figure.pdf")
    frame = pd.DataFrame({"claim": ["a", None], "value": [0.5, math.nan], "holds": [True, False], "seen": [1, "x"]})
    said: list[str] = []
    with start(tmp_path, said, job_type="verdict") as tracker:
        tracker.table("verdicts", frame)
        tracker.image("figure", tmp_path / "figure.png")
        tracker.image("vectors", tmp_path / "figure.pdf")
        tracker.image("missing", tmp_path / "missing.png")
    assert said == []
    (row,) = history(tmp_path / "job")
    assert row["verdicts/_type"] == "table-file"
    assert row["figure/_type"] == "image-file"
    assert not [key for key in row if key.startswith(("vectors", "missing"))]
    (run,) = offline_runs(tmp_path / "job")
    written = json.loads((run / "files" / row["verdicts/path"]).read_text())
    assert written["columns"] == ["claim", "value", "holds", "seen"]
    assert written["data"] == [["a", 0.5, True, 1], [None, None, False, "x"]]


def test_no_server_goes_offline_and_says_so_once(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    said: list[str] = []
    begun = time.monotonic()
    for job in ("one", "two"):
        with start(tmp_path, said, folder=tmp_path / job) as tracker:
            tracker.log(0, {"loss": 0.5})
        assert tracker.mode == "offline"
        assert [row["loss"] for row in history(tmp_path / job)] == [0.5]
        assert not list((tmp_path / job / "wandb").glob("run-*"))
    assert time.monotonic() - begun < 25
    assert len(said) == 1
    assert "offline" in said[0] and str(tmp_path / "one") in said[0] and "wandb sync" in said[0]
    output = capfd.readouterr()
    assert output.out == "" and output.err == ""
    json.loads((tmp_path / "shared" / "offline.json").read_text())
    for file in filter(Path.is_file, tmp_path.rglob("*")):
        assert KEY.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("key", ["", "too-short"])
def test_no_usable_key_goes_offline_at_once(tmp_path, monkeypatch, key):
    monkeypatch.setenv("WANDB_API_KEY", key)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    marker = tmp_path / "shared" / "offline.json"
    marker.parent.mkdir()
    marker.touch()
    past = time.time() - MARKER_SECONDS - 60
    os.utime(marker, (past, past))  # stale: the server is tried again
    said: list[str] = []
    with start(tmp_path, said, mode="online") as tracker:
        tracker.log(0, {"loss": 0.5})
    assert len(said) == 1
    assert marker.stat().st_mtime > past + 60
    assert len(history(tmp_path / "job")) == 1


def test_a_failing_call_turns_tracking_off(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    said: list[str] = []

    def broken(*args, **kwargs):
        raise RuntimeError(f"the disk is full, says {KEY}")

    with start(tmp_path, said) as tracker:
        tracker.log(0, {"loss": 1.0})
        tracker.log(1, {"loss": 0.5})
        monkeypatch.setattr(tracker._run, "log", broken)
        for step in range(2, 5):
            tracker.log(step, {"loss": 0.25})
        tracker.summary({"best": 0.25})
    assert len(said) == 1
    assert "the disk is full" in said[0] and KEY not in said[0]
    assert [row["loss"] for row in history(tmp_path / "job")] == [1.0]


def test_bad_values_and_a_wandb_that_cannot_start(tmp_path, monkeypatch):
    said: list[str] = []
    with start(tmp_path, said) as tracker:
        tracker.log(0, {"loss": "high"})
    with start(tmp_path, said, folder=tmp_path / "other") as tracker:
        tracker.curves(0, "loss", [1.0], best=7)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with start(tmp_path, said) as tracker:
        tracker.log(0, {"loss": 1.0})
    assert len(said) == 3


def test_an_error_of_the_job_passes_through(tmp_path):
    with pytest.raises(ZeroDivisionError), start(tmp_path) as tracker:
        tracker.log(0, {"loss": 1.0})
        _ = 1 / 0
    (end,) = [record.exit for record in records(tmp_path / "job") if record.HasField("exit")]
    assert end.exit_code == 1
    assert len(history(tmp_path / "job")) == 1


def test_rerun_replaces_the_offline_run_of_the_same_id(tmp_path):
    kept = tmp_path / "job" / "wandb" / "offline-run-20200101_000000-not-c0ffee"
    killed = tmp_path / "job" / "wandb" / "offline-run-20200101_000000-c0ffee"
    for folder in (kept, killed):
        folder.mkdir(parents=True)
    for loss in (1.0, 0.5):
        with start(tmp_path) as tracker:
            tracker.log(0, {"loss": loss})
    assert kept.is_dir()
    kept.rmdir()
    assert [row["loss"] for row in history(tmp_path / "job")] == [0.5]
