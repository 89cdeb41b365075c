"""The host code of a Triton program: its launches with the numbers they are given, and what else it does."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from foretell.kernels.forecast.host_code import FILLERS, MAKERS, bound_integers, number
from foretell.kernels.forecast.syntax import Nodes, walk

_MAKERS = MAKERS | {"ones", "full_like", "new_zeros"}
_FILLERS = FILLERS | {"ones"}
_MOVERS = ("contiguous", "to", "clone", "sum", "float", "half", "t", "transpose", "copy_", "view")


@dataclass(frozen=True)
class Launch:
    """A call of the form `name[grid](...)`: what is launched, the axes of its grid, and the numbers it is given."""

    kernel: str
    axes: int
    sizes: Mapping[str, int]
    warps: float
    stages: float
    looped: bool


@dataclass(frozen=True)
class Host:
    """One function: launches, and how many tensors it makes, fills and moves; loops."""

    launches: tuple[Launch, ...]
    makes: int
    fills: int
    moves: int
    loops: int


def read_host(nodes: Nodes) -> Host:
    """Read a function of the host code, given as all its nodes."""
    called = Counter(node.func.attr for node in nodes[ast.Call] if isinstance(node.func, ast.Attribute))
    makes, fills, moves = (sum(called[name] for name in names) for names in (_MAKERS, _FILLERS, _MOVERS))
    return Host(tuple(_launches(nodes)), makes, fills, moves, len(nodes[ast.For]) + len(nodes[ast.While]))


def _launches(nodes: Nodes) -> Iterator[Launch]:
    known = bound_integers(nodes[ast.Assign])
    inside = {id(call) for loop in (*nodes[ast.For], *nodes[ast.While]) for call in walk(loop)}
    for node in nodes[ast.Call]:
        if not isinstance(node.func, ast.Subscript) or not isinstance(node.func.value, ast.Name):
            continue
        given = {word.arg: number(word.value, known) for word in node.keywords if word.arg}
        numbers = {key: value for key, value in given.items() if value is not None}
        grid = node.func.slice
        axes = len(grid.elts) if isinstance(grid, ast.Tuple) else 1
        sizes = {k: v for k, v in numbers.items() if k not in ("num_warps", "num_stages", "num_ctas")}
        warps, stages = float(numbers.get("num_warps", 4)), float(numbers.get("num_stages", 3))
        yield Launch(node.func.value.id, axes, sizes, warps, stages, id(node) in inside)
