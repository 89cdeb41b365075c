"""Values of PTX registers: bits as unsigned integers, and how a type reads them.

A register holds one scalar where all lanes agree, else an array with one element per lane; predicates are truth values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Value = Any  # a numpy scalar, or an array with one element per lane

UNSIGNED: Mapping[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
SIGNED: Mapping[int, Any] = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
_NATIVE: Mapping[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
PACKED = {"f16x2": "f16", "bf16x2": "bf16"}
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f16x2": 4, "bf16x2": 4, "tf32": 4, "pred": 1}
TF32_BITS = np.uint32(0xFFFFE000)


class NotEmulated(Exception):
    """What a kernel asks for that is not emulated."""


def bytes_of(type_: str) -> int:
    """Bytes of a PTX type. Raises NotEmulated for types that no register here has."""
    known = BYTES.get(type_)
    if known is not None:
        return known
    if type_[:1] in "usb" and type_[1:] in ("8", "16", "32", "64"):
        return int(type_[1:]) // 8
    raise NotEmulated(f"the type .{type_}")


def is_type(part: str) -> bool:
    return part in BYTES or (part[:1] in "usb" and part[1:] in ("8", "16", "32", "64", "128"))


def is_float(type_: str) -> bool:
    return type_ in BYTES and type_ != "pred"


def raw(value: Value) -> Value:
    """A number as a register keeps it: its bits, unsigned; truth values as they are."""
    kind = value.dtype.kind
    if kind in "ub":
        return value
    return value.view(UNSIGNED[value.dtype.itemsize])


def resized(bits: Value, size: int) -> Value:
    """Bits cut off or extended by zeros to so many bytes."""
    if bits.dtype.kind == "b" or bits.dtype.itemsize == size:
        return bits
    return bits.astype(UNSIGNED[size])


def read(bits: Value, type_: str) -> Value:
    """What bits mean as a type: an integer of its width, or a float; packed and half types stay bits."""
    if type_ == "pred":
        return bits
    size = bytes_of(type_)
    bits = resized(bits, size)
    if type_[0] == "s":
        return bits.view(SIGNED[size])
    if type_ in ("f32", "f64"):
        return bits.view(_NATIVE[type_])
    return bits


def wide(bits: Value, type_: str) -> Value:
    """Bits of a floating-point type as float64 (float32 stays as it is)."""
    if type_ == "f64":
        return bits.view(np.float64)
    if type_ == "f32":
        return bits.view(np.float32)
    if type_ == "tf32":
        return (bits & TF32_BITS).view(np.float32)
    if type_ == "f16":
        return bits.view(np.float16).astype(np.float64)
    if type_ == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    raise NotEmulated(f"numbers of the type .{type_}")


def narrow(number: Value, type_: str) -> Value:
    """A float as bits of a type, rounded to nearest even."""
    if type_ in _NATIVE:
        return raw(number.astype(_NATIVE[type_]))
    if type_ == "bf16":
        return _bf16(number)
    if type_ == "tf32":
        bits = number.astype(np.float32).view(np.uint32)
        return (bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1))) & TF32_BITS
    raise NotEmulated(f"numbers of the type .{type_}")


def _bf16(number: Value) -> Value:
    """Rounded once, from whatever precision the number has: the float32 in between is rounded to odd."""
    single = number.astype(np.float32)
    bits = single.view(np.uint32)
    if number.dtype.itemsize > 4:
        exact = single.astype(np.float64)
        away = np.abs(exact) > np.abs(number)
        inexact = np.isfinite(exact) & (exact != number)
        bits = np.where(inexact, (bits - away.astype(np.uint32)) | np.uint32(1), bits).astype(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
    return np.where(np.isnan(single), np.uint32(0x7FFF), rounded >> np.uint32(16)).astype(np.uint16)


def halves(bits: Value) -> tuple[Value, Value]:
    """Low and high half of 32 bits."""
    return bits.astype(np.uint16), (bits >> np.uint32(16)).astype(np.uint16)


def joined(low: Value, high: Value) -> Value:
    """32 bits of two halves."""
    return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))


def pieces(bits: Value, count: int) -> list[Value]:
    """Bits in `count` equal parts, the lowest first."""
    size = bits.dtype.itemsize // count
    shift = bits.dtype.type(8 * size)
    found = []
    for _ in range(count):
        found.append(bits.astype(UNSIGNED[size]))
        bits = bits >> shift
    return found


def assembled(parts: list[Value], size: int) -> Value:
    """The opposite of `pieces`: `size` bytes of equal parts."""
    kind, each = UNSIGNED[size], 8 * size // len(parts)
    total = parts[0].astype(kind)
    for number, part in enumerate(parts[1:], 1):
        total = total | (part.astype(kind) << kind(each * number))
    return total


def ones(count: Value) -> Value:
    """So many low bits set, of 64."""
    by = np.asarray(count).astype(np.uint64)
    return np.where(by >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(by, np.uint64(63))) - np.uint64(1))


def either(which: Value, yes: Value, no: Value) -> Value:
    """numpy.where of three operands."""
    return np.where(which, yes, no)
