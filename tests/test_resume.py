"""A job or Snakemake killed at any moment: the same command goes on and ends in the same bytes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import torch

from conftest import SLOW, Project
from learnability.artifacts import write_tensors
from learnability.training.checkpoint import SafeCheckpointIO, put_together, take_apart

TRAIN = ("train", "tiny", "3resnet", "m60", "--scale", "smoke")
RESULTS = ("results/smoke/tiny/3resnet/m60/*",)
WORKFLOW = ("--cores", "1", "--config", "scale=smoke", "--", "results/smoke/tiny/3resnet/m60/metrics.parquet")
LOG = "results/smoke/logs/train/tiny/3resnet/m60.log"


def wait_for(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def checkpoints(project: Project) -> list[Path]:
    return list(project.folder.glob(".scratch/*/stack.safetensors"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("undisturbed") / "project", SLOW)
    for words in (("sample", "tiny", "--scale", "smoke"), TRAIN):
        code, output = project.run(*words, module="learnability")
        assert code == 0, output
    assert len(project.bytes(*RESULTS)) == 2
    return project


def test_killed_job_resumes_and_ends_in_the_same_bytes(project, undisturbed: Project) -> None:
    killed = project("killed", SLOW)
    killed.run("sample", "tiny", "--scale", "smoke", module="learnability")
    for _ in range(2):  # killed twice, at different moments
        process = killed.start(*TRAIN, module="learnability")
        seen = {path: path.stat().st_mtime_ns for path in checkpoints(killed)}
        wait_for(lambda: any(p.stat().st_mtime_ns != seen.get(p) for p in checkpoints(killed)))  # noqa: B023
        process.kill()
        process.communicate()
        assert not killed.bytes(*RESULTS)  # nothing that passes for a result
    code, output = killed.run(*TRAIN, module="learnability")
    assert code == 0 and "resuming from checkpoint" in output
    assert killed.bytes(*RESULTS) == undisturbed.bytes(*RESULTS)
    assert not checkpoints(killed)


def test_killed_snakemake_goes_on_with_the_same_command(project, undisturbed: Project) -> None:
    killed = project("killed", SLOW)
    process = killed.start(*WORKFLOW)
    wait_for(lambda: checkpoints(killed))
    os.kill(process.pid, signal.SIGKILL)
    process.stdout.close()
    process.wait()
    wait_for(lambda: "Snakemake is gone" in (killed.folder / LOG).read_text(), 20)
    assert not killed.bytes(*RESULTS)
    code, output = killed.run(*WORKFLOW)
    assert code == 0, output
    assert "removed the lock of a Snakemake that was killed" in output
    assert "resuming from checkpoint" in (killed.folder / LOG).read_text()
    assert killed.bytes(*RESULTS) == undisturbed.bytes(*RESULTS)


def test_live_snakemake_keeps_its_lock(project, undisturbed: Project) -> None:
    busy = project("busy", SLOW)
    process = busy.start(*WORKFLOW)
    wait_for(lambda: checkpoints(busy))
    code, output = busy.run(*WORKFLOW)
    assert code != 0 and "locked" in output  # Snakemake's own message: another one is at work
    process.communicate()
    assert process.returncode == 0
    assert busy.bytes(*RESULTS) == undisturbed.bytes(*RESULTS)


def test_damaged_checkpoint_is_named_and_training_starts_anew(project, undisturbed: Project) -> None:
    hurt = project("hurt", SLOW)
    hurt.run("sample", "tiny", "--scale", "smoke", module="learnability")
    process = hurt.start(*TRAIN, module="learnability")
    wait_for(lambda: checkpoints(hurt))
    process.kill()
    process.communicate()
    (path,) = checkpoints(hurt)
    path.write_bytes(path.read_bytes()[:500])
    code, output = hurt.run(*TRAIN, module="learnability")
    assert code == 0
    assert "checkpoint cannot be used, starting anew" in output and "Traceback" not in output
    assert hurt.bytes(*RESULTS) == undisturbed.bytes(*RESULTS)


def test_checkpoint_round_trip(tmp_path: Path) -> None:
    tree = {
        "weights": torch.randn(3, 4),
        "state": {0: {"momentum": torch.ones(2)}, 1: None},
        "loops": [1, 2.5, True, "text", [torch.zeros(1)]],
    }
    io = SafeCheckpointIO()
    io.save_checkpoint(tree, tmp_path / "c.safetensors")
    back = io.load_checkpoint(tmp_path / "c.safetensors")
    assert torch.equal(back["weights"], tree["weights"])
    assert torch.equal(back["state"][0]["momentum"], torch.ones(2)) and back["state"][1] is None
    assert back["loops"][:4] == [1, 2.5, True, "text"]


def test_checkpoint_refuses_what_is_not_plain() -> None:
    with pytest.raises(TypeError, match="not object"):
        take_apart({"a": object()}, {})
    assert put_together(take_apart((1, 2), {}), {}) == [1, 2]


def test_write_is_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    write_tensors(path, {"a": torch.ones(3)})
    before = path.read_bytes()
    with pytest.raises(Exception, match="str"):
        write_tensors(path, {"a": torch.ones(4)}, {"bad": 1})  # metadata must be text
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["t.safetensors"]


def test_outputs_written_but_not_booked_are_made_again(project) -> None:
    """Snakemake killed between a job's end and its own notice of it leaves a marker beside whole files."""
    from base64 import b64encode

    left = project("left", SLOW)
    target = "results/smoke/tiny/2layer-last/m60/metrics.parquet"
    words = ("--cores", "1", "--config", "scale=smoke", "--", target)
    assert left.run(*words)[0] == 0
    before = left.bytes(target)
    (left.folder / ".snakemake/incomplete" / b64encode(target.encode()).decode()).touch()
    code, output = left.run(*words)
    assert code == 0 and "1 of 1 steps (100%) done" in output, output
    assert left.bytes(target) == before
