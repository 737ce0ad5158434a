"""The typed config: one definition, validated before any job starts.

``load_settings`` reads ``config/config.yaml`` (how to run), ``load_experiments`` every file of
``config/experiments`` (what to run) at one scale. Every mistake becomes one line of a ``UserError``
that names the file, the key and what is allowed there, the last read off the types of
``schema.py``. This module imports no torch and no pandas.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml
from pydantic import BaseModel, ValidationError

from learnability.errors import UserError
from learnability.schema import NAMING_LEARNERS, SCALES, Experiment, Settings

Place = Callable[[list[str]], str]  # keys -> 'file: key', the way the user finds them


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads 1e-3 as a number and refuses a key given twice."""


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
        found = "is empty" if content is None else f"holds {_shown(content)}"
        raise UserError(f"{path}: must hold 'key: value' pairs, {found}")
    return content


def _shown(value: Any) -> str:
    """A value the way YAML writes it, on one line, cut to a readable length."""
    text = json.dumps(value, default=str, skipkeys=True, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _fields(section: Any) -> dict[str, Any]:
    """Key -> type of a section (a model or a TypedDict), limits included; nothing for the rest."""
    if isinstance(section, type) and issubclass(section, BaseModel):
        hints = get_type_hints(section, include_extras=True)
        return {key: hints[key] for key in section.model_fields}
    is_section = isinstance(section, type) and hasattr(section, "__total__")
    return get_type_hints(section, include_extras=True) if is_section else {}


def _bare(kind: Any) -> tuple[Any, list[Any]]:
    """A type without limits and without 'or null', and the limits."""
    limits: list[Any] = []
    if get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind):
        kind = next(k for k in get_args(kind) if k is not NoneType)
    if get_origin(kind) is Annotated:
        kind, *extras = get_args(kind)
        limits = [limit for extra in extras for limit in getattr(extra, "metadata", [])]
    return kind, limits


def _words(section: Any, *only: str) -> list[str]:
    """The words that the keys of a section (or ``only`` these) may be set to."""
    kinds = [_bare(kind)[0] for key, kind in _fields(section).items() if not only or key in only]
    return [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]


def _walk(kind: Any, loc: tuple) -> tuple[list[str], Any, Any]:
    """Pydantic's path as keys of the file, the section of the last one, and the type it has."""
    keys: list[str] = []
    section = kind
    for part in loc:
        section = _bare(kind)[0]
        if get_origin(section) in (Union, UnionType):  # pydantic's path names the member by its tag
            kind = section = next((k for k in get_args(section) if part in _words(k)), Any)
            continue
        keys.append(" ".join(str(part).split()))
        inside = get_origin(section) in (list, dict)
        kind = get_args(section)[-1] if inside else _fields(section).get(part, Any)
    return keys, section, kind


def _allowed(kind: Any) -> str:
    """What may stand at a key, in words: ``a list of 1 or more, each text``; '' if unknown."""
    bare, limits = _bare(kind)
    least = next((limit.min_length for limit in limits if hasattr(limit, "min_length")), 0)
    if get_origin(bare) is Literal:
        words = f"one of {', '.join(get_args(bare))}"
    elif get_origin(bare) is list:
        count = f" of {least} or more" if least else ""
        words = f"a list{count}, each {_allowed(get_args(bare)[0])}"
    elif bare in (int, float):
        words = "a whole number" if bare is int else "a finite number"
        signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
        bounds = [f"{s} {getattr(x, n)}" for x in limits for n, s in signs.items() if hasattr(x, n)]
        words = " ".join([words, " and ".join(bounds)]).strip()
    elif bare is str:
        words = "text that is not empty" if least else "text"
    elif get_origin(bare) is dict or any(_fields(k) for k in (bare, *get_args(bare))):
        words = f"{'one or more ' if least else ''}'key: value' pairs"
        words += f" with keys of {', '.join(_fields(bare))}" if _fields(bare) else ""
    else:
        words = ""
    return words if kind is bare or NoneType not in get_args(kind) else f"{words}, or null"


