"""What the Python around a kernel says in plain numbers: names bound to integers, and arguments that are such."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

MAKERS = frozenset({"empty", "empty_like", "zeros", "zeros_like", "full", "new_empty"})
FILLERS = frozenset({"zeros", "zeros_like", "zero_", "fill_", "full", "new_zeros"})


def bound_integers(nodes: Iterable[ast.AST]) -> dict[str, int]:
    """Names that an assignment binds to an integer literal."""
    return {
        node.targets[0].id: node.value.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, int)
    }


def number(node: ast.expr, known: Mapping[str, int]) -> int | None:
    """The integer that an expression is, where it is a literal or a known name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    return known.get(node.id) if isinstance(node, ast.Name) else None
