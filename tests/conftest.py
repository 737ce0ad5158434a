"""What tests share: a copy of the project to run the workflow in, and a way to run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]

# Two small learners, one of which trains for some seconds and loses four replicas of twelve.
SLOW = """
id: tiny
claims: {B-fig2a: {methods: [3resnet, 2layer-last], min_seeds: 5, from_width: 1}}
teacher: {kind: parity_composite, d: 16, k: 8, f_degree: 2, g_degree: 4, alpha: 0.3}
data: {n_train: 530, n_val: 50, n_test: 100, seeds: [0, 1]}
axes: {m: [60]}
learners:
  3resnet: {network: resnet3, train: hidden, lr: [0.1, 0.2, 50.0], wd: [0.0, 0.001]}
  2layer-last: {network: layer2, train: last, wd: [0.01]}
training: {batch: 50, phases: [500, 100], log_every: 20, checkpoint_seconds: 0}
scales: {smoke: {}, laptop: {}, paper: {}}
"""

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def plain_arithmetic():
    """A test that calls the program in this process must not leave its float settings behind."""
    yield
    torch.set_flush_denormal(False)
    torch.set_num_threads(1)


class Project:
    """A working directory with the real rules; its config may be replaced."""

    def __init__(self, folder: Path, experiment: str | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        shutil.copytree(ROOT / "workflow", folder / "workflow")
        shutil.copytree(ROOT / "config", folder / "config")
        shutil.copytree(ROOT / "profiles", folder / "profiles")
        for name in ("Snakefile", "environment.yml"):
            shutil.copy(ROOT / name, folder / name)
        if experiment is not None:
            shutil.rmtree(folder / "config" / "experiments")
            self.write("config/experiments/tiny.yaml", experiment)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def environment(self, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("WANDB", "LEARNABILITY"))}
        return kept | {"HOME": str(self.folder)} | more  # no netrc, no key

    def start(self, *words: str, module: str = "snakemake", **env: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", module, *words],
            cwd=self.folder,
            env=self.environment(**env),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, module: str = "snakemake", **env: str) -> tuple[int, str]:
        process = self.start(*words, module=module, **env)
        output, _ = process.communicate(timeout=600)
        return process.returncode, output

    def bytes(self, *patterns: str) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for pattern in patterns
            for path in sorted(self.folder.glob(pattern))
        }


@pytest.fixture
def project(tmp_path: Path):
    """Builds projects below the test's own folder: ``project('a')``, ``project('b', yaml)``."""
    return lambda name="project", experiment=None: Project(tmp_path / name, experiment)
