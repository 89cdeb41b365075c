"""The work of a KernelBench program, read off its text: tensors that go in and come out, and operations.

Shapes are followed through `Model.forward` as far as it is plain: products, convolutions, pooling, elementwise
operations, reductions. Past what is not understood nothing is counted, so the figures are what it does at least.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from foretell.kernels.evaluate.reference_text import (
    Array,
    Layer,
    Names,
    Unknown,
    assign,
    broadcast,
    elements,
    last_name,
    parts_of,
    returned,
    value_of,
)

BYTES_PER_OPERATION = 4.0  # where operations are not understood: one for each float32 that is moved
_SEVERAL = 5  # operations an element where it takes a mean, a deviation or an exponential sum
# Names are compared in small letters and without underscores.
_SAME = frozenset({
    "relu", "relu6", "leakyrelu", "gelu", "silu", "selu", "elu", "celu", "mish", "softplus", "softsign", "hardswish",
    "hardsigmoid", "hardtanh", "hardshrink", "softshrink", "sigmoid", "logsigmoid", "tanh", "abs", "exp", "log", "sqrt",
    "rsqrt", "pow", "sign", "neg", "clamp", "dropout", "identity", "cumsum", "cumprod", "flip", "square", "erf",
    "sin", "cos", "add", "sub", "mul", "div", "maximum", "minimum", "where", "maskedfill", "contiguous", "clone",
    "detach", "float", "to", "tril", "triu",
})  # fmt: skip
_COSTLY = frozenset({
    "softmax", "softmin", "logsoftmax", "normalize", "layernorm", "groupnorm",
    "batchnorm1d", "batchnorm2d", "batchnorm3d", "instancenorm1d", "instancenorm2d", "instancenorm3d",
})  # fmt: skip
_REDUCED = frozenset({"sum", "mean", "max", "min", "amax", "amin", "prod", "logsumexp", "argmax", "argmin", "norm"})
_PAIRS = frozenset({"max", "min"})  # with a dimension they give indices as well
_LOSSES = frozenset({"crossentropy", "smoothl1loss", "mseloss", "kldiv", "tripletmarginloss", "l1loss"})
_CONVOLUTION = ("in_channels", "out_channels", "kernel_size", "stride", "padding")
_NOT_UNDERSTOOD = (Unknown, ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
_SIGNATURES = {
    "Linear": ("in_features", "out_features", "bias"),
    "Conv": (*_CONVOLUTION, "dilation", "groups", "bias"),
    "ConvTranspose": (*_CONVOLUTION, "output_padding", "groups", "bias", "dilation"),
    "MaxPool": ("kernel_size", "stride", "padding", "dilation"),
    "AvgPool": ("kernel_size", "stride", "padding"),
}


@dataclass(frozen=True)
class Work:
    """Tensors that are read (weights too) and written, and operations; no output where its shape is not known."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    flops: float


@lru_cache(maxsize=1024)
def work_of(source: str) -> Work | None:
    """The work of a program with `get_inputs` and `Model`; None where not even its inputs can be read."""
    try:
        names, functions, methods = parts_of(source)
        given = returned(functions["get_inputs"], names)
    except _NOT_UNDERSTOOD:
        return None
    inputs = [each for each in given if isinstance(each, Array)] if isinstance(given, tuple) else []
    if not inputs:
        return None
    reader = _Forward()
    try:
        output = reader.run(names, functions, methods, given)
    except _NOT_UNDERSTOOD:
        output = None
    outputs = (output,) if isinstance(output, Array) else ()
    read = (*inputs, *reader.weights)
    return Work(read, outputs, reader.flops)


