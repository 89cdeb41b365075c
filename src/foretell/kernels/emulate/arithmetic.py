"""What PTX instructions on registers compute, one function per instruction over all lanes.

`operation_of` gives the types in which operands are read, and a function from numbers to results; what a result's bits
are is `values.raw`'s business. The meaning of each is that of the PTX ISA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from foretell.kernels.emulate.conversions import conversion
from foretell.kernels.emulate.values import (
    PACKED,
    SIGNED,
    UNSIGNED,
    NotEmulated,
    Value,
    assembled,
    bytes_of,
    either,
    halves,
    is_float,
    is_type,
    joined,
    narrow,
    ones,
    pieces,
    raw,
    wide,
)
from foretell.kernels.languages.dry.ptx import Instruction


@dataclass(frozen=True)
class Operation:
    """`sources` are the types of the operands after the results; `function` returns one value for each result."""

    sources: tuple[str, ...]
    function: Callable[..., tuple[Value, ...]]


def operation_of(one: Instruction) -> Operation:
    """The operation of an instruction on registers. Raises NotEmulated if it is not known."""
    root = one.parts[0]
    if root == "cvt":
        return Operation(*conversion(one))
    maker = _MAKERS.get(root)
    if maker is None:
        raise NotEmulated(f"the instruction {one.op}")
    return maker(one, type_of(one))


def type_of(one: Instruction) -> str:
    """The last type that an instruction names."""
    found = [part for part in one.parts[1:] if is_type(part)]
    return found[-1] if found else "b32"


# Floating point


def _float_operation(function: Callable[..., Value], count: int) -> Callable[[Instruction, str], Operation]:
    def make(one: Instruction, type_: str) -> Operation:
        return Operation((type_,) * count, _on_floats(_modified(function, one), type_))

    return make


def _modified(function: Callable[..., Value], one: Instruction) -> Callable[..., Value]:
    """The function with `.sat` or `.relu` after it."""
    if "sat" in one.parts:
        return lambda *numbers: np.nan_to_num(np.clip(function(*numbers), 0.0, 1.0), nan=0.0)
    if "relu" in one.parts:
        return lambda *numbers: np.maximum(function(*numbers), 0)
    return function


def _on_floats(function: Callable[..., Value], type_: str) -> Callable[..., tuple[Value, ...]]:
    """A function of floats as one of a type's numbers: float32 and float64 natively, halves by float64."""
    each = PACKED.get(type_)
    if each is not None:

        def packed(*sources: Value) -> tuple[Value, ...]:
            parts = zip(*map(halves, sources), strict=True)
            low, high = (narrow(function(*(wide(bits, each) for bits in part)), each) for part in parts)
            return (joined(low, high),)

        return packed
    if type_ in ("f16", "bf16"):
        return lambda *sources: (narrow(function(*(wide(bits, type_) for bits in sources)), type_),)
    kind = {"f32": np.float32, "f64": np.float64}[type_]
    return lambda *numbers: (np.asarray(function(*numbers)).astype(kind, copy=False),)


def _fused(a: Value, b: Value, c: Value) -> Value:
    """a · b + c: of float32 exactly but for a rare double rounding, of float64 rounded twice."""
    if a.dtype.itemsize == 4:
        return (a.astype(np.float64) * b + c).astype(np.float32)
    return a * b + c


def _extreme(one: Instruction, type_: str) -> Operation:
    least, keeps_nan = one.parts[0] == "min", "NaN" in one.parts
    choose: Callable[..., Value] = {
        (True, False): np.fmin, (False, False): np.fmax, (True, True): np.minimum, (False, True): np.maximum,
    }[least, keeps_nan]  # fmt: skip
    if is_float(type_):
        count = len(one.operands) - 1
        fold = choose if count == 2 else lambda a, b, c: choose(choose(a, b), c)
        return Operation((type_,) * count, _on_floats(_modified(fold, one), type_))
    function = np.minimum if least else np.maximum
    return Operation((type_, type_), lambda a, b: (function(a, b),))


def _reciprocal_root(x: Value) -> Value:
    return 1.0 / np.sqrt(x.astype(np.float64))


def _divided(one: Instruction, type_: str) -> Operation:
    if is_float(type_):
        return Operation((type_, type_), _on_floats(np.divide, type_))
    return Operation((type_, type_), lambda a, b: (_quotient(a, b),))


