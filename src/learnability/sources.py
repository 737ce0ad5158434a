"""Which source files a verb runs, found by reading the imports: they are its rule's inputs.

Snakemake reruns a job when an input changed. A change to one learner's module then reruns that
learner and what follows from it, and nothing else. What only routes does not count (``ROUTING``):
the config reaches a job as its resolved values, which are the rule's params.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
ROUTING = {"cli", "complaints", "config", "errors", "plan", "schema", "sources", "tracking", "warm", "workdir"}


def _file(module: str) -> Path | None:
    """The file of ``learnability.x.y``, or None for what is not ours."""
    if module.split(".")[0] != "learnability":
        return None
    base = PACKAGE.joinpath(*module.split(".")[1:])
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Modules named by the import statements at the top level of ``path``.

    An import inside a function is a choice made at run time: the rule that makes it names it.
    """
    names: list[str] = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names += [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


def closure(*modules: str) -> list[str]:
    """The files of ``modules`` and of all they import from this package, sorted, as strings."""
    seen: set[Path] = set()
    waiting = [f"learnability.{name}" for name in modules]
    while waiting:
        module = waiting.pop()
        path = _file(module)
        if path is None or path in seen or path.relative_to(PACKAGE).parts[0].removesuffix(".py") in ROUTING:
            continue
        seen.add(path)
        waiting += _imports(path)
    return sorted(str(path) for path in seen)
