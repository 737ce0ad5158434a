"""Axes taken together: the same numbers as a job each, kept part by part when the job is killed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas
import pytest

from conftest import SLOW, Project
from learnability import cli
from learnability.artifacts import read_tensors
from learnability.config import load_experiment
from learnability.plan import Layout, find_job, jobs
from test_resume import wait_for
from verbs import carry_out, scores_of
from wandb_log import history

TOGETHER = """
id: tiny
claims: {}
teacher: {kind: parity_composite, d: 12, k: 3, f_degree: 1, g_degree: null, alpha: 0.4}
data: {n_train: 40, n_val: 30, n_test: 50, seeds: [0, 3]}
axes: {m: [10], N: [25, 60], d: [7, 9], noise: [0.0, 0.2]}
together: [noise, d, N]
learners:
  net: {network: resnet3, train: hidden, lr: [0.05, 0.1, 80.0], wd: [0.001]}
  few: {network: layer2, train: hidden, lr: [0.1], wd: [0.0], phases: [2], seeds: [3], axes: {m: [4, 8], N: [60]}}
  ntk: {network: layer2, train: ntk, wd: [0.01, 0.1]}
  kernel: {train: kernel, kernel: tangent, depth: 2, bias_var: 0.1, wd: [0.001, 0.1]}
