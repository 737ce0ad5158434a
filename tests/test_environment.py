"""pip, conda and the lock file name the same versions; the docs name real files."""

from __future__ import annotations

import re
import tomllib
from typing import Any, get_args

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
    from learnability.schema import base, learners, teachers

    text = (ROOT / "config/README.md").read_text()
    found = [value for module in (schema, learners, teachers) for value in vars(module).values()]
    models = {model for model in found if isinstance(model, type) and issubclass(model, base.Strict)}
    assert {schema.Settings, schema.Experiment, teachers.SmoothComposite, learners.Kernel} <= models
    keys = {key for model in models for key in model.model_fields}
    words = [*base.AXES, *learners.KERNELS, *get_args(teachers.ACTIVATIONS), *base.SCALES]
    for model, key in [(learners.NetworkBase, "network"), (learners.Kernel, "activation")]:
        words += literal_words(model.model_fields[key].annotation)
    for key in sorted(keys | set(words)):
        assert f"`{key}`" in text, f"config/README.md does not explain {key}"


def literal_words(kind: Any) -> list[str]:
    """The words of a Literal, also inside a union with None."""
    found = get_args(kind)
    return [word for part in found for word in ([part] if isinstance(part, str) else literal_words(part))]