def _quotient(a: Value, b: Value) -> Value:
    """Towards zero; all ones for a division by zero, as NVIDIA GPUs have it."""
    zero = b == 0
    safe = either(zero, b.dtype.type(1), b)
    floor = a // safe
    if a.dtype.kind == "i":
        floor = floor + ((floor < 0) & (floor * safe != a)).astype(a.dtype)
    return either(zero, a.dtype.type(-1) if a.dtype.kind == "i" else ~a.dtype.type(0), floor).astype(a.dtype)


def _remainder(one: Instruction, type_: str) -> Operation:
    return Operation((type_, type_), lambda a, b: (either(b == 0, a, a - _quotient(a, b) * b).astype(a.dtype),))


def _test(one: Instruction, type_: str) -> Operation:
    tests: Mapping[str, Callable[[Value], Value]] = {
        "finite": np.isfinite, "infinite": np.isinf, "number": lambda x: ~np.isnan(x), "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
        "subnormal": lambda x: (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny),
    }  # fmt: skip
    return Operation((type_,), lambda a: (tests[one.parts[1]](a),))


# Integers and bits


def _sum(sign: int) -> Callable[[Instruction, str], Operation]:
    def make(one: Instruction, type_: str) -> Operation:
        function: Callable[..., Value] = np.add if sign > 0 else np.subtract
        if is_float(type_):
            return _float_operation(function, 2)(one, type_)
        if "cc" in one.parts:
            raise NotEmulated("carries")
        if type_ in ("s16x2", "u16x2"):
            raise NotEmulated(f"the type .{type_}")
        if "sat" in one.parts:
            return Operation((type_, type_), lambda a, b: (_saturated(function, a, b),))
        return Operation((type_, type_), lambda a, b: (function(a, b),))

    return make


def _saturated(function: Callable[..., Value], a: Value, b: Value) -> Value:
    limits = np.iinfo(a.dtype)
    return np.clip(function(a.astype(np.int64), b.astype(np.int64)), limits.min, limits.max).astype(a.dtype)


def _product(one: Instruction, type_: str) -> Operation:
    """mul and mad, of floats and integers; the accumulator of a wide product is twice as wide."""
    adds = one.parts[0] in ("mad", "mad24")
    if is_float(type_):
        return _float_operation(_fused if adds else np.multiply, 3 if adds else 2)(one, type_)
    letter, size = type_[0], bytes_of(type_)
    kinds = SIGNED if letter == "s" else UNSIGNED
    take: Callable[[Value, Value], Value]
    if "wide" in one.parts:
        result, take = f"{letter}{16 * size}", lambda a, b: a.astype(kinds[2 * size]) * b.astype(kinds[2 * size])
    elif "hi" in one.parts:
        result, take = type_, _high
    else:
        result, take = type_, lambda a, b: a * b
    if not adds:
        return Operation((type_, type_), lambda a, b: (take(a, b),))
    return Operation((type_, type_, result), lambda a, b, c: (take(a, b) + c,))


def _high(a: Value, b: Value) -> Value:
    """The upper half of a product."""
    size, kind = a.dtype.itemsize, a.dtype.type
    if size < 8:
        twice = (SIGNED if a.dtype.kind == "i" else UNSIGNED)[2 * size]
        return ((a.astype(twice) * b.astype(twice)) >> twice(8 * size)).astype(kind)
    x, y, low, half = a.view(np.uint64), b.view(np.uint64), np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = x & low, x >> half, y & low, y >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    high = a1 * b1 + (middle >> half) + ((a0 * b1 + (middle & low)) >> half)
    if a.dtype.kind == "i":
        high = high - either(a < 0, y, np.uint64(0)) - either(b < 0, x, np.uint64(0))
    return high.astype(np.uint64).view(kind)


def _shifted(one: Instruction, type_: str) -> Operation:
    """Shifts by the width of the type or more leave no bit, or the sign."""
    width, left = 8 * bytes_of(type_), one.parts[0] == "shl"

    def shift(a: Value, count: Value) -> tuple[Value, ...]:
        kind, beyond = a.dtype.type, count >= np.uint32(width)
        by = np.minimum(count, np.uint32(width - 1)).astype(a.dtype)
        if left:
            return (either(beyond, kind(0), a << by).astype(a.dtype),)
        if a.dtype.kind == "i":
            return (a >> by,)
        return (either(beyond, kind(0), a >> by).astype(a.dtype),)

    return Operation((type_, "u32"), shift)


