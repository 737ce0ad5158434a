"""The whole smoke graph through Snakemake: results, reruns, identical bytes, the report."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pandas
import pytest

from conftest import ROOT, SLOW, Project
from learnability.config import load_experiments
from learnability.plan import jobs
from wandb_log import decoded, history, last_summary, records

NUMBERS = (
    "results/smoke/**/metrics.parquet",
    "results/smoke/**/scores.parquet",
    "results/smoke/verdicts/*",
    "results/smoke/figures/*",
)
SMOKE = ("--cores", "2", "--config", "scale=smoke")
A = ("gap", "kernels", "layerwise", "search", "thm1", "thm2", "thm3", "thm4", "toy", "two-layer")
B = ("fig1", "fig2a", "fig2b", "fig2c", "thm1", "thm2", "cor7.1")
D = ("def2.1", "thm3.1", "lemmas", "thm3.3", "asm3.2", "propC.1")
CLAIMS = {f"{paper}-{name}" for paper, names in (("A", A), ("B", B), ("D", D)) for name in names}
CERTAIN = {"D-def2.1"}  # a proof: it needs no seeds


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One full smoke run, shared by this module's tests."""
    project = Project(tmp_path_factory.mktemp("smoke") / "project")
    code, output = project.run(*SMOKE)
    assert code == 0, output[-3000:]
    return project


def ran(output: str) -> dict[str, int]:
    """Rules of Snakemake's table of job counts."""
    table = re.search(r"^job +count\n-+ +-+\n(.*?)^total", output, re.S | re.M).group(1)
    return {name: int(count) for name, count in (line.split() for line in table.splitlines())}


def planned(scale: str = "smoke") -> dict[str, list[str]]:
    """``learner/point`` of every job, by experiment."""
    found = load_experiments(ROOT / "config", scale)
    return {name: [f"{job.learner}/{job.point}" for job in jobs(experiment)] for name, experiment in found.items()}


def test_contracts_of_the_files(smoke: Project) -> None:
    base = smoke.folder / "results" / "smoke"
    ledger = (base / "ledger.csv").read_text().splitlines()
    assert ledger[0] == "claim,paper,statement,verdict,value,low,high,threshold,unit,seeds,scale,note"
    assert [line.split(",")[:2] for line in ledger[1:]] == [[claim, claim[0]] for claim in sorted(CLAIMS)]
    metrics = pandas.read_parquet(base / "fig2a/3resnet/all/metrics.parquet")
    wanted = {"replica", "part", "m", "seed", "lr", "wd", "step", "epoch", "split", "name", "value"}
    assert wanted <= set(metrics.columns)
    assert sorted(metrics.m.unique()) == [20, 100]
    assert set(metrics["split"]) == {"train", "val", "test"}
    assert metrics[metrics["split"] == "test"].epoch.unique().tolist() == [25]  # seen once, at the end
    scores = pandas.read_parquet(base / "fig2a/scores.parquet")
    assert len(scores.learner.unique()) == 9
    for claim in CLAIMS:
        verdict = json.loads((base / f"verdicts/{claim}.json").read_text())
        word = "supported" if claim in CERTAIN else "inconclusive"  # two seeds cannot decide
        assert verdict["verdict"] == word, claim
    assert not list(base.rglob("*.pkl")) and not list(base.rglob("*.ckpt"))
    assert not [path for path in (smoke.folder / ".scratch").rglob("*") if path.is_file()]  # nothing left behind


def test_scores_of_kernels_and_of_networks_made_by_hand(smoke: Project) -> None:
    base = smoke.folder / "results" / "smoke"
    thm2 = pandas.read_parquet(base / "thm2/scores.parquet")
    kernels = thm2[thm2.m.isna()]
    assert {"gaussian", "tangent"} <= set(kernels.learner) and "3resnet" not in set(kernels.learner)
    assert kernels.population_risk.notna().all() and kernels.predicted_risk.notna().all()
    assert thm2[thm2.m.notna()].population_risk.isna().all()
    by_hand = pandas.read_parquet(base / "fig1/scores.parquet").query("learner == 'by-hand'")
    assert (by_hand.population_risk <= by_hand.wanted_error).all() and len(by_hand)
    assert (by_hand.train_norm_W >= by_hand.least_norm_W).all()
    smooth = pandas.read_parquet(base / "thm1-smooth/scores.parquet")
    assert smooth[smooth.noise > 0].test_risk.notna().all() and smooth.g_size.eq(1).all()


