"""Reading the files of a source without executing them: bounded, as UTF-8, and what a Python text defines."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.kernels.python_text import tree as tree_of
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.received import NotPlain, read_plain

MOST_BYTES = 4 << 20
_MOST, _MOST_SHIFT = 1 << 62, 62  # of whole numbers in arithmetic
_MOST_VALUES = 1 << 20  # of a module's constants, characters of texts counted too: names may stand for lists of lists
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}


def read_text(path: Path) -> str:
    """A file's text. Raises BadTask if it is not a plain file of bounded size in UTF-8; links are not followed."""
    try:
        return read_plain(path, MOST_BYTES).decode("utf-8-sig")
    except NotPlain as error:
        raise BadTask(Refusal.NOT_FOUND, str(error), "a file of the task", "name or copy the file itself") from None
    except UnicodeDecodeError as error:
        what = f"{path} is not text (byte {error.start} is not UTF-8)"
        raise BadTask(Refusal.NOT_READABLE, what, "a text in UTF-8") from None
    except ValueError as error:
        raise BadTask(Refusal.NOT_READABLE, str(error), f"a text of at most {MOST_BYTES} bytes") from None
    except FileNotFoundError:
        raise BadTask(Refusal.NOT_FOUND, f"{path} does not exist", "a file of the task", "check the path") from None
    except OSError as error:
        raise BadTask(Refusal.NOT_READABLE, f"{path}: {error.strerror}", "a file that can be read") from None


def parsed(source: str, name: str) -> ast.Module:
    """The syntax tree of a Python text. Raises BadTask if it is not valid Python, or beyond the bounds."""
    try:
        return tree_of(source)
    except SyntaxError as error:
        line = f" (line {error.lineno})" if error.lineno else ""
        what = f"{name} is not valid Python: {error.msg}{line}"
    except (ValueError, RecursionError, MemoryError) as error:
        what = f"{name} is not valid Python: {error}"
    raise BadTask(Refusal.NOT_READABLE, what, "a Python module")


def top_level_names(tree: ast.Module) -> set[str]:
    """What a module defines, assigns or imports under a name of its own, also below `if` and `try`."""
    names: set[str] = set()

    def collect(statements: list[ast.stmt]) -> None:
        for node in statements:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign):
                names.update(target.id for target in node.targets if isinstance(target, ast.Name))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                names.add(node.target.id)
            elif isinstance(node, ast.ImportFrom):
                names.update(alias.asname or alias.name for alias in node.names)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                collect(node.body)
                collect(getattr(node, "orelse", []))

    collect(tree.body)
    return names


def constants(tree: ast.Module) -> dict[str, Any]:
    """What a module assigns to names at its top level, as far as it is literals and whole-number arithmetic.

    What is beyond _MOST_VALUES of all of them together is left out.
    """
    found: dict[str, _Literal] = {}
    left = _MOST_VALUES
    for node in tree.body:
        for name, value in assigned(node):
            try:
                literal = _literal(value, found)
                if literal.size > left:
                    raise ValueError("constants that are too large together")
                found[name] = literal
                left -= literal.size
            except (ValueError, TypeError, ArithmeticError, KeyError, RecursionError):
                found.pop(name, None)
    return {name: literal.value for name, literal in found.items()}


def assigned(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    """The names and values of an assignment to plain names; nothing for other statements."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [(node.target.id, node.value)]
    if isinstance(node, ast.Assign):
        return [(target.id, node.value) for target in node.targets if isinstance(target, ast.Name)]
    return []


@dataclass(frozen=True)
class _Literal:
    """A value, and how many values and characters it takes to write it out."""

    value: Any
    size: int

    def __post_init__(self) -> None:
        if self.size > _MOST_VALUES:
            raise ValueError("a value that is too large")


def _key(node: ast.expr | None) -> str:
    """The text of a key: a constant as it stands there, so that none is longer than what is written."""
    if not isinstance(node, ast.Constant):
        raise ValueError("a key that is no constant")
    return str(node.value)


def _literal(node: ast.expr, known: Mapping[str, _Literal]) -> _Literal:
    if isinstance(node, ast.Constant):
        return _Literal(node.value, len(node.value) if isinstance(node.value, str | bytes) else 1)
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        items = [_literal(each, known) for each in node.elts]
        return _Literal([each.value for each in items], 1 + sum(each.size for each in items))
    if isinstance(node, ast.Dict):
        keys = [_key(key) for key in node.keys]
        items = [_literal(value, known) for value in node.values]
        size = 1 + sum(map(len, keys)) + len(keys) + sum(each.size for each in items)
        return _Literal(dict(zip(keys, (each.value for each in items), strict=True)), size)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _Literal(-_literal(node.operand, known).value, 1)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _literal(node.left, known).value, _literal(node.right, known).value
        if type(left) is not int or type(right) is not int or max(abs(left), abs(right)) > _MOST:
            raise ValueError("not whole numbers")
        if isinstance(node.op, ast.Pow | ast.LShift) and not 0 <= right <= _MOST_SHIFT:
            raise ValueError("a number that is too large")
        return _Literal(_OPERATORS[type(node.op)](left, right), 1)
    raise ValueError(f"{type(node).__name__} is not a literal")
