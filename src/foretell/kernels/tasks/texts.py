"""Reading the files of a source without executing them: bounded, as UTF-8, and what a Python text defines."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.received import NotPlain, read_plain

MOST_BYTES = 4 << 20
_MOST, _MOST_SHIFT = 1 << 62, 62  # of whole numbers in arithmetic
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
        return read_plain(path, MOST_BYTES).decode("utf-8")
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
    """The syntax tree of a Python text. Raises BadTask if it is not valid Python."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(source)
    except SyntaxError as error:
        what = f"{name} is not valid Python: {error.msg} (line {error.lineno})"
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
    """What a module assigns to names at its top level, as far as it is literals and whole-number arithmetic."""
    found: dict[str, Any] = {}
    for node in tree.body:
        for name, value in assigned(node):
            try:
                found[name] = _literal(value, found)
            except (ValueError, TypeError, ArithmeticError, KeyError, RecursionError):
                found.pop(name, None)
    return found


def assigned(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    """The names and values of an assignment to plain names; nothing for other statements."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [(node.target.id, node.value)]
    if isinstance(node, ast.Assign):
        return [(target.id, node.value) for target in node.targets if isinstance(target, ast.Name)]
    return []


def _literal(node: ast.expr, known: dict[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(each, known) for each in node.elts]
    if isinstance(node, ast.Dict):
        keys = [None if key is None else _literal(key, known) for key in node.keys]
        return {str(key): _literal(value, known) for key, value in zip(keys, node.values, strict=True)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand, known)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _literal(node.left, known), _literal(node.right, known)
        if type(left) is not int or type(right) is not int or max(abs(left), abs(right)) > _MOST:
            raise ValueError("not whole numbers")
        if isinstance(node.op, ast.Pow | ast.LShift) and not 0 <= right <= _MOST_SHIFT:
            raise ValueError("a number that is too large")
        return _OPERATORS[type(node.op)](left, right)
    raise ValueError(f"{type(node).__name__} is not a literal")
