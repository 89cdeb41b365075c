"""One JSON object a line, closed by a checksum, written all or not at all.

A line is a JSON object whose last member is `crc`, the CRC-32 of everything before it; the checksum is therefore
verified on the bytes as they lie on disk, without parsing. Only the last line of a file can be torn by a crash.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from foretell.kernels.store.errors import StorageFailed, StorageFull
from foretell.received import NotText, parsed

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
MOST_VALUES = 1_000_000  # of a line
_CRC_OPEN = b',"crc":"'
_DETAILS_OPEN = b',"details":'
_CRC_BYTES = len(_CRC_OPEN) + len(b'00000000"}')


class RawFile(Protocol):
    """An unbuffered binary file opened for appending: what `open(path, "ab", buffering=0)` gives."""

    def write(self, data: bytes, /) -> int | None: ...
    def truncate(self, size: int, /) -> int: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...


def encode(record: Mapping[str, Any]) -> bytes:
    """The line for a record, newline included.

    Raises ValueError if a number is not finite, for which JSON has no word, and NotText for half a character.
    """
    what = record.get("event", "a record")
    try:
        body = json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()[:-1]
    except UnicodeEncodeError:
        raise NotText(repr(what)) from None
    except ValueError as error:
        raise ValueError(f"{what!r} holds a number that is not finite and cannot be written down ({error})") from error
    return b'%b%b%08x"}\n' % (body, _CRC_OPEN, zlib.crc32(body))


def is_whole(line: bytes) -> bool:
    """Whether a line (without its newline) ends in a checksum that matches it."""
    tail = line[-_CRC_BYTES:]
    return tail.startswith(_CRC_OPEN) and tail[len(_CRC_OPEN) :] == b'%08x"}' % zlib.crc32(line[:-_CRC_BYTES])


def decode(line: bytes) -> dict[str, Any]:
    """The record of a whole line (without its newline), its checksum left out; ValueError where it is none."""
    record = parse(line.decode())
    record.pop("crc", None)
    return record


def split(line: bytes) -> tuple[dict[str, Any], bytes | None]:
    """The record of a whole line without its member `details`, and the text of that; None if the line has none.

    Raises ValueError if there is no record. Details are not parsed unless a member further inside has the same name.
    """
    end = line.find(_DETAILS_OPEN)
    if end >= 0:
        try:
            return parse(line[:end].decode() + "}"), line[end + len(_DETAILS_OPEN) : -_CRC_BYTES]
        except ValueError:
            pass  # a member of that name further inside
    record = decode(line)
    return record, json.dumps(record.pop("details")).encode() if "details" in record else None


def parse(text: str) -> dict[str, Any]:
    """The JSON object that is the text. Raises ValueError if there is none."""
    record = parsed(text, most_values=MOST_VALUES)
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    return record


def append(file: RawFile, path: Path, size_bytes: int, line: bytes, fsync: bool) -> int:
    """Write one line at the end of a file of `size_bytes` and return the new size.

    All or nothing: where the system refuses, the part that was written is cut off again and StorageFull or
    StorageFailed is raised.
    """
    try:
        rest = memoryview(line)
        while rest:
            rest = rest[file.write(bytes(rest)) or 0 :]
        if fsync:
            os.fsync(file.fileno())
    except OSError as error:
        reason = error.strerror or str(error)
        try:
            file.truncate(size_bytes)
        except OSError as second:
            reason = f"{reason}; cutting the torn line off again also failed: {second.strerror}"
        if error.errno in _NO_ROOM:
            raise StorageFull(path, reason) from error
        raise StorageFailed(path, reason) from error
    return size_bytes + len(line)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block is done, so that disk and memory never disagree about what was written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, Any]] = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if previous is None else previous)
        if held and callable(previous):
            previous(*held[0])