def _funnel(one: Instruction, type_: str) -> Operation:
    left, wraps = "l" in one.parts, "wrap" in one.parts

    def shift(a: Value, b: Value, count: Value) -> tuple[Value, ...]:
        by = (count & np.uint32(31) if wraps else np.minimum(count, np.uint32(32))).astype(np.uint64)
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        moved = both << by >> np.uint64(32) if left else both >> by
        return (moved.astype(np.uint32),)

    return Operation(("u32", "u32", "u32"), shift)


def _bitwise(function: Callable[..., Value]) -> Callable[[Instruction, str], Operation]:
    return lambda one, type_: Operation(("pred" if "pred" in one.parts else type_,) * 2, lambda a, b: (function(a, b),))


def _not(one: Instruction, type_: str) -> Operation:
    return Operation(("pred" if "pred" in one.parts else type_,), lambda a: (np.invert(a),))


def _logic_of_three(one: Instruction, type_: str) -> Operation:
    def combined(a: Value, b: Value, c: Value, table: Value) -> tuple[Value, ...]:
        total = np.zeros_like(a | b | c)
        for i in range(8):
            if int(table) >> i & 1:
                total = total | (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
        return (total,)

    return Operation((type_,) * 4, combined)


def _extracted(one: Instruction, type_: str) -> Operation:
    width = 8 * bytes_of(type_)

    def field(a: Value, start: Value, count: Value) -> tuple[Value, ...]:
        start, count = (start & np.uint32(255)).astype(np.int64), (count & np.uint32(255)).astype(np.int64)
        signed = a.dtype.kind == "i"
        fill = either(signed, a < 0, False)
        top = np.minimum(start + count - 1, width - 1)
        if signed:
            fill = (a >> np.maximum(top, 0).astype(a.dtype)) & a.dtype.type(1) != 0
        kept = np.clip(np.minimum(count, width - start), 0, width)
        bits = a.view(UNSIGNED[a.dtype.itemsize]).astype(np.uint64)
        mask = ones(kept)
        found = either(start < width, bits >> np.minimum(start, 63).astype(np.uint64), np.uint64(0)) & mask
        found = either(fill & (count > 0), found | ~mask, found)
        return (found.astype(UNSIGNED[a.dtype.itemsize]).view(a.dtype),)

    return Operation((type_, "u32", "u32"), field)


def _inserted(one: Instruction, type_: str) -> Operation:
    width = 8 * bytes_of(type_)

    def field(a: Value, b: Value, start: Value, count: Value) -> tuple[Value, ...]:
        at, kept = np.minimum(start & np.uint32(255), width).astype(np.uint64), (count & np.uint32(255))
        mask = either(at < 64, ones(kept) << np.minimum(at, np.uint64(63)), np.uint64(0))
        put = (a.astype(np.uint64) << np.minimum(at, np.uint64(63))) & mask
        return (((b.astype(np.uint64) & ~mask) | put).astype(a.dtype),)

    return Operation((type_, type_, "u32", "u32"), field)


def _permuted(one: Instruction, type_: str) -> Operation:
    if len(one.parts) > 2:
        raise NotEmulated(f"the instruction {one.op}")

    def permute(a: Value, b: Value, order: Value) -> tuple[Value, ...]:
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        total: Value = np.uint32(0)
        for i in range(4):
            choice = (order >> np.uint32(4 * i)) & np.uint32(15)
            byte = (both >> ((choice & np.uint32(7)).astype(np.uint64) * np.uint64(8))) & np.uint64(0xFF)
            sign = either(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0))
            byte = either(choice & np.uint32(8), sign, byte)
            total = total | (byte.astype(np.uint32) << np.uint32(8 * i))
        return (total,)

    return Operation(("u32", "u32", "u32"), permute)


