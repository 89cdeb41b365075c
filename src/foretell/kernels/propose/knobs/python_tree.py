"""A Python source as a tree with offsets: where each node stands in the text, and what a name was assigned."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from foretell.kernels.python_text import tree

Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.Lambda
_SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.Lambda)


@dataclass
class Tree:
    """A parsed source; raises SyntaxError if it is not Python."""

    source: str
    root: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.root = tree(self.source)
        self._starts = [0]
        self._lines = self.source.split("\n")
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.root):
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Offsets of a node's text in the source."""
        return self._offset(node.lineno, node.col_offset), self._offset(
            node.end_lineno or node.lineno, node.end_col_offset or 0
        )

    def text(self, node: ast.expr) -> str:
        start, end = self.span(node)
        return self.source[start:end]

    def _offset(self, line: int, column_bytes: int) -> int:
        text = self._lines[line - 1]
        column = column_bytes if text.isascii() else len(text.encode()[:column_bytes].decode(errors="replace"))
        return self._starts[line - 1] + column

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, the nearest first."""
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def is_statement(self, node: ast.AST) -> bool:
        """Whether an expression is a statement of its own, as docstrings are."""
        return isinstance(self._parents.get(node), ast.Expr)

    def assigned(self, name: str, at: ast.AST) -> list[ast.expr | None]:
        """What a name seen at a node is assigned, in the nearest scope that assigns it; None for what is not known."""
        for scope in self.above(at):
            if not isinstance(scope, _SCOPES) or isinstance(scope, ast.ClassDef):
                continue
            values = _values(scope, name)
            if values:
                return values
        return []

    def attribute(self, name: str, at: ast.AST) -> list[ast.expr | None]:
        """What `self.name`, seen at a node, is assigned in its class."""
        owner = next((node for node in self.above(at) if isinstance(node, ast.ClassDef)), None)
        if owner is None:
            return []
        found: list[ast.expr | None] = list(_values(owner, name))
        for node in ast.walk(owner):
            for target, value in _pairs(node):
                if isinstance(target, ast.Attribute) and target.attr == name and _is_self(target.value):
                    found.append(value)
        return found


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _values(scope: Scope, name: str) -> list[ast.expr | None]:
    found: list[ast.expr | None] = []
    if isinstance(scope, ast.FunctionDef | ast.Lambda):
        found += _default(scope.args, name)
    if isinstance(scope, ast.Lambda):
        return found
    for node in _own_nodes(scope):
        for target, value in _pairs(node):
            if isinstance(target, ast.Name) and target.id == name:
                found.append(value)
    return found


def _default(arguments: ast.arguments, name: str) -> list[ast.expr | None]:
    ordered = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(ordered) - len(arguments.defaults)) + list(arguments.defaults)
    both = [*zip(ordered, defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return [default for argument, default in both if argument.arg == name]


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of scopes within it."""
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo.extend(ast.iter_child_nodes(node))


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Targets of an assignment with their values."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _matched(target, value)
        case ast.AnnAssign(target=target, value=value) if value is not None:
            yield target, value
        case ast.AugAssign(target=target) | ast.For(target=target) | ast.NamedExpr(target=target):
            for each in ast.walk(target):
                if isinstance(each, ast.expr):
                    yield each, None


def _matched(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if isinstance(target, ast.Tuple | ast.List):
        values: list[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            values = list(value.elts)
        for one, its in zip(target.elts, values, strict=True):
            yield from _matched(one, its) if its is not None else iter([(one, None)])
    else:
        yield target, value
