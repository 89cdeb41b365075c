"""PTX's cvt: between integers and floats of all widths, with rounding and saturation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from foretell.kernels.emulate.values import (
    SIGNED,
    UNSIGNED,
    NotEmulated,
    Value,
    bytes_of,
    halves,
    is_float,
    is_type,
    joined,
    narrow,
    wide,
)
from foretell.kernels.languages.dry.ptx import Instruction

_WHOLE: Mapping[str, Callable[[Value], Value]] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_DIRECTED = frozenset(("rz", "rm", "rp"))
_EIGHT_BITS = {"e4m3": (4, 7, 448.0), "e5m2": (5, 15, 57344.0)}  # bits and bias of the exponent, largest number

Function = Callable[..., tuple[Value, ...]]


def conversion(one: Instruction) -> tuple[tuple[str, ...], Function]:
    """Types of the sources, and the function. Raises NotEmulated for what is not known."""
    parts = one.parts[1:]
    if "pack" in parts:
        return _pack(parts)
    eight = [part for part in parts if part.removesuffix("x2") in _EIGHT_BITS]
    types = [part for part in parts if is_type(part)]
    if eight:
        return _eight_bits(one, eight[0].removesuffix("x2"), eight[0] == parts[-1])
    if len(types) == 1 and types[0] == "tf32":
        raise NotEmulated(f"the instruction {one.op}")
    if len(types) != 2:
        raise NotEmulated(f"the instruction {one.op}")
    to, source = types
    if to in ("f16x2", "bf16x2"):  # the first operand is the upper half
        each = to.removesuffix("x2")
        relu = "relu" in parts

        def pair(high: Value, low: Value) -> tuple[Value, ...]:
            found = [_rounded(x, each, parts) for x in (low, high)]
            if relu:
                found = [np.where(bits >> np.uint16(15), np.uint16(0), bits).astype(np.uint16) for bits in found]
            return (joined(*found),)

        return (source, source), pair
    return (source,), lambda a: (_converted(a, source, to, parts),)


def _converted(a: Value, source: str, to: str, parts: tuple[str, ...]) -> Value:
    if is_float(source):
        number = wide(a, source) if a.dtype.kind != "f" else a
        whole = next((_WHOLE[part] for part in parts if part in _WHOLE), None)
        if not is_float(to):
            return _integer((whole or np.trunc)(number), to)
        if whole is not None:
            number = whole(number)
        if "sat" in parts:
            number = np.nan_to_num(np.clip(number, 0.0, 1.0), nan=0.0)
        if "relu" in parts:
            number = np.maximum(number, 0)
        return _rounded(number, to, parts)
    if is_float(to):
        if to == "f64":
            return a.astype(np.float64)
        if to == "f32" and a.dtype.itemsize == 8:
            return _of_long(a, parts)
        return _rounded(a.astype(np.float64), to, parts)
    if "sat" in parts:
        limits = np.iinfo((SIGNED if to[0] == "s" else UNSIGNED)[bytes_of(to)])
        a = np.clip(a, max(limits.min, np.iinfo(a.dtype).min), min(limits.max, np.iinfo(a.dtype).max))
    return a.astype((SIGNED if to[0] == "s" else UNSIGNED)[bytes_of(to)])


def _of_long(a: Value, parts: tuple[str, ...]) -> Value:
    """A 64-bit integer as float32, rounded once."""
    if _DIRECTED & set(parts):
        raise NotEmulated("64-bit integers to float32 with directed rounding")
    return a.astype(np.float32)


def _integer(number: Value, to: str) -> Value:
    """A whole float as an integer: clamped to its range, NaN as 0."""
    kind = (SIGNED if to[0] == "s" else UNSIGNED)[bytes_of(to)]
    limits = np.iinfo(kind)
    number = number.astype(np.float64)
    inside = np.where((number >= float(limits.min)) & (number < float(limits.max)), number, 0.0).astype(kind)
    found = np.where(number >= float(limits.max), kind(limits.max), inside)
    return np.where(number < float(limits.min), kind(limits.min), found).astype(kind)


def _rounded(number: Value, to: str, parts: tuple[str, ...]) -> Value:
    """A float as bits of a narrower type (or the same), by the rounding that the instruction names."""
    way = next((part for part in parts if part in _DIRECTED), "")
    if not way:
        return narrow(number, to)
    bits = narrow(number, to)
    back = wide(bits, to).astype(np.float64)
    number = number.astype(np.float64)
    if way == "rz":
        wrong = np.abs(back) > np.abs(number)
        return np.where(wrong, bits - bits.dtype.type(1), bits).astype(bits.dtype)
    wrong = back > number if way == "rm" else back < number
    one, positive = bits.dtype.type(1), back > 0
    outwards = positive if way == "rp" else ~positive
    return np.where(wrong, np.where(outwards, bits + one, bits - one), bits).astype(bits.dtype)


def _pack(parts: tuple[str, ...]) -> tuple[tuple[str, ...], Function]:
    """cvt.pack.sat: two integers, clamped, before the bits of a third."""
    to, source = [part for part in parts if is_type(part)][:2]
    kind = (SIGNED if to[0] == "s" else UNSIGNED)[bytes_of(to)]
    limits, bits = np.iinfo(kind), np.uint32(8 * bytes_of(to))

    def pack(a: Value, b: Value, *rest: Value) -> tuple[Value, ...]:
        high, low = (np.clip(x, limits.min, limits.max).astype(kind).view(UNSIGNED[kind().itemsize]) for x in (a, b))
        packed = (high.astype(np.uint32) << bits) | low.astype(np.uint32)
        return ((packed | (rest[0] << (np.uint32(2) * bits))) if rest else packed,)

    return (source, source, *["b32"] * (parts[-1] == "b32" and len(parts) > 3)), pack


def _eight_bits(one: Instruction, name: str, from_eight: bool) -> tuple[tuple[str, ...], Function]:
    exponent_bits, bias, largest = _EIGHT_BITS[name]
    table = _numbers_of(exponent_bits, bias, name)
    if from_eight:  # two numbers as f16x2

        def widened(a: Value) -> tuple[Value, ...]:
            low, high = (
                narrow(table[byte.astype(np.int64)], "f16") for byte in (a.astype(np.uint8), a >> np.uint16(8))
            )
            return (joined(low, high),)

        return ("b16",), widened
    order = np.argsort(table[:128], kind="stable")
    ladder = table[:128][order]
    finite = np.isfinite(ladder)
    ladder, codes = ladder[finite], order[finite]

    def code(number: Value) -> Value:
        magnitude = np.minimum(np.abs(np.nan_to_num(number, nan=0.0, posinf=largest, neginf=largest)), largest)
        above = np.clip(np.searchsorted(ladder, magnitude), 1, len(ladder) - 1)
        below = above - 1
        down, up = magnitude - ladder[below], ladder[above] - magnitude
        nearer = np.where((down < up) | ((down == up) & (codes[below] % 2 == 0)), below, above)
        found = codes[nearer] | np.where(np.signbit(number), 128, 0)
        return np.where(np.isnan(number), 0x7F, found).astype(np.uint16)

    if "f16x2" in one.parts or "bf16x2" in one.parts:
        each = "f16" if "f16x2" in one.parts else "bf16"

        def of_pair(a: Value) -> tuple[Value, ...]:
            low, high = (code(wide(bits, each)) for bits in halves(a))
            return ((high << np.uint16(8)) | low,)

        return ("b32",), of_pair
    return ("f32", "f32"), lambda a, b: ((code(a) << np.uint16(8)) | code(b),)


def _numbers_of(exponent_bits: int, bias: int, name: str) -> Value:
    """What each of the 256 codes stands for."""
    codes = np.arange(256)
    mantissa_bits = 7 - exponent_bits
    exponent, mantissa = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1), codes & ((1 << mantissa_bits) - 1)
    normal = (1.0 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - float(bias))
    number = np.where(exponent == 0, mantissa / (1 << mantissa_bits) * 2.0 ** (1.0 - bias), normal)
    if name == "e4m3":
        number = np.where(codes & 127 == 127, np.nan, number)
    else:
        special = exponent == (1 << exponent_bits) - 1
        number = np.where(special, np.where(mantissa == 0, np.inf, np.nan), number)
    return np.where(codes & 128, -number, number)
