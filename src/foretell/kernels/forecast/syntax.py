"""Python syntax trees read quickly: all nodes sorted by kind in one walk, and which names an expression speaks of.

As `ast.walk`, but what is no more than a mark on a node (`Load`, `Add`, ...) is counted and not visited.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import Any

# Where the children of common kinds are, and how many marks the kind has. Of other kinds `ast` is asked.
_CHILDREN: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Name: (),
    ast.Constant: (),
    ast.alias: (),
    ast.Attribute: ("value",),
    ast.Subscript: ("value", "slice"),
    ast.Slice: ("lower", "upper", "step"),
    ast.Tuple: ("elts",),
    ast.List: ("elts",),
    ast.Call: ("func", "args", "keywords"),
    ast.keyword: ("value",),
    ast.BinOp: ("left", "right"),
    ast.UnaryOp: ("operand",),
    ast.BoolOp: ("values",),
    ast.Compare: ("left", "comparators"),
    ast.IfExp: ("test", "body", "orelse"),
    ast.Assign: ("targets", "value"),
    ast.AugAssign: ("target", "value"),
    ast.Expr: ("value",),
    ast.Return: ("value",),
    ast.If: ("test", "body", "orelse"),
    ast.For: ("target", "iter", "body", "orelse"),
    ast.While: ("test", "body", "orelse"),
    ast.arg: ("annotation",),
}
_MARKED = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Tuple,
    ast.List,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.AugAssign,
)

LEAVES = frozenset(kind for kind, fields in _CHILDREN.items() if not fields)

Nodes = defaultdict[type[ast.AST], list[Any]]


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below, in order."""
    fields = _CHILDREN.get(type(node))
    if fields is None:
        return list(ast.iter_child_nodes(node))
    found: list[ast.AST] = []
    for name in fields:
        child = getattr(node, name)
        if type(child) is list:
            found += child
        elif child is not None:
            found.append(child)
    return found


def walk(root: ast.AST) -> list[ast.AST]:
    """The node and all below it, breadth first."""
    found = [root]
    for node in found:
        if type(node) not in LEAVES:
            found += children(node)
    return found


def by_kind(root: ast.AST) -> Nodes:
    """The node and all below it, breadth first within each kind."""
    found: Nodes = defaultdict(list)
    for node in walk(root):
        found[type(node)].append(node)
    return found


def size(nodes: Nodes) -> int:
    """How many nodes these are, marks included."""
    marks = sum(len(nodes[kind]) for kind in _MARKED) + sum(len(node.ops) for node in nodes[ast.Compare])
    return sum(map(len, nodes.values())) + marks


def speaks_of(node: ast.AST, word: str) -> bool:
    """True where a name or a text in the expression has `word` in it."""
    return any(
        isinstance(said, str) and word in said
        for each in walk(node)
        for said in (getattr(each, field, None) for field in ("id", "attr", "arg", "value"))
    )
