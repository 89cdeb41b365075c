"""PTX on whole numbers: what each instruction makes of what is known.

A value is an `int` where all lanes agree, an array of the lanes where they do not, and None where it is not known. Of
what was loaded it is known which lanes have the same, and what was added to it since (`Vague`).
Numbers are kept signed, as wide as their type. A function raises TypeError where an unknown value matters.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.languages.dry.instructions import NUMBER, WIDTHS, is_float, results_of
from foretell.kernels.languages.dry.ptx import Instruction

LANES = 32
BUFFER_BITS = 41  # whoever lays out a launch's buffers gives each its own range of addresses of this size
LANE = np.arange(LANES, dtype=np.int64)

Value = Any  # int, NDArray[int64], Vague or None
Function = Callable[..., tuple[Value, ...]]

_COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip
_BITWISE: Mapping[str, Callable[[Any, Any], Any]] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


class Vague:
    """A sum of something unknown, which lanes of a group have in common, and something known."""

    __array_ufunc__ = None  # numpy leaves sums and products with arrays to this class

    def __init__(self, groups: Value, known: Value = 0) -> None:
        self.groups, self.known = groups, known

    def __add__(self, other: Value) -> Vague:
        if isinstance(other, Vague):
            return Vague(_both(self.groups, other.groups), self.known + other.known)
        return Vague(self.groups, self.known + _number(other))

    __radd__ = __add__

    def __sub__(self, other: Value) -> Vague:
        return Vague(self.groups, self.known - _number(other))

    def __mul__(self, other: Value) -> Vague:
        factor = _number(other)
        groups = self.groups if not isinstance(factor, np.ndarray) else _both(self.groups, factor)
        return Vague(groups, self.known * factor)

    __rmul__ = __mul__

    def __lshift__(self, other: Value) -> Vague:
        return self * (1 << int(_number(other)))

    def places(self, step: int) -> NDArray[np.int64]:
        """For each lane a number that is the same for lanes in the same `step` bytes, if groups are far apart."""
        return np.broadcast_to(np.asarray(_both(self.groups, np.asarray(self.known) // step)), LANES)


def _number(value: Value) -> Value:
    """The value, if it is known. Raises TypeError if not."""
    if not isinstance(value, int | np.integer | np.ndarray):
        raise TypeError
    return value


def _both(first: Value, second: Value) -> Value:
    """Numbers of groups of lanes that agree in both; 0 if all do."""
    if not _is_array(first, second):
        return 0
    pairs = np.stack([np.broadcast_to(np.asarray(each), LANES) for each in (first, second)])
    return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(LANES)


def loaded(address: Value) -> Value:
    """What was loaded from an address: lanes that read the same place have the same value."""
    if isinstance(address, Vague):
        return Vague(address.places(1))
    return None if address is None else Vague(_both(address, 0))


def constant(name: str) -> Value:
    """The value of a number, or of a name that stands for an address; registers start unknown."""
    if NUMBER.match(name):
        return int(name.rstrip("U"), 0)
    if name == "WARP_SZ":
        return LANES
    return 0 if name[:1].isalpha() or name[:1] in "_$" else None


def meaning(one: Instruction) -> Function:
    """The instruction as a function of its sources; what has no meaning here gives what is not known."""
    count = len(results_of(one))
    maker = None if is_float(one.parts) else _MAKERS.get(one.parts[0])
    return maker(_Typed.of(one), one) if maker is not None else lambda *_: (None,) * count


@dataclass(frozen=True)
class _Typed:
    """The type that an instruction works on: its letter (`u`, `s`, `b`, or `p` for predicates) and bits."""

    letter: str
    bits: int

    @classmethod
    def of(cls, one: Instruction) -> _Typed:
        types = _types(one.parts)
        return types[-1] if types else cls("p", 1) if "pred" in one.parts else cls("b", 32)

    def fixed(self, value: Value) -> Value:
        """The value as wide as the type."""
        return value if self.letter == "p" else _signed(value, self.bits)

    def read(self, value: Value) -> Value:
        """The number that the register's bits stand for."""
        if value is None:
            raise TypeError
        return _unsigned(value, self.bits) if self.letter == "u" else value


def _types(parts: Sequence[str]) -> list[_Typed]:
    return [_Typed(part[0], int(part[1:])) for part in parts if part[:1] in "usb" and part[1:] in WIDTHS]


def _signed(value: Value, bits: int) -> Value:
    if isinstance(value, Vague) or (bits >= 64 and isinstance(value, np.ndarray)):
        return value
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def _unsigned(value: Value, bits: int) -> Value:
    return value if bits >= 64 or isinstance(value, Vague) else value & ((1 << bits) - 1)


def _is_array(*values: Value) -> bool:
    return any(isinstance(value, np.ndarray) for value in values)


def _divided(a: Value, b: Value) -> Value:
    """Division towards zero."""
    if _is_array(a, b):
        b = np.where(np.asarray(b) == 0, 1, b)
        return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _is_vague(value: Value) -> bool:
    return value is None or isinstance(value, Vague)


def _chosen(a: Value, b: Value, which: Value) -> Value:
    if _is_vague(which):
        return a
    if not _is_array(which):
        return a if which else b
    return None if _is_vague(a) or _is_vague(b) else np.where(which, a, b)