def _counted(one: Instruction, type_: str) -> Operation:
    size = bytes_of(type_)

    def count(a: Value) -> tuple[Value, ...]:
        bits = np.atleast_1d(a.astype(UNSIGNED[size]))
        each = np.unpackbits(bits.view(np.uint8).reshape(-1, size)[:, ::-1], axis=1)
        if one.parts[0] == "popc":
            found = each.sum(axis=1)
        elif one.parts[0] == "clz":
            found = either(each.any(axis=1), each.argmax(axis=1), 8 * size)
        else:  # brev
            turned = np.packbits(each[:, ::-1], axis=1)[:, ::-1].copy().view(UNSIGNED[size])[:, 0]
            return (turned.reshape(np.shape(a)),)
        return (found.astype(np.uint32).reshape(np.shape(a)),)

    return Operation((f"b{8 * size}",), count)


def _found_bit(one: Instruction, type_: str) -> Operation:
    width = 8 * bytes_of(type_)

    def bit(a: Value) -> tuple[Value, ...]:
        number = either(a < 0, ~a, a).astype(np.uint64) if a.dtype.kind == "i" else a.astype(np.uint64)
        top = np.zeros(np.shape(a), np.int64) - 1
        for i in range(width):
            top = either(number >> np.uint64(i) & np.uint64(1), i, top)
        if "shiftamt" in one.parts:
            top = either(top >= 0, width - 1 - top, top)
        return (top.astype(np.int32).view(np.uint32),)

    return Operation((type_,), bit)


def _dot_of_bytes(one: Instruction, type_: str) -> Operation:
    first, second = [part for part in one.parts[1:] if is_type(part)]
    result = "s32" if "s32" in (first, second) else "u32"

    def dot(a: Value, b: Value, c: Value) -> tuple[Value, ...]:
        total = c.astype(np.int64)
        for x, y in zip(pieces(a, 4), pieces(b, 4), strict=True):
            left = x.view(np.int8) if first == "s32" else x
            right = y.view(np.int8) if second == "s32" else y
            total = total + left.astype(np.int64) * right.astype(np.int64)
        return (total.astype(np.uint32),)

    return Operation(("b32", "b32", result), dot)


def _difference(one: Instruction, type_: str) -> Operation:
    return Operation((type_, type_, type_), lambda a, b, c: (either(a > b, a - b, b - a).astype(a.dtype) + c,))


# Comparing and moving

