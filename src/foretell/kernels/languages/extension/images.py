"""Device code as the compiler embeds it: machine code and PTX in a fat binary, and what a kernel takes and needs."""

from __future__ import annotations

import ctypes
import hashlib
import re
import struct
from dataclasses import dataclass
from functools import cache, cached_property

from foretell.kernels.languages.sass import read_cubin

_MAGIC = 0xBA55ED50
_PTX, _CUBIN = 1, 2
_COMPRESSED = 0x2000 | 0x8000
_ENTRY = struct.Struct("<HHIQIIHHI8xQ")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s+(?:\.ptr[^,)\n]*?\s)?(?P<name>[\w$%]+)"
    r"(?:\[(?P<count>\d+)\])?\s*(?=[,)\n])"
)
_MOST_THREADS = re.compile(r"\.maxntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")


class NotAFatbin(ValueError):
    """The bytes are not device code in a form that is read here."""


@dataclass(frozen=True)
class Image:
    """The device code of one translation unit for one architecture."""

    cubin: bytes
    ptx: str
    arch: str

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(self.cubin + b"\0" + self.ptx.encode()).hexdigest()

    def parameters(self, entry: str) -> tuple[tuple[int, int], ...]:
        """Offset and size of each parameter of a kernel in its parameter block."""
        return _parameters(self, entry)

    def resources(self, entry: str) -> dict[str, float]:
        """Registers, shared memory and stack of a kernel, by its machine code."""
        return read_cubin(self.cubin, 32, name=entry)

    def most_threads(self, entry: str) -> int | None:
        """The block size that a kernel is limited to by its author; None if it is not."""
        head = _head(self.ptx, entry)
        limit = _MOST_THREADS.search(head)
        return None if limit is None else int(limit[1]) * int(limit[2] or 1) * int(limit[3] or 1)


def read_fatbin(data: bytes) -> Image:
    """The image in a fat binary that was made uncompressed, with machine code and PTX for one architecture."""
    if len(data) < 16 or struct.unpack_from("<I", data)[0] != _MAGIC:
        raise NotAFatbin("the device code does not begin as a fat binary does")
    header, size = struct.unpack_from("<HQ", data, 6)
    at, end = header, min(header + size, len(data))
    cubin, ptx, arch = b"", "", 0
    while at + _ENTRY.size <= end:
        kind, _, head, padded, _, _, _, _, number, flags = _ENTRY.unpack_from(data, at)
        body = data[at + head : at + head + padded]
        if head < _ENTRY.size or flags & _COMPRESSED:
            raise NotAFatbin("the device code is compressed")
        if kind == _CUBIN and not cubin:
            cubin, arch = body, number
        elif kind == _PTX and not ptx:
            ptx = body.rstrip(b"\0").decode("ascii", errors="backslashreplace")
        at += head + padded
    if not cubin:
        raise NotAFatbin("there is no machine code in the device code")
    target = re.search(r"\.target\s+(sm_\w+)", ptx)
    return Image(cubin, ptx, target[1] if target else f"sm_{arch}")


@cache
def image_at(address: int, size: int) -> Image:
    """The image of a fat binary in this process's memory; extensions are never unloaded, so it is read once."""
    return read_fatbin(ctypes.string_at(address, size))


@cache
def _head(ptx: str, entry: str) -> str:
    match = re.search(rf"\.entry\s+{re.escape(entry)}\b[^{{;]*", ptx)
    if match is None:
        raise NotAFatbin(f"the device code has no kernel {entry}")
    return match[0]


@cache
def _parameters(image: Image, entry: str) -> tuple[tuple[int, int], ...]:
    places, at = [], 0
    head = _head(image.ptx, entry)
    for parameter in _PARAMETER.finditer(head[head.find("(") :] if "(" in head else ""):
        unit = int(re.sub(r"\D", "", parameter["type"]) or 8) // 8 or 1
        size = unit * int(parameter["count"] or 1)
        align = max(int(parameter["align"] or 0), unit)
        at = -(-at // align) * align
        places.append((at, size))
        at += size
    return tuple(places)
