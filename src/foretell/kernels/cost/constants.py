"""Tensors of a Program that are made from constants alone, computed with numpy: masks, positions, tables.

They tell which part of a result can never matter, such as the keys after a query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.program import DTYPE_BYTES, LibraryCall, Literal, View

MOST_ELEMENTS = 1 << 24  # of one tensor
MOST_IN_ALL = 1 << 28  # of all that is computed: a Program may come from a stranger
Array = NDArray[Any]

_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "__and__": np.bitwise_and, "__or__": np.bitwise_or, "maximum": np.maximum,
    "minimum": np.minimum, "pow": np.power, "floor_divide": np.floor_divide, "remainder": np.remainder,
}  # fmt: skip
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    "bitwise_not": np.invert, "logical_not": np.logical_not, "neg": np.negative, "abs": np.abs, "exp": np.exp,
    "exp2": np.exp2, "clone": np.array, "_to_copy": np.array,
}  # fmt: skip
_NUMPY = {"bfloat16": "float32"}  # what stands for dtypes that numpy has not


class Constants:
    """Values of buffers, as far as they follow from constants. `see` is called for every step in order."""

    def __init__(self) -> None:
        self._buffers: dict[int, Array] = {}
        self._left = MOST_IN_ALL

    def of(self, value: Any) -> Array | None:
        """The values of a view, a literal or a number; None if they are not known."""
        if isinstance(value, bool | int | float):
            return np.asarray(value)
        if isinstance(value, Literal):
            if value.dtype in _NUMPY or value.dtype not in _PLAIN:
                return None
            return np.frombuffer(value.data, dtype=value.dtype).reshape(value.shape)
        if not isinstance(value, View) or value.buffer not in self._buffers:
            return None
        flat = self._buffers[value.buffer]
        size = DTYPE_BYTES[value.dtype]
        if _dtype(value.dtype) != flat.dtype or value.offset_bytes % size:
            return None
        start = value.offset_bytes // size
        if value.count > MOST_IN_ALL or not _is_within(value, len(flat) - start):
            return None  # the buffer may be larger than what was computed into it
        strides = tuple(stride * flat.itemsize for stride in value.strides)
        return np.lib.stride_tricks.as_strided(flat[start:], value.shape, strides, writeable=False)

    def see(self, call: LibraryCall) -> None:
        """Compute the call's result if all it depends on is known; forget what it writes otherwise."""
        made = self._result(call) if len(call.results) == 1 and not call.mutated else None
        view = call.results[0] if call.results else None
        for each in (*call.results, *call.mutated):
            if each is not None:
                self._buffers.pop(each.buffer, None)
        if made is None or view is None or view.offset_bytes or not _is_dense(view):
            return
        flat = np.empty(view.count, dtype=_dtype(view.dtype))
        strides = tuple(stride * flat.itemsize for stride in view.strides)
        try:
            np.lib.stride_tricks.as_strided(flat, view.shape, strides)[...] = made
        except (TypeError, ValueError, OverflowError):
            return  # of another shape, or no numbers
        self._buffers[view.buffer] = flat

    def forget(self, buffers: set[int]) -> None:
        for buffer in buffers:
            self._buffers.pop(buffer, None)

    def _result(self, call: LibraryCall) -> Array | None:
        view = call.results[0]
        if view is None or view.count > min(MOST_ELEMENTS, self._left) or view.dtype not in _PLAIN:
            return None
        self._left -= view.count
        name, arguments = call.name, call.arguments
        try:
            with np.errstate(all="ignore"):
                return self._made(name, arguments, dict(call.keywords), view)
        except (TypeError, ValueError, IndexError, ArithmeticError):
            return None

    def _made(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], view: View) -> Array | None:
        if name in ("ones", "ones_like", "new_ones"):
            return np.ones(view.shape)
        if name in ("zeros", "zeros_like", "new_zeros"):
            return np.zeros(view.shape)
        if name in ("full", "full_like", "new_full"):
            value = arguments[2] if name == "new_full" else arguments[1]
            return np.full(view.shape, value)
        if name == "scalar_tensor":
            return np.full((), arguments[0])
        if name == "arange":
            numbers = [value for value in arguments if isinstance(value, int | float)]
            start, step = (0, 1) if len(numbers) < 2 else (numbers[0], numbers[2] if len(numbers) > 2 else 1)
            return start + step * np.arange(view.count)
        known = [self.of(value) for value in arguments]
        if name in ("tril", "triu") and known[0] is not None:
            diagonal = int(arguments[1]) if len(arguments) > 1 else 0
            return (np.tril if name == "tril" else np.triu)(known[0], diagonal)
        if name in _UNARY and known and known[0] is not None:
            return np.asarray(_UNARY[name](known[0]))
        if name in _BINARY and len(known) >= 2 and known[0] is not None and known[1] is not None:
            right = known[1] * keywords.get("alpha", 1) if name in ("add", "sub") else known[1]
            return np.asarray(_BINARY[name](known[0], right))
        if name in ("where", "masked_fill") and len(known) == 3:
            mask, chosen, other = (known[1], known[2], known[0]) if name == "masked_fill" else known
            if mask is not None and chosen is not None and other is not None:
                return np.where(mask.astype(bool), chosen, other)
        return None


_PLAIN = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"})


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(_NUMPY.get(name, name))


def _is_within(view: View, count: int) -> bool:
    """Whether a view from the first of so many elements stays among them."""
    if min(view.strides, default=0) < 0 or 0 in view.shape:
        return False
    return sum((side - 1) * stride for side, stride in zip(view.shape, view.strides, strict=True)) < count


def _is_dense(view: View) -> bool:
    """Whether the view covers a contiguous range of elements once each, in whatever order."""
    expected = 1
    for stride, side in sorted(zip(view.strides, view.shape, strict=True)):
        if side != 1:
            if stride != expected:
                return False
            expected *= side
    return True