class _Forward:
    """Follows shapes through a model and counts; each weight counts once, however often it is used."""

    def __init__(self) -> None:
        self.flops = 0.0
        self._weights: dict[str, Array] = {}

    @property
    def weights(self) -> tuple[Array, ...]:
        return tuple(self._weights.values())

    def run(
        self, names: Names, functions: Mapping[str, ast.FunctionDef], methods: Mapping[str, ast.FunctionDef], given: Any
    ) -> Any:
        """What `forward` gives back for these inputs."""
        made: Any = returned(functions["get_init_inputs"], names) if "get_init_inputs" in functions else ()
        own = dict(names)
        if "__init__" in methods:
            inside = names | _bound(methods["__init__"], made if isinstance(made, tuple) else (), names)
            for statement in methods["__init__"].body:
                assign(statement, inside)
            own |= {name: value for name, value in inside.items() if name.startswith("self.")}
        forward = methods["forward"]
        own |= _bound(forward, given, names)
        for statement in forward.body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                return self._value(statement.value, own)
            if isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try):
                raise Unknown("a branch")
            assign(statement, own, lambda node: self._value(node, own))
        return None

    def _value(self, node: ast.expr, names: Names) -> Any:
        if isinstance(node, ast.Call):
            return self._called(node, names)
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, names), self._value(node.right, names)
            if isinstance(node.op, ast.MatMult):
                return self._product(left, right)
            if isinstance(left, Array) or isinstance(right, Array):
                return self._counted(broadcast(left, right))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
            found = self._value(node.value, names)
            place = value_of(node.slice, names)
            if isinstance(found, tuple) and isinstance(place, int) and place < len(found):
                return found[place]
            raise Unknown(ast.unparse(node))
        found = value_of(node, names)
        text = ast.unparse(node)
        if isinstance(found, Array) and text.startswith("self."):
            self._weights[text] = found
        return found

    def _called(self, node: ast.Call, names: Names) -> Any:
        text, name = ast.unparse(node.func), _plain(last_name(node.func))
        if text.startswith("math.") or text == "torch.tensor":
            return value_of(node, names)
        if isinstance(names.get(text), Layer):
            return self._layer(names[text], self._value(node.args[0], names), text)
        named = {each.arg: each.value for each in node.keywords if each.arg}
        is_function = text.startswith(("torch.", "F.", "th.")) and "(" not in text
        if not is_function and isinstance(node.func, ast.Attribute):
            first, rest = self._value(node.func.value, names), node.args
        elif is_function and node.args:
            first, rest = self._value(node.args[0], names), node.args[1:]
        else:
            raise Unknown(text)
        if not isinstance(first, Array):
            raise Unknown(text)
        if name in ("matmul", "mm", "bmm") and rest:
            return self._product(first, self._value(rest[0], names))
        if name in _REDUCED:
            return self._reduced(name, first, rest, named, names)
        if name in _LOSSES:
            self._counted(first, _SEVERAL)
            return Array((), first.dtype)
        if name in _SAME or name in _COSTLY:
            others = [self._value(each, names) for each in rest]
            for other in (each for each in others if isinstance(each, Array)):
                first = broadcast(first, other)
            return self._counted(first, _SEVERAL if name in _COSTLY else 1)
        return _moved(name, first, elements(rest, names), named)

    def _counted(self, array: Array, each: int = 1) -> Array:
        self.flops += float(each) * array.count
        return array

    def _product(self, left: Any, right: Any) -> Array:
        if not isinstance(left, Array) or not isinstance(right, Array) or min(len(left.shape), len(right.shape)) < 2:
            raise Unknown("a product of other things than matrices")
        if left.shape[-1] != right.shape[-2]:
            raise Unknown("matrices that do not go together")
        batch = broadcast(Array(left.shape[:-2]), Array(right.shape[:-2])).shape
        found = Array((*batch, left.shape[-2], right.shape[-1]), left.dtype)
        self.flops += 2.0 * found.count * left.shape[-1]
        return found

    def _reduced(
        self, name: str, array: Array, rest: list[ast.expr], named: Mapping[str, ast.expr], names: Names
    ) -> Any:
        self._counted(array, _SEVERAL if name == "logsumexp" else 1)
        skipped = 1 if name == "norm" else 0  # its first argument is the order
        place = named.get("dim") or (rest[skipped] if len(rest) > skipped else None)
        if place is None:
            return Array((), array.dtype)
        told = value_of(place, names)
        if isinstance(told, Array):
            return broadcast(array, told)  # the larger or smaller of two
        dims = {dim % len(array.shape) for dim in (told if isinstance(told, tuple) else (told,))}
        keeps = "keepdim" in named and bool(value_of(named["keepdim"], names))
        shape = tuple(1 if i in dims else side for i, side in enumerate(array.shape) if keeps or i not in dims)
        found = Array(shape, "int64" if name.startswith("arg") else array.dtype)
        return (found, Array(shape, "int64")) if name in _PAIRS else found

    def _layer(self, layer: Any, array: Any, text: str) -> Array:
        if not isinstance(layer, Layer) or not isinstance(array, Array):
            raise Unknown(text)
        if layer.kind == "Sequential":
            through = array
            for number, each in enumerate(layer.arguments):
                through = self._layer(each, through, f"{text}.{number}")
            return through
        kind, spatial = layer.kind.rstrip("123d"), layer.kind[-2:-1]
        told = dict(zip(_SIGNATURES.get(kind, ()), layer.arguments, strict=False)) | dict(layer.named)
        if kind == "Linear":
            wide, out = told["in_features"], told["out_features"]
            self._weights[text] = Array((out, wide), array.dtype)
            self.flops += 2.0 * array.count * out
            return Array((*array.shape[:-1], out), array.dtype)
        if kind in _SIGNATURES and spatial.isdigit():
            return self._windows(kind, told, array, int(spatial), text)
        name = _plain(layer.kind)
        if name in _SAME or name in _COSTLY:
            return self._counted(array, _SEVERAL if name in _COSTLY else 1)
        raise Unknown(layer.kind)

    def _windows(self, kind: str, told: Mapping[str, Any], array: Array, spatial: int, text: str) -> Array:
        """A convolution, its transpose, or pooling."""

        def sides(name: str, usual: Any) -> tuple[int, ...]:
            value = told.get(name)
            value = usual if value is None else value
            found = value if isinstance(value, tuple) else (value,) * spatial
            if len(found) != spatial or not all(isinstance(side, int) for side in found):
                raise Unknown(f"{name} of {kind}")
            return found

        taps, pad, gaps = sides("kernel_size", None), sides("padding", 0), sides("dilation", 1)
        steps = sides("stride", taps if kind.endswith("Pool") else 1)
        places = array.shape[-spatial:]
        reach = [d * (k - 1) + 1 for d, k in zip(gaps, taps, strict=True)]
        if kind == "ConvTranspose":
            more = sides("output_padding", 0)
            zipped = zip(places, steps, pad, reach, more, strict=True)
            after = tuple((n - 1) * s - 2 * p + r + m for n, s, p, r, m in zipped)
        else:
            after = tuple((n + 2 * p - r) // s + 1 for n, s, p, r in zip(places, steps, pad, reach, strict=True))
        if min(after) < 1 or len(array.shape) < spatial + 1:
            raise Unknown(f"the shape after {kind}")
        if kind.endswith("Pool"):
            found = Array((*array.shape[:-spatial], *after), array.dtype)
            self.flops += float(found.count) * math.prod(taps)
            return found
        wide, out, groups = told["in_channels"], told["out_channels"], told.get("groups", 1)
        found = Array((*array.shape[: -spatial - 1], out, *after), array.dtype)
        self._weights[text] = Array((out * wide // groups, *taps), array.dtype)
        each = (wide if kind == "Conv" else out) // groups * math.prod(taps)
        self.flops += 2.0 * each * (found.count if kind == "Conv" else array.count)
        return found


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def _bound(function: ast.FunctionDef, given: Any, names: Names) -> Names:
    """A function's parameters with what is given for them, and usual values for the others."""
    parameters = [each.arg for each in function.args.args][1:]
    found: Names = {}
    for name, node in zip(reversed(parameters), reversed(function.args.defaults), strict=False):
        found[name] = value_of(node, names)
    return found | dict(zip(parameters, given, strict=False))


def _moved(name: str, array: Array, rest: tuple[Any, ...], named: Mapping[str, ast.expr]) -> Any:
    """Operations that only move or rename sides."""
    shape, size = list(array.shape), len(array.shape)
    whole = all(isinstance(each, int) for each in rest) and not named
    if name == "size":
        return array.shape[rest[0]] if rest and whole else array.shape
    if name in ("t", "transpose") and whole and size >= 2:
        first, second = rest if len(rest) == 2 else (0, 1)
        shape[first], shape[second] = shape[second], shape[first]
    elif name == "unsqueeze" and whole and len(rest) == 1:
        shape.insert(rest[0] % (size + 1), 1)
    elif name == "squeeze" and whole and len(rest) == 1:
        shape = [side for i, side in enumerate(shape) if i != rest[0] % size or side != 1]
    elif name == "flatten" and whole:
        start = rest[0] if rest else 0
        shape = [*shape[:start], math.prod(shape[start:])]
    elif name in ("view", "reshape") and whole and rest.count(-1) <= 1:
        known = math.prod(side for side in rest if side != -1)
        shape = [array.count // max(1, known) if side == -1 else side for side in rest]
        if math.prod(shape) != array.count:
            raise Unknown("a view of another size")
    else:
        raise Unknown(name)
    return Array(tuple(shape), array.dtype)
