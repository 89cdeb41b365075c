"""Values in the text of a KernelBench program, read without running it: constants, shapes of tensors, layers.

`Model`, `get_inputs` and `get_init_inputs` are read by their syntax trees. What is not understood is `Unknown`, never a
guess.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_POWER = 64  # a larger one could take all memory
MOST_ELEMENTS = 1 << 48  # of a tensor; no machine holds more
MOST_NODES = 20_000  # of a program that is read; the longest published one has a third of that

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_MADE = frozenset({"rand", "randn", "randint", "ones", "zeros", "empty", "full", "tensor"})
_DTYPES = {
    "float": "float32", "float32": "float32", "half": "float16", "float16": "float16", "bfloat16": "bfloat16",
    "double": "float64", "float64": "float64", "long": "int64", "int64": "int64", "int": "int32", "int32": "int32",
    "bool": "uint8", "uint8": "uint8", "int8": "int8",
}  # fmt: skip


class Unknown(Exception):
    """The text says something that is not understood here."""


@dataclass(frozen=True)
class Array:
    """A tensor of which only shape and dtype are known."""

    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def count(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Layer:
    """A module of torch.nn as it is made: its class and arguments."""

    kind: str
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]


Names = dict[str, Any]


def parts_of(source: str) -> tuple[Names, dict[str, ast.FunctionDef], dict[str, ast.FunctionDef]]:
    """Module-level constants, functions, and the methods of `Model`; Unknown where it does not parse or is too long."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unknown("the reference does not parse") from error
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise Unknown("the reference is too long")
    names: Names = {}
    for statement in tree.body:
        assign(statement, names)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    model = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"), None)
    methods = {node.name: node for node in model.body if isinstance(node, ast.FunctionDef)} if model else {}
    return names, functions, methods