def _move(typed: _Typed, one: Instruction) -> Function:
    if one.operands[0].startswith("{"):
        count = len(results_of(one))
        bits = typed.bits // count
        return lambda a: tuple(_signed(a >> (bits * i), bits) for i in range(count))
    if one.operands[1].startswith("{"):
        return lambda *a: (typed.fixed(_joined(a, typed.bits // len(a))),)
    return lambda a, *_: (a,)


def _joined(parts: Sequence[Value], bits: int) -> Value:
    return sum(_unsigned(value, bits) << (bits * i) for i, value in enumerate(parts))


def _convert(_: _Typed, one: Instruction) -> Function:
    to, *rest = _types(one.parts) or [_Typed("s", 32)]
    source = rest[-1] if rest else to
    return lambda a: (_signed(source.read(_signed(a, source.bits)), to.bits),)


def _compare(typed: _Typed, one: Instruction) -> Function:
    compare, count = _COMPARED[one.parts[1]], len(results_of(one))
    join = _BITWISE.get(one.parts[2]) if len(one.parts) > 3 else None

    def compared(a: Value, b: Value, c: Value = None) -> tuple[Value, ...]:
        if _is_vague(a) or _is_vague(b):
            raise TypeError
        found = compare(typed.read(a), typed.read(b))
        if join is not None and c is not None:
            found = join(found, c)
        return (found, np.logical_not(found))[:count]

    return compared


def _product(typed: _Typed, one: Instruction) -> Function:
    if "wide" in one.parts:
        return lambda a, b, c=0: (_signed(typed.read(a) * typed.read(b) + c, 64),)
    if "hi" in one.parts:
        if typed.bits > 32:
            return lambda *_: (None,)
        return lambda a, b, c=0: (typed.fixed((typed.read(a) * typed.read(b) >> typed.bits) + c),)
    return lambda a, b, c=0: (typed.fixed(a * b + c),)


def _extreme(typed: _Typed, one: Instruction) -> Function:
    least = one.parts[0] == "min"

    def found(a: Value, b: Value) -> tuple[Value, ...]:
        a, b = typed.read(a), typed.read(b)
        if _is_array(a, b):
            return (typed.fixed(np.minimum(a, b) if least else np.maximum(a, b)),)
        return (typed.fixed(min(a, b) if least else max(a, b)),)

    return found


def _insert(typed: _Typed, one: Instruction) -> Function:
    def inserted(a: Value, b: Value, start: Value, count: Value) -> tuple[Value, ...]:
        field = ((1 << (count & 255)) - 1) << (start & 255)
        put = (_unsigned(a, typed.bits) << (start & 255)) & field
        return (typed.fixed((_unsigned(b, typed.bits) & ~field) | put),)

    return inserted


def _permute(typed: _Typed, one: Instruction) -> Function:
    def permuted(a: Value, b: Value, order: Value) -> tuple[Value, ...]:
        both = _joined((a, b), 32)
        return (typed.fixed(_joined([both >> (8 * (order >> (4 * i) & 7)) for i in range(4)], 8)),)

    return permuted


def _logic_of_three(typed: _Typed, one: Instruction) -> Function:
    def found(a: Value, b: Value, c: Value, table: Value) -> tuple[Value, ...]:
        value = 0
        for i in range(8):
            if table >> i & 1:
                value = value | ((a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c))
        return (typed.fixed(value),)

    return found


def _shuffle(_: _Typed, one: Instruction) -> Function:
    """The value of another lane where one lane is named for all; the lane's own, as good as any, where not."""
    count = len(results_of(one))

    def moved(a: Value, lane: Value, *_: Value) -> tuple[Value, ...]:
        if "idx" in one.parts and _is_array(a) and lane is not None:
            a = a[np.broadcast_to(lane, LANES) % LANES] if _is_array(lane) else int(a[lane % LANES])
        return (a, True)[:count]

    return moved


def _waited(_: _Typed, one: Instruction) -> Function:
    """Who asks whether something has arrived is answered once it has: waiting is not followed."""
    count = len(results_of(one))
    known = True if {"try_wait", "test_wait"} & set(one.parts) else None
    return lambda *_: (known,) * count


_MAKERS: Mapping[str, Callable[[_Typed, Instruction], Function]] = {
    "mov": _move,
    "cvta": _move,
    "cvt": _convert,
    "setp": _compare,
    "selp": lambda typed, one: lambda a, b, which: (_chosen(a, b, which),),
    "add": lambda typed, one: lambda a, b: (typed.fixed(a + b),),
    "sub": lambda typed, one: lambda a, b: (typed.fixed(a - b),),
    "mul": _product,
    "mad": _product,
    "div": lambda typed, one: lambda a, b: (typed.fixed(_divided(typed.read(a), typed.read(b))),),
    "rem": lambda typed, one: (
        lambda a, b: (typed.fixed(typed.read(a) - _divided(typed.read(a), typed.read(b)) * typed.read(b)),)
    ),
    "and": lambda typed, one: lambda a, b: (a & b,),
    "or": lambda typed, one: lambda a, b: (a | b,),
    "xor": lambda typed, one: lambda a, b: (a ^ b,),
    "not": lambda typed, one: lambda a: (np.logical_not(a) if typed.letter == "p" else ~a,),
    "neg": lambda typed, one: lambda a: (typed.fixed(-a),),
    "abs": lambda typed, one: lambda a: (typed.fixed(abs(a)),),
    "min": _extreme,
    "max": _extreme,
    "shl": lambda typed, one: lambda a, b: (typed.fixed(_unsigned(a, typed.bits) << (b & 63)),),
    "shr": lambda typed, one: (
        lambda a, b: (typed.fixed((a if typed.letter == "s" else _unsigned(a, typed.bits)) >> (b & 63)),)
    ),
    "bfe": lambda typed, one: (
        lambda a, b, c: (typed.fixed((_unsigned(a, typed.bits) >> (b & 255)) & ((1 << (c & 255)) - 1)),)
    ),
    "bfi": _insert,
    "prmt": _permute,
    "lop3": _logic_of_three,
    "shfl": _shuffle,
    "mbarrier": _waited,
    "elect": lambda typed, one: lambda *_: (0, LANE == 0)[-len(results_of(one)) :],
}