_COMPARED: Mapping[str, Callable[[Value, Value], Value]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


def compared(name: str, a: Value, b: Value) -> Value:
    """One of PTX's comparisons; the unordered ones are true beside a NaN, `ne` is not."""
    if name in ("num", "nan"):
        unordered = np.isnan(a) | np.isnan(b)
        return unordered if name == "nan" else ~unordered
    if name in _COMPARED:
        found = _COMPARED[name](a, b)
        return found & ~(np.isnan(a) | np.isnan(b)) if name == "ne" and a.dtype.kind == "f" else found
    return _COMPARED[name[:2]](a, b) | np.isnan(a) | np.isnan(b)


def _comparison(one: Instruction, type_: str) -> Operation:
    """setp and set, with an optional predicate that the outcome is combined with."""
    name, results = one.parts[1], one.operands[0].split("|")
    join = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.get(one.parts[2])
    each = PACKED.get(type_)
    if each is not None:
        return _packed_comparison(one, type_, each)

    def compare(a: Value, b: Value, *other: Value) -> tuple[Value, ...]:
        if type_ in ("f16", "bf16"):
            a, b = wide(a, type_), wide(b, type_)
        found = compared(name, a, b)
        if one.parts[0] == "set":
            return (_as_set(found, one),)
        if join is None or not other:
            return (found, ~found)[: len(results)]
        return (join(found, other[0]), join(~found, other[0]))[: len(results)]

    return Operation((type_, type_, *["pred"] * (len(one.operands) - 3)), compare)


def _as_set(found: Value, one: Instruction) -> Value:
    to = next(part for part in one.parts[1:] if is_type(part))
    return found.astype(np.float32) if to == "f32" else either(found, np.uint32(0xFFFFFFFF), np.uint32(0))


def _packed_comparison(one: Instruction, type_: str, each: str) -> Operation:
    def compare(a: Value, b: Value) -> tuple[Value, ...]:
        pairs = zip(halves(a), halves(b), strict=True)
        low, high = (compared(one.parts[1], wide(x, each), wide(y, each)) for x, y in pairs)
        if one.parts[0] == "setp":
            return low, high
        ones = np.uint16(0xFFFF) if "u32" in one.parts else narrow(np.float64(1.0), each)
        return (joined(either(low, ones, np.uint16(0)), either(high, ones, np.uint16(0))),)

    if len(one.operands) > 3:
        raise NotEmulated(f"the instruction {one.op}")
    return Operation((type_, type_), compare)


def _selected(one: Instruction, type_: str) -> Operation:
    return Operation((type_, type_, "pred"), lambda a, b, which: (either(which, a, b).astype(a.dtype),))


def _selected_by_sign(one: Instruction, type_: str) -> Operation:
    first, second = [part for part in one.parts[1:] if is_type(part)]
    return Operation((first, first, second), lambda a, b, c: (either(c >= 0, a, b).astype(a.dtype),))


def _move(one: Instruction, type_: str) -> Operation:
    """mov, also between one register and several."""
    if one.parts[0] == "mov" and "pred" in one.parts:
        return Operation(("pred",), lambda a: (a.copy(),))
    size = 16 if type_ == "b128" else bytes_of(type_)
    if one.operands[0].startswith("{"):
        count = len(one.operands[0].split(","))
        return Operation((type_,), lambda a: tuple(pieces(raw(a), count)))
    if one.operands[1].startswith("{"):
        count = len(one.operands[1].split(","))
        return Operation((f"b{8 * size // count}",) * count, lambda *parts: (assembled(list(parts), size),))
    return Operation((f"b{8 * size}",), lambda a: (a.copy(),))


def _negated(one: Instruction, type_: str) -> Operation:
    if is_float(type_):
        sign = {2: np.uint16(1 << 15), 4: np.uint32(1 << 31), 8: np.uint64(1 << 63)}[bytes_of(type_)]
        both = np.uint32(0x80008000) if type_ in PACKED else sign
        return Operation((f"b{8 * bytes_of(type_)}",), lambda a: (a ^ both,))
    return Operation((type_,), lambda a: (np.negative(a),))


def _absolute(one: Instruction, type_: str) -> Operation:
    if is_float(type_):
        rest = {2: np.uint16((1 << 15) - 1), 4: np.uint32((1 << 31) - 1), 8: np.uint64((1 << 63) - 1)}[bytes_of(type_)]
        both = np.uint32(0x7FFF7FFF) if type_ in PACKED else rest
        return Operation((f"b{8 * bytes_of(type_)}",), lambda a: (a & both,))
    return Operation((type_,), lambda a: (np.abs(a),))


def _with_sign(one: Instruction, type_: str) -> Operation:
    return Operation((type_, type_), lambda a, b: (np.copysign(b, a),))


_MAKERS: Mapping[str, Callable[[Instruction, str], Operation]] = {
    "mov": _move, "selp": _selected, "slct": _selected_by_sign, "setp": _comparison, "set": _comparison,
    "add": _sum(1), "sub": _sum(-1), "mul": _product, "mad": _product, "mul24": _product, "mad24": _product,
    "fma": _float_operation(_fused, 3), "div": _divided, "rem": _remainder, "neg": _negated, "abs": _absolute,
    "min": _extreme, "max": _extreme, "sad": _difference, "testp": _test, "copysign": _with_sign,
    "rcp": _float_operation(np.reciprocal, 1), "sqrt": _float_operation(np.sqrt, 1),
    "rsqrt": _float_operation(_reciprocal_root, 1), "ex2": _float_operation(np.exp2, 1),
    "lg2": _float_operation(np.log2, 1), "sin": _float_operation(np.sin, 1), "cos": _float_operation(np.cos, 1),
    "tanh": _float_operation(np.tanh, 1),
    "and": _bitwise(np.bitwise_and), "or": _bitwise(np.bitwise_or), "xor": _bitwise(np.bitwise_xor), "not": _not,
    "cnot": lambda one, type_: Operation((type_,), lambda a: ((a == 0).astype(a.dtype),)),
    "lop3": _logic_of_three, "shl": _shifted, "shr": _shifted, "shf": _funnel, "bfe": _extracted, "bfi": _inserted,
    "prmt": _permuted, "popc": _counted, "clz": _counted, "brev": _counted, "bfind": _found_bit,
    "dp4a": _dot_of_bytes,
}  # fmt: skip