def _complaint(item: dict[str, Any], model: type[BaseModel]) -> tuple[list[str], str]:
    """One of pydantic's mistakes: the key, and what is wrong and what is allowed there."""
    of_key = item["loc"][-1:] == ("[key]",)  # the key itself is wrong, not what stands there
    keys, section, kind = _walk(model, item["loc"][:-1] if of_key else item["loc"])
    what, about, allowed = item["type"], item.get("ctx", {}), _allowed(kind)
    if what == "wrong":
        return [*keys, *about["at"]], item["msg"]
    if what in ("union_tag_invalid", "union_tag_not_found"):  # one key tells which keys go with it
        key = about["discriminator"].strip("'")
        words = ", ".join(word for k in get_args(_bare(kind)[0]) for word in _words(k, key))
        found = f"must be one of {words}, got {_shown(about.get('tag'))}"
        return [*keys, key], found if "tag" in about else f"missing; must be one of {words}"
    if what == "missing":
        return keys, f"missing; must be {allowed}" if allowed else "missing"
    if of_key and get_args(section)[0] is str:
        return keys, "the name must be text; put it in quotes"
    if of_key or what in ("extra_forbidden", "invalid_key"):
        names = _fields(section) or get_args(get_args(section)[0])
        more = ["scales"] if section is Experiment else []  # taken off before the rest is checked
        return keys, f"unknown key; allowed: {', '.join(sorted([*names, *more]))}"
    if what == "value_error" or not allowed:
        return keys, f"{item['msg'].removeprefix('Value error, ')}, got {_shown(item['input'])}"
    return keys, f"must be {allowed}, got {_shown(item['input'])}"


def _complain(error: ValidationError, model: type[BaseModel], place: Place) -> UserError:
    """Every mistake that pydantic found, one line each."""
    found = [_complaint(item, model) for item in error.errors()]
    return UserError("\n".join(dict.fromkeys(f"{place(keys)}: {what}" for keys, what in found)))


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``base`` with ``over`` laid on top, mappings merged key by key, all else replaced."""
    merged = copy.deepcopy(base)
    for key, value in over.items():
        if value is None and isinstance(merged.get(key), dict):
            continue  # a section left empty changes nothing
        both = isinstance(merged.get(key), dict) and isinstance(value, dict)
        merged[key] = _merge(merged[key], value) if both else copy.deepcopy(value)
    return merged


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
        raise _complain(error, Settings, lambda keys: f"{where}: {'.'.join(keys)}") from None


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
        raise _complain(error, Settings, place) from None


def load_experiment(path: Path, scale: str) -> Experiment:
    """One experiment file at one scale: the file's body with ``scales.<scale>`` laid over it."""
    if scale not in SCALES:
        raise UserError(f"--scale: must be one of {', '.join(SCALES)}, got {_shown(scale)}")
    content = _read(path)
    scales = content.pop("scales", None)
    if not isinstance(scales, dict) or set(scales) != set(SCALES):
        found = ", ".join(map(str, scales)) if isinstance(scales, dict) else _shown(scales)
        raise UserError(f"{path}: scales: must have just {', '.join(SCALES)}, got {found}")
    over = {} if scales[scale] is None else scales[scale]
    if not isinstance(over, dict):
        raise UserError(f"{path}: scales.{scale}: must be 'key: value' pairs, got {_shown(over)}")

    def place(keys: list[str]) -> str:
        deep = len(_trace(over, keys))
        own = deep and (deep == len(keys) or deep > len(_trace(content, keys)))
        return f"{path}: {f'scales.{scale}.' if own else ''}{'.'.join(keys)}"

    try:
        experiment = Experiment.model_validate(_merge(content, over))
    except ValidationError as error:
        raise _complain(error, Experiment, place) from None
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
            raise _complain(error, model, lambda keys, at=here: place([*at, *keys])) from None
        if extra := sorted(experiment.swept() - load(claim).AXES):
            allowed = ", ".join(sorted(load(claim).AXES))
            raise UserError(f"{place(here)}: is judged by {allowed} alone, but axes has {', '.join(extra)} too")
        for key in NAMING_LEARNERS:
            names = getattr(given, key, [])
            for name in [names] if isinstance(names, str) else names:
                if name not in experiment.learners:
                    allowed = ", ".join(experiment.learners)
                    message = f"no learner {_shown(name)} in this experiment; allowed: {allowed}"
                    raise UserError(f"{place([*here, key])}: {message}")


def load_experiments(folder: Path, scale: str, only: list[str] | None = None) -> dict[str, Experiment]:
    """All of ``folder/experiments/*.yaml`` at ``scale``, by id; ``only`` keeps those named."""
    experiments: dict[str, Experiment] = {}
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
    return choose(experiments, only, folder)


def choose(found: dict[str, Experiment], only: list[str] | None, folder: Path) -> dict[str, Experiment]:
    """Those of ``found`` that ``only`` names, all of them if it is None; a wrong name is refused."""
    for name in only or []:
        if name not in found:
            where = f"{folder / 'config.yaml'}: experiments"
            raise UserError(f"{where}: no experiment {_shown(name)}; allowed: {', '.join(found)}")
    return {name: experiment for name, experiment in found.items() if only is None or name in only}