def test_report_has_ledger_figure_config_and_run_times(smoke: Project) -> None:
    html = (smoke.folder / "results/smoke/report.html").read_text()
    assert f"Scale smoke: {len(CERTAIN)} supported, 0 contradicted" in html  # the front page
    for part in ("1 Ledger", "2 Claims", "3 Configuration", "runtime", *CLAIMS):
        assert part in html, part
    log = (smoke.folder / "results/smoke/logs/report.log").read_text()
    assert "WARNING/2" not in log and "ERROR" not in log


def test_second_call_has_nothing_to_do(smoke: Project) -> None:
    code, output = smoke.run(*SMOKE)
    assert code == 0 and "Nothing to be done" in output


def test_deleting_one_metrics_file_reruns_what_follows_from_it(smoke: Project) -> None:
    before = smoke.bytes(*NUMBERS)
    (smoke.folder / "results/smoke/fig2a/2layer/all/metrics.parquet").unlink()
    code, output = smoke.run(*SMOKE)
    assert code == 0
    after = {
        "evaluate": 1,
        "judge": 1,
        "figure": 1,
        "ledger": 1,
        "report": 1,
        "all": 1,
    }
    assert ran(output) == {"train": 1, **after}
    assert smoke.bytes(*NUMBERS) == before


def test_changing_one_learner_reruns_that_learner_only(smoke: Project) -> None:
    path = smoke.folder / "config/experiments/fig2a.yaml"
    text = path.read_text()
    path.write_text(text.replace("2layer: {lr: [0.5], wd: [0.002]}", "2layer: {lr: [0.4], wd: [0.002]}"))
    try:
        code, output = smoke.run(*SMOKE, "--dry-run")
        assert code == 0 and ran(output)["train"] == 1  # its two widths are one job
    finally:
        path.write_text(text)


def test_changing_a_joined_experiment_judges_the_claim_again(smoke: Project) -> None:
    path = smoke.folder / "config/experiments/thm1-smooth.yaml"
    text = path.read_text()
    path.write_text(text.replace("n_test: 200", "n_test: 201"))
    assert path.read_text() != text
    try:
        code, output = smoke.run(*SMOKE, "--dry-run")
        counts = ran(output)
        assert code == 0 and counts["train"] == len(planned()["thm1-smooth"])
        assert {rule: counts[rule] for rule in ("sample", "evaluate", "judge", "figure")} == {
            "sample": 1,
            "evaluate": 1,
            "judge": 1,  # B-thm1, which is thm1's
            "figure": 1,
        }
    finally:
        path.write_text(text)


def test_an_experiment_chosen_alone_finds_what_it_joins(smoke: Project) -> None:
    chosen = (*SMOKE, "experiments=[thm1]", "--dry-run", "--forceall")
    code, output = smoke.run(*chosen)
    assert code == 0, output[-2000:]
    both = len(planned()["thm1"]) + len(planned()["thm1-smooth"])
    found = {"sample": 2, "train": both, "evaluate": 2, "judge": 1, "figure": 1, "configure": 1}
    assert ran(output) == {**found, "ledger": 1, "report": 1, "all": 1}
    settings = json.dumps({"scale": "smoke", "experiments": ["thm1"]})
    for words in (("judge", "B-thm1"), ("ledger", "--partial")):
        code, output = smoke.run(*words, module="learnability", LEARNABILITY_SETTINGS=settings)
        assert code == 0, output
    assert "1 verdict(s), 0 open" in output
    code, output = smoke.run("ledger", "--scale", "smoke", module="learnability")  # all claims again
    assert code == 0, output


def test_two_full_runs_give_identical_bytes(smoke: Project, project) -> None:
    again = project("again")
    code, output = again.run(*SMOKE)
    assert code == 0, output[-3000:]
    first, second = smoke.bytes(*NUMBERS), again.bytes(*NUMBERS)
    found = planned()
    metrics = {f"results/smoke/{name}/{job}/metrics.parquet" for name, of in found.items() for job in of}
    assert metrics <= set(first) and len(metrics) == sum(map(len, found.values())) > 20
    assert len(first) == len(metrics) + len(found) + 4 * len(CLAIMS)  # scores; a verdict and three figures each
    assert first == second


@pytest.mark.parametrize("words", [("judge", "B-fig2a"), ("figure", "B-fig2a"), ("ledger",)])
def test_light_verbs_start_fast(project, words: tuple[str, ...]) -> None:
    """Where their input is missing, they have loaded all they need and stop before any work."""
    empty, times = project("empty"), []
    for _ in range(3):
        start = time.perf_counter()
        code, output = empty.run(*words, "--scale", "smoke", module="learnability")
        times.append(time.perf_counter() - start)
        assert code == 1 and "results/smoke/" in output
    assert min(times) < 2.5


