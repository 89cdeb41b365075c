"""The parameter block of a kernel: where each parameter lies, read off PTX, and how values become its bytes."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from foretell.kernels.languages.dry.ptx import plain
from foretell.kernels.record.refusal import Reason, Refused

TENSOR_MAP_BYTES = 128
WORD = 8

_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>[a-z]+\d+)\s+(?:\.ptr\b[^,)\n]*?\s)?"
    r"(?:\.align\s+\d+\s+)?(?P<name>[\w$%]+)\s*(?:\[(?P<count>\d+)\])?\s*(?=[,)\n])"
)


@dataclass(frozen=True)
class Parameter:
    """One parameter: its PTX type (`u64`, `f32`, `b8`), and the bytes it takes in the block."""

    name: str
    type: str
    offset: int
    size: int


@lru_cache(maxsize=512)
def parameters_of(ptx: str, entry: str) -> tuple[Parameter, ...]:
    """The parameters of an entry in order; Refused if the PTX has no such entry."""
    ptx = plain(ptx)
    head = re.search(rf"\.entry\s+{re.escape(entry)}(?![\w$])\s*(?P<open>\()?", ptx)
    if head is None:
        raise Refused(Reason.LAUNCH, f"the PTX has no entry {entry}")
    if head["open"] is None:
        return ()
    end = ptx.find(")", head.end())
    if end < 0:
        raise Refused(Reason.LAUNCH, f"the parameters of {entry} do not end in its PTX")
    text = ptx[head.end() : end + 1]
    found, offset = [], 0
    for match in _PARAMETER.finditer(text):
        width = int(re.sub(r"\D", "", match["type"])) // 8
        size = width * int(match["count"] or 1)
        align = max(1, int(match["align"] or width))
        offset = -(-offset // align) * align
        found.append(Parameter(match["name"], match["type"], offset, size))
        offset += size
    if len(found) != text.count(".param"):
        raise Refused(Reason.LAUNCH, f"the parameters of {entry} cannot be read off its PTX")
    return tuple(found)


def pack(parameters: Sequence[Parameter], values: Sequence[Any], floats: Sequence[str | None] = ()) -> bytes:
    """The parameter block. A value is an integer, a truth value, a float, or bytes of the parameter's size.

    `floats` names the format of a float whose PTX type does not tell it (`fp16`, `bf16`, `fp32`, `fp64`).
    """
    if len(parameters) != len(values):
        raise Refused(Reason.LAUNCH, f"a kernel with {len(parameters)} parameters is given {len(values)} arguments")
    block = bytearray(parameters[-1].offset + parameters[-1].size if parameters else 0)
    for number, (parameter, value) in enumerate(zip(parameters, values, strict=True)):
        kind = floats[number] if number < len(floats) else None
        block[parameter.offset : parameter.offset + parameter.size] = _bytes(parameter, value, kind)
    return bytes(block)


def words(arguments: bytes) -> Iterator[tuple[int, int]]:
    """The aligned eight-byte words of a parameter block with their positions."""
    for at in range(0, len(arguments) - WORD + 1, WORD):
        yield at, int.from_bytes(arguments[at : at + WORD], "little")


def _bytes(parameter: Parameter, value: Any, kind: str | None) -> bytes:
    if isinstance(value, bytes):
        if len(value) != parameter.size:
            raise Refused(Reason.LAUNCH, f"{parameter.name} takes {parameter.size} bytes, {len(value)} are given")
        return value
    try:
        if parameter.type.startswith("f") or kind is not None:
            return _float_bytes(float(value), kind, parameter.size)
        number = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused(Reason.LAUNCH, f"{parameter.name} is given a {type(value).__name__}") from error
    mask = (1 << 8 * parameter.size) - 1
    return int(number & mask).to_bytes(parameter.size, "little")


def _float_bytes(value: float, kind: str | None, size: int) -> bytes:
    if kind == "bf16":
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        rounded: int = bits if value != value else bits + 0x7FFF + (bits >> 16 & 1)
        return (rounded >> 16 & 0xFFFF).to_bytes(2, "little")
    return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