training: {batch: 10, phases: [6, 3], log_every: 4}
scales: {smoke: {}, laptop: {}, paper: {}}
"""
APART = TOGETHER.replace("together: [noise, d, N]", "together: []")
POINT = ["learner", "m", "N", "d", "noise", "seed", "lr", "wd"]
INSIDE = ["N", "d", "noise"]
TWO_SIZES = (
    SLOW.replace("[500, 100]", "[300, 60]")
    .replace("axes: {m: [60]}", "axes: {m: [60], N: [200, 530]}\ntogether: [N]")
    .replace("claims: {B-fig2a: {methods: [3resnet, 2layer-last], min_seeds: 5, from_width: 1}}", "claims: {}")
)


@pytest.fixture(scope="module")
def together(tmp_path_factory) -> Layout:
    return carry_out(tmp_path_factory.mktemp("together"), TOGETHER)


@pytest.fixture(scope="module")
def apart(tmp_path_factory) -> Layout:
    return carry_out(tmp_path_factory.mktemp("apart"), APART)


def planned(layout: Layout) -> dict[tuple[str, str], list[str]]:
    """(learner, point) -> names of its parts."""
    found = jobs(load_experiment(layout.root / "config/experiments/tiny.yaml", "smoke"))
    return {(job.learner, job.point): [part.name for part in job.parts] for job in found}


def metrics(layout: Layout, learner: str, point: str) -> pandas.DataFrame:
    return pandas.read_parquet(layout.metrics("tiny", learner, point))


def test_what_is_not_taken_together_is_a_job_each(together: Layout, apart: Layout) -> None:
    eight = [f"N{n}-d{d}-noise{noise}" for n in (25, 60) for d in (7, 9) for noise in (0.0, 0.2)]
    four = [name for name in eight if name.startswith("N60")]
    assert planned(together) == {
        ("net", "m10"): eight,
        ("few", "m4"): four,
        ("few", "m8"): four,
        ("ntk", "m10"): eight,
        ("kernel", "all"): eight,  # it has no width: nothing is left to name it by
    }
    separate = planned(apart)
    assert len(separate) == 3 * 8 + 2 * 4 and set(map(tuple, separate.values())) == {("",)}
    assert ("kernel", "N25-d7-noise0.0") in separate


def test_numbers_are_those_of_a_job_each(together: Layout, apart: Layout) -> None:
    tables = []
    for layout in (together, apart):
        table = scores_of(layout).drop(columns=["replica", "point"])
        tables.append(table.sort_values(POINT).reset_index(drop=True).sort_index(axis=1))
    pandas.testing.assert_frame_equal(*tables, check_exact=True)
    assert len(tables[0]) == 8 * (3 * 2 + 2 * 2 + 2 * 2) + 2 * 4
    assert tables[0].picked.any() and tables[0].diverged.any()


def test_weights_are_those_of_a_job_each(together: Layout, apart: Layout) -> None:
    whole, _ = read_tensors(together.model("tiny", "net", "m10"))
    for part in planned(together)["net", "m10"]:
        alone, _ = read_tensors(apart.model("tiny", "net", f"m10-{part}"))
        mine = {name: value for name, value in whole.items() if name.startswith(f"{part}/")}
        assert {name.removeprefix(f"{part}/"): v.tolist() for name, v in mine.items()} == {
            name: v.tolist() for name, v in alone.items()
        }
    assert len(whole) == 8 * 3


def test_metrics_tell_parts_and_replicas_apart(together: Layout, apart: Layout) -> None:
    for (learner, point), names in planned(together).items():
        found = metrics(together, learner, point)
        assert found.groupby("part").ngroups == len(names)
        assert (found.groupby("part")[INSIDE].nunique() == 1).all(axis=None)
        keys = found[["replica", "part", *INSIDE, "seed", "lr", "wd"]].drop_duplicates()
        assert sorted(keys.replica) == list(range(len(keys)))  # one number a model, none twice
    alone = metrics(apart, "net", "m10-N25-d7-noise0.0")
    assert alone.part.unique().tolist() == [0] and not set(INSIDE) & set(alone.columns)


def test_each_seed_picks_in_each_part(together: Layout) -> None:
    scores = scores_of(together)
    parts = ["learner", "m", *INSIDE, "seed"]
    picked = scores[scores.picked].groupby(parts, dropna=False)
    assert picked.size().eq(1).all() and len(picked) == 8 * 3 * 2 + 2 * 4
    least = scores.groupby(parts, dropna=False).val_error.min()
    pandas.testing.assert_series_equal(picked.val_error.min(), least)


def test_scores_carry_every_axis_swept_or_not(together: Layout) -> None:
    scores = scores_of(together)
    assert list(scores.columns[:13]) == [
        "experiment", "learner", "point", "m", "L", "N", "d", "k", "alpha", "beta", "noise", "g_size", "replica",
    ]  # fmt: skip
    assert scores.m.isna().tolist() == (scores.learner == "kernel").tolist()
    assert (scores.k.eq(3) & scores.alpha.eq(0.4) & scores.beta.eq(1) & scores.g_size.eq(3)).all()
    clean = scores[(scores.noise == 0) & ~scores.diverged]
    noisy = scores[(scores.noise > 0) & ~scores.diverged]
    assert clean.test_risk.isna().all() and noisy.test_risk.notna().all()
    assert (noisy.test_error - noisy.test_risk).abs().max() > 0.01  # errors count the noise of the labels


def test_scratch_is_gone_at_the_end(together: Layout) -> None:
    assert not list((together.root / ".scratch").rglob("*.safetensors"))
    assert not list((together.root / ".scratch").rglob("*.parquet"))


RESULTS = ("results/smoke/tiny/3resnet/m60/*",)
TRAIN = ("train", "tiny", "3resnet", "m60", "--scale", "smoke")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Project:
    project = Project(tmp_path_factory.mktemp("undisturbed") / "project", TWO_SIZES)
    for words in (("sample", "tiny", "--scale", "smoke"), TRAIN):
        code, output = project.run(*words, module="learnability", WANDB_MODE="offline")
        assert code == 0, output
    return project


def scratch(project: Project, name: str) -> list[Path]:
    return list(project.folder.glob(f".scratch/*/{name}"))


def test_killed_in_its_second_part_a_job_goes_on_there(project, undisturbed: Project) -> None:
    killed = project("killed", TWO_SIZES)
    shutil.copytree(undisturbed.folder / "results/smoke/tiny", killed.folder / "results/smoke/tiny")
    shutil.rmtree(killed.folder / "results/smoke/tiny/3resnet")
    process = killed.start(*TRAIN, module="learnability", WANDB_MODE="disabled")
    wait_for(lambda: scratch(killed, "N530/stack.safetensors"))
    process.kill()
    process.communicate()
    assert scratch(killed, "N200/metrics.parquet") and not scratch(killed, "N200/stack.safetensors")
    assert not killed.bytes(*RESULTS)
    code, output = killed.run(*TRAIN, module="learnability", WANDB_MODE="disabled")
    assert code == 0, output
    assert "N200: done before" in output and "part 1 of 2" not in output
    assert "part 2 of 2: N530" in output and "resuming from checkpoint" in output
    assert killed.bytes(*RESULTS) == undisturbed.bytes(*RESULTS) and len(killed.bytes(*RESULTS)) == 2
    assert not scratch(killed, "**/*.safetensors")


def test_a_damaged_part_is_made_again(together: Layout, tmp_path, monkeypatch, capsys) -> None:
    shutil.copytree(together.root, tmp_path, dirs_exist_ok=True)
    for name in ("LEARNABILITY_SETTINGS", "LEARNABILITY_PARENT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.chdir(tmp_path)
    job = find_job(load_experiment(Path("config/experiments/tiny.yaml"), "smoke"), "net", "m10")
    path = Path(f".scratch/smoke-{job.digest()}/N25-d9-noise0.2/metrics.parquet")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 not really PAR1")
    shutil.rmtree("results/smoke/tiny/net")
    assert cli.main(["train", "tiny", "net", "m10"]) == 0
    said = capsys.readouterr().err
    assert f"part cannot be used, starting it anew: {path}: damaged" in said and "Traceback" not in said
    mine = Layout("smoke", tmp_path)
    for file in ("metrics", "model"):
        found = [getattr(layout, file)("tiny", "net", "m10").read_bytes() for layout in (together, mine)]
        assert found[0] == found[1]


def test_a_run_of_two_parts_has_their_curves_one_after_the_other(undisturbed: Project) -> None:
    (folder,) = (undisturbed.folder / "results/smoke/wandb").iterdir()
    rows = history(folder)
    steps = [row["_step"] for row in rows]
    assert steps == sorted(set(steps))
    first = [row["_step"] for row in rows if "N200/val/error/q50" in row]
    second = [row["_step"] for row in rows if "N530/val/error/q50" in row]
    assert first == [80 * i for i in range(1, 19)]  # 4 minibatches an epoch, logged every 20
    assert second == [1441 + 220 * i for i in range(1, 19)]  # 11 minibatches; on from where the first ended
