"""The verbs typed by hand: a wrong name or a damaged file is one line and exit code 1."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from learnability import cli
from learnability.artifacts import read_tensors, write_tensors

ROOT = Path(__file__).parents[1]
BASE = Path("results/smoke")
SAMPLES = BASE / "fig2a/samples.safetensors"
OUTPUTS = BASE / "fig2a/2layer/all"
TRAIN = ("train", "fig2a", "2layer", "all")


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.delenv("LEARNABILITY_SETTINGS", raising=False)


@pytest.fixture(scope="module")
def sampled(tmp_path_factory) -> Path:
    """A folder with the config and the samples of fig2a at scale smoke."""
    folder = tmp_path_factory.mktemp("sampled")
    shutil.copytree(ROOT / "config", folder / "config")
    for other in set((folder / "config/experiments").iterdir()) - {folder / "config/experiments/fig2a.yaml"}:
        other.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LEARNABILITY_SETTINGS", raising=False)
        patch.chdir(folder)
        assert cli.main(["sample", "fig2a", "--scale", "smoke"]) == 0
    return folder


@pytest.fixture
def place(sampled, tmp_path, monkeypatch) -> Path:
    """A copy of ``sampled`` to work in."""
    shutil.copytree(sampled, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def failure(capsys, *words: str) -> str:
    """The one line that a call refused with exit code 1 says."""
    assert cli.main([*words, "--scale", "smoke"]) == 1
    said = capsys.readouterr()
    assert "Traceback" not in said.err + said.out
    (line,) = [line for line in said.err.splitlines() if "error: " in line]
    return line.partition("error: ")[2]


METHODS = "allowed: 3resnet, 3layer, 2layer, 3resnet-last"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("configure", "fig9"), "no experiment 'fig9'; allowed: fig2a"),
        (("sample", "fig9"), "no experiment 'fig9'; allowed: fig2a"),
        (("train", "fig9", "2layer", "m20"), "no experiment 'fig9'; allowed: fig2a"),
        (("train", "fig2a", "svm", "m20"), f"fig2a: no learner 'svm'; {METHODS}"),
        (("train", "fig2a", "2layer", "m7"), "fig2a/2layer: no point 'm7'; allowed: all"),
        (("evaluate", "fig9"), "no experiment 'fig9'; allowed: fig2a"),
        (("judge", "B-fig9"), "no claim 'B-fig9'; allowed: B-fig2a"),
        (("figure", "fig2a"), "no claim 'fig2a'; allowed: B-fig2a"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_a_wrong_name_lists_the_right_ones(place, capsys, words, says):
    assert failure(capsys, *words).startswith(says)


@pytest.mark.parametrize("verb", ["check", "sample fig2a", "ledger"])
def test_a_wrong_scale_lists_the_right_ones(place, capsys, verb):
    assert cli.main([*verb.split(), "--scale", "huge"]) == 1
    said = capsys.readouterr().err
    assert '--scale: must be one of smoke, laptop, paper, got "huge"' in said
    assert len(said.splitlines()) == 1


def test_a_config_mistake_reaches_every_verb(place, capsys):
    Path("config/config.yaml").write_text("scael: smoke\n")
    assert failure(capsys, "check").startswith("config/config.yaml: scael: unknown key; allowed: ")
    Path("config/config.yaml").unlink()
    assert failure(capsys, *TRAIN) == "config/config.yaml: cannot be read: No such file or directory"


def test_check_lists_every_job(place, capsys):
    assert cli.main(["check", "--scale", "smoke"]) == 0
    assert "2layer-ntk: all" in capsys.readouterr().err
    assert cli.main(["check", "--scale", "laptop"]) == 0
    assert "2layer-ntk: m50, m100, m200" in capsys.readouterr().err


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


DAMAGES = {
    "truncated": truncated,
    "one byte short": lambda content: content[:-1],
    "cut in its header": lambda content: content[:40],
    "empty": lambda content: b"",
    "garbage": lambda content: bytes(range(256)) * 40,
    "a text": lambda content: b"not a tensor in sight\n" * 40,
    "an error page": lambda content: b"<html>404</html>",
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_samples_are_named(place, capsys, kind):
    SAMPLES.write_bytes(DAMAGES[kind](SAMPLES.read_bytes()))
    assert failure(capsys, *TRAIN).startswith(f"{SAMPLES}: damaged or truncated")
    assert not OUTPUTS.exists()


def test_missing_samples_are_named(place, capsys):
    SAMPLES.unlink()
    assert failure(capsys, *TRAIN) == f"{SAMPLES}: no such file; `learnability sample fig2a` makes it"


def test_samples_of_another_kind_are_named(place, capsys):
    write_tensors(SAMPLES, {"W": torch.zeros(2, 2)})
    assert failure(capsys, *TRAIN).startswith(f"{SAMPLES}: not a samples file")


def test_samples_of_other_sizes_are_named(place, capsys):
    tensors, meta = read_tensors(SAMPLES)
    write_tensors(SAMPLES, {name: value[:1] for name, value in tensors.items()}, meta)
    assert failure(capsys, *TRAIN).startswith(f"{SAMPLES}: holds other seeds or sizes than the config")
    assert not OUTPUTS.exists()


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("evaluate", "fig2a"), BASE / "fig2a/3resnet/all/metrics.parquet"),
        (("judge", "B-fig2a"), BASE / "fig2a/scores.parquet"),
        (("figure", "B-fig2a"), BASE / "fig2a/scores.parquet"),
        (("ledger",), BASE / "verdicts/B-fig2a.json"),
    ],
    ids=["evaluate", "judge", "figure", "ledger"],
)
def test_damaged_inputs_of_the_later_verbs_are_named(place, capsys, words, file):
    assert failure(capsys, *words).startswith(f"{file}: ")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"PAR1 not really PAR1")
    assert failure(capsys, *words).startswith(f"{file}: damaged")
    before = {SAMPLES, file}
    assert {p for p in BASE.rglob("*") if p.is_file()} == before  # nothing half-written


def test_the_program_itself_trains_then_names_a_truncated_file(place):
    """As typed in a shell: exit code and streams of the real process."""
    environment = os.environ | {"WANDB_MODE": "disabled"}
    command = [sys.executable, "-m", "learnability", *TRAIN, "--scale", "smoke"]

    def run() -> subprocess.CompletedProcess:
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)

    first = run()
    assert first.returncode == 0, first.stderr
    assert {p.name for p in OUTPUTS.iterdir()} == {"metrics.parquet", "model.safetensors"}
    SAMPLES.write_bytes(truncated(SAMPLES.read_bytes()))
    second = run()
    assert second.returncode == 1
    assert f"error: {SAMPLES}: damaged or truncated" in second.stderr
    assert "Traceback" not in second.stderr + second.stdout
