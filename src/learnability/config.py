"""The typed config: one definition, validated before any job starts.

``load_settings`` reads ``config/config.yaml`` (how to run), ``load_experiments`` every file of
``config/experiments`` (what to run) at one scale. Every mistake becomes one line of a ``UserError``
that names the file, the key and what is allowed there (``complaints.py``). This module imports no torch and no
pandas.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from learnability.complaints import Place, complain, shown
from learnability.errors import UserError
from learnability.schema import Experiment, Settings
from learnability.schema.base import NAMING_LEARNERS, SCALES


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """SafeLoader, in C where PyYAML has it, that reads 1e-3 as a number and refuses a key given twice."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    seen: set[str] = set()
    for key in [k for k, _ in node.value if isinstance(k, yaml.ScalarNode) and k.value != "<<"]:
        if key.value in seen:
            problem = f"key {key.value!r} is given twice in one block"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
        seen.add(key.value)
    loader.flatten_mapping(node)  # '<<: *anchor'
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_Loader.add_implicit_resolver(  # YAML 1.1 takes 1e-3 for text
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def _read(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, yaml.reader.ReaderError):
        raise UserError(f"{path}: is not UTF-8 text; a YAML file is needed here") from None
    except yaml.YAMLError as error:
        mark, problem = error.problem_mark, " ".join((error.problem or error.context).split())
        where = f" at line {mark.line + 1}" if mark else ""
        raise UserError(f"{path}: not valid YAML{where}: {problem}") from None
    except (ValueError, RecursionError) as error:  # 2020-13-13, 0x_; ten thousand brackets
        raise UserError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(content, dict):
        found = "is empty" if content is None else f"holds {shown(content)}"
        raise UserError(f"{path}: must hold 'key: value' pairs, {found}")
    return content


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``base`` with ``over`` laid on top, mappings merged key by key, all else replaced."""
    merged = copy.deepcopy(base)
    for key, value in over.items():
        if value is None and isinstance(merged.get(key), dict):
            continue  # a section left empty changes nothing
        both = isinstance(merged.get(key), dict) and isinstance(value, dict)
        merged[key] = _merge(merged[key], value) if both else copy.deepcopy(value)
    return merged


def _at_scale(body: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``body`` with ``over`` laid on top; a learner that ``over`` sets to 'off' (YAML's False) is left out."""
    named, known = over.get("learners"), body.get("learners")
    off = [n for n, spec in named.items() if spec is False] if isinstance(named, dict) else []
    off = [name for name in off if isinstance(known, dict) and name in known]
    if off:
        over = over | {"learners": {name: spec for name, spec in named.items() if name not in off}}
        body = body | {"learners": {name: spec for name, spec in known.items() if name not in off}}
    return _merge(body, over)


def _trace(content: Any, keys: list[str]) -> list[Any]:
    """What lies at each of ``keys``, one below the other, as far as ``content`` goes."""
    found = []
    for key in keys:
        names = content if isinstance(content, dict) else {}
        if isinstance(content, list):
            names = dict(enumerate(content))
        content = next((value for name, value in names.items() if str(name) == key), None)
        if content is None:
            break
        found.append(content)
    return found


def parse_settings(content: dict[str, Any], where: str = "config/config.yaml") -> Settings:
    """Settings from a mapping that was checked before, or from Snakemake's config."""
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        raise complain(error, Settings, lambda keys: f"{where}: {'.'.join(keys)}") from None


def load_settings(folder: Path, over: dict[str, Any] | None = None) -> Settings:
    """``folder/config.yaml`` as :class:`Settings`, with ``over`` (``--config``) laid on top."""
    path = folder / "config.yaml"
    content = _read(path)
    merged = _merge(content, over or {})

    def place(keys: list[str]) -> str:
        from_file = _trace(merged, keys)[-1:] == _trace(content, keys)[-1:]
        return f"{path if from_file else '--config'}: {'.'.join(keys)}"

    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise complain(error, Settings, place) from None


def load_experiment(path: Path, scale: str) -> Experiment:
    """One experiment file at one scale: the file's body with ``scales.<scale>`` laid over it."""
    if scale not in SCALES:
        raise UserError(f"--scale: must be one of {', '.join(SCALES)}, got {shown(scale)}")
    content = _read(path)
    scales = content.pop("scales", None)
    if not isinstance(scales, dict) or set(scales) != set(SCALES):
        found = ", ".join(map(str, scales)) if isinstance(scales, dict) else shown(scales)
        raise UserError(f"{path}: scales: must have just {', '.join(SCALES)}, got {found}")
    over = {} if scales[scale] is None else scales[scale]
    if not isinstance(over, dict):
        raise UserError(f"{path}: scales.{scale}: must be 'key: value' pairs, got {shown(over)}")

    def place(keys: list[str]) -> str:
        deep = len(_trace(over, keys))
        own = deep and (deep == len(keys) or deep > len(_trace(content, keys)))
        return f"{path}: {f'scales.{scale}.' if own else ''}{'.'.join(keys)}"

    try:
        experiment = Experiment.model_validate(_at_scale(content, over))
    except ValidationError as error:
        raise complain(error, Experiment, place) from None
    _check_claims(experiment, place)
    return experiment


def _check_claims(experiment: Experiment, place: Place) -> None:
    """Every claim served has a judge, which takes these parameters, of learners that there are."""
    from learnability.claims import available, load  # pandas comes with it: only when needed

    for claim, values in experiment.claims.items():
        here = ["claims", claim]
        if claim not in available():
            allowed = ", ".join(sorted(available()))
            raise UserError(f"{place(here)}: no such claim; allowed: {allowed}")
        model = load(claim).Parameters
        try:
            given = model.model_validate(values)
        except ValidationError as error:
            raise complain(error, model, lambda keys, at=here: place([*at, *keys])) from None
        if extra := sorted(experiment.swept() - load(claim).AXES):
            allowed = ", ".join(sorted(load(claim).AXES))
            raise UserError(f"{place(here)}: is judged by {allowed} alone, but axes has {', '.join(extra)} too")
        for key in NAMING_LEARNERS:
            names = getattr(given, key, [])
            for name in [names] if isinstance(names, str) else names:
                if name not in experiment.learners:
                    allowed = ", ".join(experiment.learners)
                    message = f"no learner {shown(name)} in this experiment; allowed: {allowed}"
                    raise UserError(f"{place([*here, key])}: {message}")


def load_experiments(folder: Path, scale: str, only: list[str] | None = None) -> dict[str, Experiment]:
    """All of ``folder/experiments/*.yaml`` at ``scale``, by id; ``only`` keeps those named."""
    experiments: dict[str, Experiment] = {}
    files: dict[str, Path] = {}
    taken: dict[str, Path] = {}  # 'id: x' or 'claims.y' -> the file that has it
    place = folder / "experiments"
    paths = sorted(place.glob("*.yaml"))
    for path in place.glob("*.yml"):
        raise UserError(f"{path}: would not be read; name it {path.with_suffix('.yaml').name}")
    if not paths:
        raise UserError(f"{place}: no *.yaml file there: nothing to run")
    for path in paths:
        experiment = load_experiment(path, scale)
        for key in [f"id: {experiment.id}", *[f"claims.{claim}" for claim in experiment.claims]]:
            if key in taken:
                raise UserError(f"{path}: {key}: taken by {taken[key]}; one file only may have it")
            taken[key] = path
        experiments[experiment.id] = experiment
        files[experiment.id] = path
    for name in experiments:
        _check_joined(experiments, name, files[name])
    return choose(experiments, only, folder)


def _check_joined(experiments: dict[str, Experiment], name: str, path: Path) -> None:
    """What an experiment joins is there, and sweeps nothing that its claims are not judged by."""
    from learnability.claims import load

    experiment = experiments[name]
    for other in experiment.joined:
        if other not in experiments or other == name:
            allowed = ", ".join(n for n in experiments if n != name)
            raise UserError(f"{path}: joined: no other experiment {shown(other)}; allowed: {allowed}")
        for claim in experiment.claims:
            if extra := sorted(experiments[other].swept() - load(claim).AXES):
                judged = f"{claim} is judged by {', '.join(sorted(load(claim).AXES))} alone"
                raise UserError(f"{path}: joined: {judged}, but {other} has the axes {', '.join(extra)} too")


def choose(found: dict[str, Experiment], only: list[str] | None, folder: Path) -> dict[str, Experiment]:
    """Those of ``found`` that ``only`` names, all of them if it is None; a wrong name is refused."""
    for name in only or []:
        if name not in found:
            where = f"{folder / 'config.yaml'}: experiments"
            raise UserError(f"{where}: no experiment {shown(name)}; allowed: {', '.join(found)}")
    return {name: experiment for name, experiment in found.items() if only is None or name in only}
