"""What the pages of a Parquet file say of themselves: how much they unpack to.

The footer of a file says so too, and may say anything: a reader unpacks what the header before each page tells it to.
Headers are structs in Thrift's compact protocol, of which no more is read here than these numbers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

_FIRST_BYTES, _MOST_HEADER_BYTES = 1 << 12, 1 << 24
_PAST_END = 100  # bytes of a piece that readers look for pages beyond its end, for files of an early writer
_MOST_DEPTH = 8
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # kinds of pages
_COUNTS = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}  # the member of a header that has the number of values, as its first
_KIND, _UNPACKED, _PACKED, _COUNT = 1, 2, 3, 1
_TRUE, _FALSE, _BYTE, _WHOLE, _REAL, _TEXT, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, 12  # kinds of members


@dataclass(frozen=True)
class Unpacked:
    """What a piece of a column takes, once it is unpacked; `values` are those of its lists too."""

    size: int
    values: int


def unpacked(descriptor: int, chunk: Any) -> Unpacked:
    """By the headers of the pages that a reader would take; ValueError where there is something else than pages."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    end, file_size = start + chunk.total_compressed_size + _PAST_END, os.fstat(descriptor).st_size
    size = values = 0
    while start < min(end, file_size) and values < chunk.num_values:
        header, length = _header(descriptor, start)
        kind, page_size, packed = (_number(header.get(member)) for member in (_KIND, _UNPACKED, _PACKED))
        counts = header.get(_COUNTS[kind]) if kind in _COUNTS else {_COUNT: 0}
        count = _number(counts.get(_COUNT) if isinstance(counts, dict) else None)
        start += length + packed
        if start > file_size:
            raise ValueError("a page is longer than the file")
        if kind == _DICTIONARY and count > page_size:
            raise ValueError("a dictionary has more values than bytes")
        size += page_size
        values += count if kind in (_DATA, _DATA_V2) else 0
    return Unpacked(size, values)


def _number(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise ValueError("a page has no size")
    return value


def _header(descriptor: int, start: int) -> tuple[dict[int, Any], int]:
    """The header of the page there, and how many bytes it has."""
    some = _FIRST_BYTES
    while True:
        data = os.pread(descriptor, some, start)
        reader = _Compact(data)
        try:
            return reader.struct(), reader.at
        except IndexError:
            if len(data) < some or some >= _MOST_HEADER_BYTES:
                raise ValueError("a page has no header") from None
            some *= 4


class _Compact:
    """Reads structs in Thrift's compact protocol; IndexError at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self.at = 0
        self._data = data

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The whole numbers in it and in structs within it, by the numbers of the members; None for all else."""
        if depth > _MOST_DEPTH:
            raise ValueError("a header is nested too deeply")
        found: dict[int, Any] = {}
        member = 0
        while head := self._byte():
            member = member + (head >> 4) if head >> 4 else self._whole()
            found[member] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _WHOLE:
            return self._whole()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _TEXT:
            self._skip(self._unsigned())
        elif kind == _REAL:
            self._skip(8)
        elif kind == _BYTE:
            self._skip(1)
        elif kind not in (_TRUE, _FALSE):
            raise ValueError("a header has a member that no header of a page has")
        return None

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self._data):
            raise IndexError

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a header has a number beyond 64 bits")

    def _whole(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