def test_a_claim_is_a_target(smoke: Project) -> None:
    code, output = smoke.run("--cores", "1", "results/laptop/verdicts/B-fig2a.json", "--dry-run")
    assert code == 0
    assert ran(output) == {"sample": 1, "train": len(planned("laptop")["fig2a"]), "evaluate": 1, "judge": 1}
    code, output = smoke.run("--cores", "1", "results/laptop/verdicts/B-thm1.json", "--dry-run")
    both = len(planned("laptop")["thm1"]) + len(planned("laptop")["thm1-smooth"])
    assert code == 0 and ran(output) == {"sample": 2, "train": both, "evaluate": 2, "judge": 1}


def test_cluster_profiles_are_valid(smoke: Project) -> None:
    for profile in ("slurm", "slurm-gpu"):
        words = ("--profile", f"workflow/profiles/{profile}", "--cores", "1", "--dry-run")
        code, output = smoke.run(*words, "--config", "scale=paper")
        assert code == 0, output[-2000:]


def test_error_of_one_job_shows_in_the_ledger_and_spares_the_rest(project) -> None:
    broken = project("broken")
    path: Path = broken.folder / "results/smoke/fig2a/samples.safetensors"
    code, output = broken.run("--cores", "1", str(path.relative_to(broken.folder)))
    assert code == 0, output
    path.write_bytes(path.read_bytes()[:-1000])  # truncated; Snakemake sees only that it is there
    target = "results/smoke/fig2a/2layer-last/all/metrics.parquet"
    code, output = broken.run("--cores", "1", target, "--config", "scale=smoke", "--rerun-triggers", "mtime")
    assert code != 0
    lines = [line for line in output.splitlines() if "error: " in line]
    assert lines and "samples.safetensors: damaged or truncated" in lines[0]
    assert "Traceback" not in output
    ledger = (broken.folder / "results/smoke/ledger.csv").read_text()
    assert "inconclusive" in ledger and "samples.safetensors: damaged or truncated" in ledger


def test_online_without_a_server_succeeds_and_says_so_once(project) -> None:
    """A false key and nothing that answers (a closed loopback port): all jobs run, runs are on disk."""
    key = "f00dfeed" * 5
    alone = project("alone", SLOW.replace("phases: [500, 100]", "phases: [40]"))
    online = {"WANDB_MODE": "online", "WANDB_API_KEY": key, "WANDB_BASE_URL": "http://127.0.0.1:9"}
    code, output = alone.run(*SMOKE, **online)
    assert code == 0, output[-3000:]
    assert output.count("no W&B server in reach") == 1
    folders = {path.name: path for path in (alone.folder / "results/smoke/wandb").iterdir()}
    assert len(folders) == 3  # two training jobs and the verdicts
    configs = {}
    for folder in folders.values():
        (run,) = [record.run for record in records(folder) if record.HasField("run")][:1]
        configs[run.job_type] = (folder, run.run_group, decoded(run.config.update))
    assert set(configs) == {"3resnet", "2layer-last", "verdict"}
    folder, group, config = configs["3resnet"]
    assert group == "tiny" and config["spec"]["lr"] == [0.1, 0.2, 50.0] and config["parts"][0]["width"] == 60
    rows = history(folder)
    assert [row["_step"] for row in rows] == [220, 440]  # 11 minibatches an epoch, logged every 20
    assert {"train/error/q50", "val/error/best", "val/cG/q90"} <= set(rows[0])
    assert rows[-1]["val/error/alive"] == 8  # of 12: those at lr 50 diverged
    assert "test/error/min" in last_summary(folder)
    for path in alone.folder.rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path


def test_a_failed_rerun_does_not_show_the_old_verdict(project) -> None:
    """A verdict of another config, or older than its measurements, is open in the partial ledger."""
    changed = project("changed", SLOW.replace("phases: [500, 100]", "phases: [20]"))
    assert changed.run(*SMOKE)[0] == 0
    ledger = changed.folder / "results/smoke/ledger.csv"
    partial = ("ledger", "--partial", "--scale", "smoke")
    code, output = changed.run(*partial, module="learnability")
    assert code == 0 and "1 verdict(s), 0 open" in output
    path = changed.folder / "config/experiments/tiny.yaml"
    path.write_text(path.read_text().replace("alpha: 0.3", "alpha: 0.4"))
    code, output = changed.run(*partial, module="learnability")
    assert code == 0 and "0 verdict(s), 1 open" in output
    assert "not run to the end since the last change" in ledger.read_text()
    (changed.folder / "results/smoke/tiny/3resnet/m60/metrics.parquet").unlink()
    changed.run(*partial, module="learnability")
    assert "no result from tiny/3resnet/m60" in ledger.read_text()
