"""The typed config: one definition, validated before any job starts.

``load_settings`` reads ``config/config.yaml`` (how to run), ``load_experiments`` reads every file of
``config/experiments`` (what to run) at one scale. Every mistake becomes one line of a ``UserError``
that names the file, the key and what is allowed there. This module imports no torch and no pandas.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from learnability.errors import UserError
from learnability.schema import SCALES, Experiment, Hidden, Linear, Settings


def _read(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; duplicate keys are refused, which plain YAML lets pass."""

    class Loader(yaml.SafeLoader):
        """SafeLoader that reads 1e-3 as a number and refuses a key given twice."""

    def mapping(loader: Loader, node: yaml.MappingNode) -> dict[str, Any]:
        keys = [loader.construct_object(k) for k, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                line = node.start_mark.line + 1
                raise UserError(f"{path}: {key}: given twice in the block at line {line}")
        return {k: loader.construct_object(v, deep=True) for k, (_, v) in zip(keys, node.value)}

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    number = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$")  # YAML 1.1 takes 1e-3 for text
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+.0123456789"))
    try:
        content = yaml.load(path.read_text(), Loader)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text") from None
    except yaml.YAMLError as error:
        where = f" at line {error.problem_mark.line + 1}" if getattr(error, "problem_mark", 0) else ""
        problem = getattr(error, "problem", None) or "cannot be parsed"
        raise UserError(f"{path}: not valid YAML{where}: {problem}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: must hold 'key: value' pairs, holds {type(content).__name__}")
    return content


def _one_line_each(where: str, error: ValidationError, model: type[BaseModel]) -> UserError:
    """Every mistake that pydantic found, as 'file: key: what is wrong, what is allowed'."""
    lines = []
    for item in error.errors():
        key = ".".join(str(part) for part in item["loc"] if part not in ("hidden", "last", "ntk"))
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = f"unknown key; allowed: {', '.join(_siblings(model, item['loc']))}"
        elif item["type"] in ("missing", "union_tag_not_found"):
            message = "missing" if item["type"] == "missing" else message
        else:
            message = f"{message}, got {item['input']!r}" if item["loc"] else message
        lines.append(f"{where}: {key or 'the whole file'}: {message}")
    return UserError("\n".join(dict.fromkeys(lines)))


def _siblings(model: type[BaseModel], loc: tuple) -> list[str]:
    """The keys allowed beside the unknown one at ``loc``."""
    section: Any = model
    for part in loc[:-1]:
        if part in ("hidden", "last", "ntk"):  # the discriminator pydantic puts into the path
            section = Hidden if part == "hidden" else Linear
        elif isinstance(section, type) and part in section.model_fields:
            section = section.model_fields[part].annotation
    return sorted(section.model_fields) if hasattr(section, "model_fields") else ["(none)"]


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``base`` with ``over`` laid on top, mappings merged key by key, all else replaced."""
    merged = copy.deepcopy(base)
    for key, value in over.items():
        both = isinstance(merged.get(key), dict) and isinstance(value, dict)
        merged[key] = _merge(merged[key], value) if both else copy.deepcopy(value)
    return merged


def parse_settings(content: dict[str, Any], where: str = "config/config.yaml") -> Settings:
    """Settings from a mapping (a file, or Snakemake's config after ``--config``)."""
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        raise _one_line_each(where, error, Settings) from None


def load_settings(folder: Path) -> Settings:
    """``folder/config.yaml`` as validated :class:`Settings`."""
    path = folder / "config.yaml"
    return parse_settings(_read(path), str(path))


def load_experiment(path: Path, scale: str) -> Experiment:
    """One experiment file at one scale: the file's body with ``scales.<scale>`` laid over it."""
    content = _read(path)
    if scale not in SCALES:
        raise UserError(f"config: scale: must be one of {', '.join(SCALES)}, got {scale!r}")
    scales = content.pop("scales", {})
    if not isinstance(scales, dict) or set(scales) != set(SCALES):
        raise UserError(f"{path}: scales: must have just the keys {', '.join(SCALES)}")
    if not isinstance(scales[scale] or {}, dict):
        raise UserError(f"{path}: scales.{scale}: must hold 'key: value' pairs")
    try:
        experiment = Experiment.model_validate(_merge(content, scales[scale] or {}))
    except ValidationError as error:
        raise _one_line_each(f"{path} (scale {scale})", error, Experiment) from None
    _check_claims(path, experiment)
    return experiment


def _check_claims(path: Path, experiment: Experiment) -> None:
    """Every claim served has a judge, and its parameters are the ones that judge takes."""
    from learnability.claims import available, parameters  # pandas comes with it: only when needed

    for claim, values in experiment.claims.items():
        if claim not in available():
            allowed = ", ".join(sorted(available()))
            raise UserError(f"{path}: claims.{claim}: no such claim; allowed: {allowed}")
        model = parameters(claim)
        try:
            model.model_validate(values)
        except ValidationError as error:
            raise _one_line_each(f"{path}: claims.{claim}", error, model) from None


def load_experiments(folder: Path, scale: str, only: list[str] | None = None) -> dict[str, Experiment]:
    """All of ``folder/experiments/*.yaml`` at ``scale``, by id; ``only`` keeps those named."""
    experiments: dict[str, Experiment] = {}
    claimed: dict[str, str] = {}
    files: dict[str, Path] = {}
    paths = sorted((folder / "experiments").glob("*.yaml"))
    if not paths:
        raise UserError(f"{folder / 'experiments'}: no *.yaml file there: nothing to run")
    for path in paths:
        experiment = load_experiment(path, scale)
        if experiment.id in experiments:
            raise UserError(
                f"{path}: id: {experiment.id!r} is taken by {files[experiment.id]}; ids must differ"
            )
        for claim in experiment.claims:
            if claim in claimed:
                raise UserError(f"{path}: claims.{claim}: already served by {claimed[claim]}")
            claimed[claim] = str(path)
        experiments[experiment.id], files[experiment.id] = experiment, path
    for name in only or []:
        if name not in experiments:
            known = ", ".join(experiments)
            raise UserError(f"config: experiments: no experiment {name!r}; allowed: {known}")
    return {name: e for name, e in experiments.items() if only is None or name in only}
