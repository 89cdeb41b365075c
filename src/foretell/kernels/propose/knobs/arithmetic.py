"""Integer expressions of C and C++ in terms of named constants, as far as they can be worked out from the text."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import lru_cache

from foretell.kernels.tune.encode import Value

_CASTS = re.compile(r"\(\s*(?:int|unsigned|unsigned int|size_t|int64_t|uint32_t|long)\s*\)|static_cast<[^<>]*>")
_SIZES = {"float": 4, "int": 4, "unsigned": 4, "half": 2, "__half": 2, "__nv_bfloat16": 2, "bfloat16": 2, "double": 8,
          "float2": 8, "float4": 16, "int4": 16, "uint4": 16, "half2": 4, "__half2": 4, "char": 1, "int8_t": 1,
          "uint8_t": 1, "scalar_t": 2, "T": 2}  # fmt: skip
_SIZEOF = re.compile(r"sizeof\s*\(\s*([\w:]+)[^)]*\)")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_MOST_CHARACTERS = 200
_DEPTH = 8
_LARGEST = 1 << 128
_OPERATIONS: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%",
                                         ast.LShift: "<<", ast.RShift: ">>"}  # fmt: skip


def bytes_of(type_name: str) -> int:
    """Bytes of a type; the least that it may be if it is not known."""
    return _SIZES.get(type_name.rpartition("::")[2], 1)


def evaluate(expression: str, definitions: Mapping[str, str], setting: Mapping[str, Value]) -> int | None:
    """The value of an expression with the knobs of `setting` and the texts of other constants; None if unknown."""
    return _Evaluation(definitions, setting).value(expression, _DEPTH)


@lru_cache(maxsize=1024)  # every setting asks for the same ones
def _parsed(expression: str) -> ast.expr | None:
    """The expression as a tree; None if it is not simple arithmetic."""
    if len(expression) > _MOST_CHARACTERS:
        return None
    plain = _CASTS.sub("", expression)
    plain = _SIZEOF.sub(lambda match: str(bytes_of(match[1])), plain)
    plain = _SUFFIX.sub(r"\1", plain).strip()
    try:
        return ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Evaluation:
    """One evaluation with a setting; each constant is worked out once, however often it is named."""

    def __init__(self, definitions: Mapping[str, str], setting: Mapping[str, Value]) -> None:
        self._definitions = definitions
        self._setting = setting
        self._known: dict[str, int | None] = {}

    def value(self, expression: str, depth: int) -> int | None:
        tree = _parsed(expression) if depth else None
        return None if tree is None else self._tree(tree, depth)

    def _tree(self, node: ast.expr, depth: int) -> int | None:
        match node:
            case ast.Constant(value=int(number)):
                return int(number)
            case ast.Name(id=name) if name in self._setting:
                value = self._setting[name]
                return int(value) if isinstance(value, int) else None
            case ast.Name(id=name) if name in self._definitions:
                if name not in self._known:
                    self._known[name] = None  # also for one that is defined by itself
                    self._known[name] = self.value(self._definitions[name], depth - 1)
                return self._known[name]
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._tree(left, depth), self._tree(right, depth)
                found = None if a is None or b is None else _apply(_OPERATIONS.get(type(op), ""), a, b)
                return None if found is None or abs(found) > _LARGEST else found
            case _:
                return None


def _apply(operation: str, a: int, b: int) -> int | None:
    if (operation in ("/", "%") and b == 0) or (operation in ("<<", ">>") and not 0 <= b < 64):
        return None
    match operation:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a // b
        case "%":
            return a % b
        case "<<":
            return a << b
        case ">>":
            return a >> b
    return None