def assign(statement: ast.stmt, names: Names, read: Callable[[ast.expr], Any] | None = None) -> None:
    """Let an assignment take effect on the names; what it gives a value that is not understood is forgotten."""
    if isinstance(statement, ast.Assign):
        targets, value = statement.targets, statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets, value = [statement.target], statement.value
    else:
        return
    try:
        found = read(value) if read else value_of(value, names)
    except Unknown:
        found = None
    for target in targets:
        several = isinstance(target, ast.Tuple)
        places = [_place(each) for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
        if found is None or (several and not (isinstance(found, tuple) and len(found) == len(places))):
            for place in places:
                names.pop(place, None)
        else:
            names.update(zip(places, found if several else [found], strict=True))


def _place(target: ast.expr) -> str:
    return ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else ""


def returned(function: ast.FunctionDef, names: Names) -> Any:
    """What a function without branches gives back."""
    own = dict(names)
    for statement in function.body:
        if isinstance(statement, ast.Return) and statement.value is not None:
            return value_of(statement.value, own)
        assign(statement, own)
    raise Unknown(f"{function.name} gives nothing back")


def value_of(node: ast.expr, names: Names) -> Any:
    """The value of an expression over constants, tensors that are made, and layers."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name | ast.Attribute):
        return _named(node, names)
    if isinstance(node, ast.List | ast.Tuple):
        return elements(node.elts, names)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _number(-1, value_of(node.operand, names), ast.Mult())
    if isinstance(node, ast.BinOp):
        return _number(value_of(node.left, names), value_of(node.right, names), node.op)
    if isinstance(node, ast.Subscript):
        try:
            return value_of(node.value, names)[value_of(node.slice, names)]
        except (TypeError, IndexError, KeyError) as error:
            raise Unknown(ast.unparse(node)) from error
    if isinstance(node, ast.Call):
        return _called(node, names)
    raise Unknown(type(node).__name__)


def elements(nodes: Sequence[ast.expr], names: Names) -> tuple[Any, ...]:
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            found += value_of(node.value, names)
        else:
            found.append(value_of(node, names))
    return tuple(found)


def last_name(node: ast.expr) -> str:
    """`relu` of `torch.nn.functional.relu`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _named(node: ast.Name | ast.Attribute, names: Names) -> Any:
    text = ast.unparse(node)
    if text in names:
        return names[text]
    if text == "math.pi":
        return math.pi
    if text.startswith("torch.") and node_dtype(text):
        return node_dtype(text)
    if isinstance(node, ast.Attribute):
        owner = value_of(node.value, names)
        if isinstance(owner, Array) and node.attr == "shape":
            return owner.shape
        if isinstance(owner, Array) and node.attr == "T":
            return Array(owner.shape[::-1], owner.dtype)
    raise Unknown(text)


def node_dtype(text: str) -> str:
    return _DTYPES.get(text.removeprefix("torch."), "")


def _number(left: Any, right: Any, op: ast.operator) -> Any:
    if isinstance(left, Array) or isinstance(right, Array):
        if isinstance(op, ast.MatMult):
            raise Unknown("a product of matrices")
        return broadcast(left, right)
    plain = (int, float, tuple)
    if type(op) not in _OPERATORS or not isinstance(left, plain) or not isinstance(right, plain):
        raise Unknown("an operation on other things than numbers")
    if isinstance(op, ast.Mult) and (isinstance(left, tuple) or isinstance(right, tuple)):
        raise Unknown("a repeated list")
    if isinstance(op, ast.Pow) and not (isinstance(right, int | float) and abs(right) <= MOST_POWER):
        raise Unknown("a large power")
    try:
        return _OPERATORS[type(op)](left, right)
    except (ArithmeticError, TypeError) as error:
        raise Unknown(str(error)) from error


def broadcast(left: Any, right: Any) -> Array:
    """The shape of an elementwise operation on two tensors, or on a tensor and a number."""
    if not isinstance(left, Array) or not isinstance(right, Array):
        return left if isinstance(left, Array) else right
    size = max(len(left.shape), len(right.shape))
    first, second = ((1,) * (size - len(each.shape)) + each.shape for each in (left, right))
    if any(a != b and 1 not in (a, b) for a, b in zip(first, second, strict=True)):
        raise Unknown("shapes that do not go together")
    return Array(tuple(max(a, b) for a, b in zip(first, second, strict=True)), left.dtype)


def _called(node: ast.Call, names: Names) -> Any:
    name, text = last_name(node.func), ast.unparse(node.func)
    named = {each.arg: each.value for each in node.keywords if each.arg}
    if text.startswith(("nn.", "torch.nn.")) and name == "Parameter" and node.args:
        return value_of(node.args[0], names)
    if text.startswith(("nn.", "torch.nn.")) and name[:1].isupper():
        return Layer(name, elements(node.args, names), {key: value_of(each, names) for key, each in named.items()})
    if text in (f"torch.{name}", f"th.{name}") and name in _MADE:
        return _made(name, elements(node.args, names), named, names)
    if text == "math.sqrt" and node.args:
        return _number(value_of(node.args[0], names), 0.5, ast.Pow())
    if isinstance(node.func, ast.Attribute):
        owner = value_of(node.func.value, names)
        if isinstance(owner, Array):
            return Array(owner.shape, _DTYPES[name]) if name in _DTYPES else _same(owner, name)
    raise Unknown(text)


def _same(owner: Array, name: str) -> Array:
    if name in ("cuda", "to", "contiguous", "softmax", "abs", "clone", "detach", "cpu", "requires_grad_"):
        return owner
    raise Unknown(name)


def _made(name: str, values: tuple[Any, ...], named: Mapping[str, ast.expr], names: Names) -> Array:
    usual = "int64" if name == "randint" else "float32"
    dtype = node_dtype(ast.unparse(named["dtype"])) or usual if "dtype" in named else usual
    if name == "randint":
        size = value_of(named["size"], names) if "size" in named else values[-1] if values else ()
    elif name == "full":
        size = values[0] if values else ()
    elif name == "tensor":
        size = (len(values[0]),) if values and isinstance(values[0], tuple) else ()
    else:
        size = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
    if not isinstance(size, tuple) or not all(isinstance(side, int) and side >= 0 for side in size):
        raise Unknown(f"the size of torch.{name}")
    if math.prod(size) > MOST_ELEMENTS:
        raise Unknown("a tensor that fits no machine")
    return Array(size, dtype)
