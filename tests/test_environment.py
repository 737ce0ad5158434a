"""pip, conda and the lock file name the same versions; the docs name real files."""

from __future__ import annotations

import re
import tomllib

import yaml

from conftest import ROOT


def pins(lines: list[str]) -> dict[str, str]:
    found = (re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)", line.strip()) for line in lines)
    return {m.group(1).lower().replace("_", "-"): m.group(2) for m in found if m}


def locked() -> dict[str, str]:
    return pins((ROOT / "requirements.lock").read_text().splitlines())


def direct() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    assert len(pins(wanted)) == len(wanted), "every direct dependency is pinned"
    return pins(wanted)


def test_lock_holds_every_direct_dependency() -> None:
    lock = locked()
    assert {name: lock.get(name) for name in direct()} == direct()


def test_conda_environment_has_the_same_versions() -> None:
    content = yaml.safe_load((ROOT / "environment.yml").read_text())
    (section,) = [part["pip"] for part in content["dependencies"] if isinstance(part, dict)]
    conda = pins(section)
    assert len(conda) == len(section)
    assert conda.items() <= locked().items()
    assert direct().items() <= conda.items()


def test_files_that_readme_names_exist() -> None:
    for page in ("README.md", "config/README.md"):
        text = (ROOT / page).read_text()
        for name in re.findall(r"`((?:src|config|workflow|tests|docs)/[\w./-]+)`", text):
            assert (ROOT / name).exists(), f"{page} names {name}"


def test_config_readme_explains_every_key() -> None:
    from learnability import schema

    text = (ROOT / "config/README.md").read_text()
    for model in (
        schema.Settings,
        schema.Tracking,
        schema.Experiment,
        schema.ParityComposite,
        schema.Data,
        schema.Training,
        schema.Hidden,
        schema.Linear,
    ):
        for key in model.model_fields:
            assert f"`{key}`" in text, f"config/README.md does not explain {key}"
