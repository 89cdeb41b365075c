"""Atomic operations of many lanes on words of memory: those on one word take turns, in the order of lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.emulate.values import PACKED, NotEmulated, halves, joined, narrow, raw, read, wide

Array = NDArray[Any]
_MANY = 64  # lanes on one word, from which a sum is taken at once


def _counted_up(old: Any, most: Any) -> Any:
    return np.where(old >= most, 0, old + 1).astype(old.dtype)


def _counted_down(old: Any, most: Any) -> Any:
    return np.where((old == 0) | (old > most), most, old - 1).astype(old.dtype)


def _exchanged_if_equal(old: Any, expected: Any, new: Any) -> Any:
    return np.where(old == expected, new, old)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "min": np.minimum,
    "max": np.maximum, "exch": lambda old, new: new, "inc": _counted_up, "dec": _counted_down,
    "cas": _exchanged_if_equal,
}  # fmt: skip


def atomic(name: str, type_: str, words: Array, places: NDArray[np.int64], operands: list[Array]) -> Array:
    """Apply an operation to the words at these places, one for each lane; returns what was there before each."""
    function = _FUNCTIONS.get(name)
    if function is None:
        raise NotEmulated(f"the atomic operation {name}")
    if type_ in ("f32", "f64") and name in ("min", "max"):
        function = np.fmin if name == "min" else np.fmax
    operands = [np.broadcast_to(each, places.shape) for each in operands]
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    starts = np.flatnonzero(np.r_[True, sorted_places[1:] != sorted_places[:-1]])
    turn = np.arange(len(places)) - np.repeat(starts, np.diff(np.r_[starts, len(places)]))
    old = np.zeros(len(places), words.dtype)
    if name == "add" and type_ not in PACKED and type_ not in ("f16", "bf16") and turn.max(initial=0) >= _MANY:
        _added(type_, words, sorted_places, starts, turn, operands[0][order], old, order)
        return old
    for number in range(int(turn.max(initial=-1)) + 1):
        lanes = order[turn == number]
        before = words[places[lanes]]
        old[lanes] = before
        words[places[lanes]] = _applied(function, type_, before, [each[lanes] for each in operands])
    return old


def _added(
    type_: str, words: Array, places: NDArray[np.int64], starts: Array, turn: Array, by: Array, old: Array, order: Array
) -> None:
    """Sums of many lanes on one word by running totals."""
    numbers = read(by, type_)
    kind = np.float64 if numbers.dtype.kind == "f" else numbers.dtype
    totals = np.cumsum(numbers, dtype=kind)
    before = np.r_[np.zeros(1, kind), totals[:-1]]
    group = np.cumsum(turn == 0) - 1
    base = read(words[places], type_)
    earlier = (base + (before - before[starts][group])).astype(numbers.dtype)
    old[order] = raw(earlier)
    lasts = np.r_[starts[1:], len(places)] - 1
    words[places[lasts]] = raw((earlier[lasts] + numbers[lasts]).astype(numbers.dtype))


def _applied(function: Callable[..., Array], type_: str, before: Array, operands: list[Array]) -> Any:
    each = PACKED.get(type_)
    if each is not None:
        columns = [halves(part) for part in (before, *operands)]
        low, high = (narrow(function(*(wide(column[side], each) for column in columns)), each) for side in (0, 1))
        return joined(low, high)
    if type_ in ("f16", "bf16"):
        return narrow(function(*(wide(part, type_) for part in (before, *operands))), type_)
    found = function(*(read(part, type_) for part in (before, *operands)))
    return raw(np.asarray(found).astype(read(before, type_).dtype))
