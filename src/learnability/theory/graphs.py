"""Sizes and connection graphs of paper A's networks: the rules of Section 2, and the shapes of its examples."""

from __future__ import annotations

from collections.abc import Sequence

Graph = tuple[tuple[int, ...], ...]  # J_2, ..., J_L
FIXED = {"toy": (4, (2, 2), ((0, 1), (0, 2))), "example": (3, (2, 1), ((0, 1), (1, 2)))}  # d, widths, graph


def broken_rule(graph: Sequence[Sequence[int]], strict: bool = True) -> str | None:
    """What is wrong with ``graph``, whose entry l-2 is J_l; None if nothing is.

    Section 2: l-1 in J_l, l-2 not in J_l, and a skip link for l >= 3. Not ``strict``: any network that can be
    built, the vanilla J_l = {l-1} included.
    """
    for layer, sources in enumerate(graph, start=2):
        name = f"J_{layer} = {{{', '.join(map(str, sources))}}}"
        if len(set(sources)) < len(sources) or not set(sources) <= set(range(layer)):
            return f"{name} must be distinct numbers from 0 to {layer - 1}"
        if layer - 1 not in sources:
            return f"{name} must hold {layer - 1}, the layer before"
        if strict and layer >= 3 and layer - 2 in sources:
            return f"{name} must not hold {layer - 2}, the layer before the last"
        if strict and layer >= 3 and len(sources) < 2:
            return f"{name} must hold a skip link, one of 0 to {layer - 3}"
    return None


def layers(family: str, depth: int | None, widths: Sequence[int] | None) -> int:
    """L - 1, how many layers have weights; L is 3 unless it is given."""
    if family in FIXED:
        return 2
    return len(widths) if widths else (depth or 3) - 1


def resolve(
    family: str,
    d: int,
    depth: int | None = None,
    widths: Sequence[int] | None = None,
    graph: Sequence[Sequence[int]] | None = None,
) -> tuple[tuple[int, ...], Graph]:
    """k_2..k_L and J_2..J_L of a family; a graph that is not given is {0, 1} ({1} for identity), then {0, l-1}."""
    if family in FIXED:
        return FIXED[family][1:]
    count = layers(family, depth, widths)
    if not widths:
        widths = [d if family == "identity" else 1] + [1] * (count - 1)
    if not graph:
        graph = [[1] if family == "identity" else [0, 1], *[[0, layer - 1] for layer in range(3, count + 2)]]
    return tuple(widths), tuple(tuple(sorted(sources)) for sources in graph)
