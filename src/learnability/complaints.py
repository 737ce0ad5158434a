"""What is wrong with a config, in words: each mistake that pydantic finds becomes one line.

A line names the place and the key, and what is allowed there, read off the types of ``schema``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError

from learnability.errors import UserError
from learnability.schema import Experiment

Place = Callable[[list[str]], str]  # keys -> 'file: key', the way the user finds them


def shown(value: Any) -> str:
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


def _tag(kind: Any) -> str:
    """The key that tells the members of a union apart."""
    return next(extra.discriminator for extra in get_args(kind) if getattr(extra, "discriminator", None))


def _walk(kind: Any, loc: tuple) -> tuple[list[str], Any, Any]:
    """Pydantic's path as keys of the file, the section of the last one, and the type it has."""
    keys: list[str] = []
    section = kind
    for part in loc:
        section = _bare(kind)[0]
        if get_origin(section) in (Union, UnionType):  # pydantic's path names the member by its tag
            kind = section = next((k for k in get_args(section) if part in _words(k, _tag(kind))), Any)
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
        words = f"one of {', '.join(map(str, get_args(bare)))}"
    elif get_origin(bare) is list:
        most = next((limit.max_length for limit in limits if hasattr(limit, "max_length")), None)
        count = f" of {least} or more" if least else ""
        if most is not None:
            count = f" of {least}" if least == most else f" of {least} to {most}"
        words = f"a list{count}, each {_allowed(get_args(bare)[0])}"
        if most == 0:
            words = "an empty list, or left out"
    elif bare is bool:
        words = "true or false"
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
        found = f"must be one of {words}, got {shown(about.get('tag'))}"
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
        return keys, f"{item['msg'].removeprefix('Value error, ')}, got {shown(item['input'])}"
    return keys, f"must be {allowed}, got {shown(item['input'])}"


def complain(error: ValidationError, model: type[BaseModel], place: Place) -> UserError:
    """Every mistake that pydantic found, one line each."""
    found = [_complaint(item, model) for item in error.errors()]
    return UserError("\n".join(dict.fromkeys(f"{place(keys)}: {what}" for keys, what in found)))
