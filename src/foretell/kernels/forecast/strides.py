"""How far apart in memory the lanes of a Triton expression lie: next to each other, a fixed step, or a row's length."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

CONTIGUOUS, STEP, FAR = "1", "step", "far"


class Strides(NamedTuple):
    """The steps between neighbouring lanes, one for each range in the expression; `gathered` where a load feeds it."""

    lanes: frozenset[str] = frozenset()
    gathered: bool = False


NONE = Strides()
# Expressions that lie as one part of theirs does.
_THROUGH: dict[type[ast.AST], str] = {
    ast.Subscript: "value",
    ast.Attribute: "value",
    ast.UnaryOp: "operand",
    ast.IfExp: "body",
}


def strides_of(node: ast.expr, known: Mapping[str, Strides]) -> Strides:
    """The strides of an expression; ranges of assigned names are followed through `known`."""
    while type(node) in _THROUGH:
        node = getattr(node, _THROUGH[type(node)])
    if isinstance(node, ast.Name):
        return known.get(node.id, NONE)
    if isinstance(node, ast.Call):
        return _of_call(node, known)
    return _of_binary(node, known) if isinstance(node, ast.BinOp) else NONE


def _of_binary(node: ast.BinOp, known: Mapping[str, Strides]) -> Strides:
    left, right = strides_of(node.left, known), strides_of(node.right, known)
    gathered = left.gathered or right.gathered
    if isinstance(node.op, ast.Mult):
        return Strides(_scaled(left.lanes, node.right) | _scaled(right.lanes, node.left), gathered)
    if isinstance(node.op, ast.FloorDiv):
        return Strides(frozenset({STEP}) if left.lanes else frozenset(), gathered)
    return Strides(left.lanes | right.lanes, gathered)


def _scaled(lanes: frozenset[str], by: ast.expr) -> frozenset[str]:
    if not lanes:
        return lanes
    if isinstance(by, ast.Constant):
        return lanes if by.value == 1 else frozenset({STEP})
    return frozenset({FAR})


def _of_call(node: ast.Call, known: Mapping[str, Strides]) -> Strides:
    if not isinstance(node.func, ast.Attribute):
        return NONE
    name = node.func.attr
    if name == "arange":
        return Strides(frozenset({CONTIGUOUS}))
    if name == "load":
        inner = strides_of(node.args[0], known) if node.args else NONE
        return Strides(inner.lanes and frozenset({FAR}), True)
    if name in ("to", "view", "reshape"):
        return strides_of(node.func.value, known) if not _is_language(node.func.value) else _first(node, known)
    if name in ("program_id", "num_programs", "cdiv"):
        return NONE
    return _first(node, known)


def _first(node: ast.Call, known: Mapping[str, Strides]) -> Strides:
    return strides_of(node.args[0], known) if node.args else NONE


def _is_language(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "tl"
