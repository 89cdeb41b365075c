"""The journal: the append-only log of one run, `journal.jsonl` in its directory.

Every line is `{"n": sequence, "t": seconds, "event": name, "payload": {...}, "details": {...}, "crc": "..."}`. Some
events have no `details`; those are parsed when someone asks for them. A line is on disk before anyone acts on it. A
crash can tear only the last line; that one is cut off when the run is opened again. Anything else out of order is
refused with its line number, because guessing would change what the run decided.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from foretell.kernels.store import lines
from foretell.kernels.store.details import Details
from foretell.kernels.store.errors import JournalDamaged, NoRun, RunBusy, StorageFailed, StoreError
from foretell.received import MOST_BYTES, open_plain

JOURNAL_NAME = "journal.jsonl"
LOCK_NAME = "lock"
_MEMBERS = {"n", "t", "event", "payload"}
_HEAD = re.compile(rb'\{"n":\d+,"t":([0-9.e+-]+),"event":"(\w+)","payload":')
_BUFFER_BYTES = 1 << 20
MOST_LINE_BYTES = 64 << 20  # some times what the files of a task may have
_END_OF_TIME_S = 253402300800.0  # the year 10000, which no calendar here reaches


class Entry(NamedTuple):
    """One line of a journal."""

    n: int
    t: float
    event: str
    payload: dict[str, Any]
    details: Details | None = None


@dataclass(frozen=True)
class Torn:
    """What a crash left of the last line: `line` is its number, `lost_bytes` how much of it there was."""

    line: int
    lost_bytes: int

    def __str__(self) -> str:
        return f"line {self.line} was cut short by a crash and is left out ({self.lost_bytes} bytes)"


@dataclass(frozen=True)
class Content:
    """What a journal file holds: its whole lines, their size, and the torn last line if there is one.

    `unclosed` marks a last line that is whole but for its newline; it is among the entries.
    """

    entries: list[Entry]
    size_bytes: int
    torn: Torn | None = None
    unclosed: bool = False


def read_journal(run_dir: Path) -> Content:
    """Read a run's journal without touching or locking it; a torn last line is told and left out.

    NoRun where there is no whole line; JournalDamaged where any line but the last is not what was written.
    """
    content = _read(run_dir / JOURNAL_NAME)
    if not content.entries:
        raise NoRun(run_dir)
    return content


def entries_of(run_dir: Path) -> Iterator[Entry]:
    """The entries of a run's journal one by one, as `read_journal` has them: for a long one, far less memory."""
    found = False
    for entry in _Reader(run_dir / JOURNAL_NAME):
        found = True
        yield entry
    if not found:
        raise NoRun(run_dir)


def read_moments(run_dir: Path) -> list[tuple[float, str]]:
    """The time and name of each event of a run, without reading what happened in it; as `read_journal` otherwise."""
    with suppress(FileNotFoundError, ValueError):
        found = [_moment(line) for line in _lines(run_dir / JOURNAL_NAME)]
        if found and None not in found:
            return [moment for moment in found if moment]
    return [(entry.t, entry.event) for entry in entries_of(run_dir)]  # of another hand, torn or damaged


class Journal:
    """An open journal, held by this process alone.

    `entries` are those found at opening, `torn` says what was cut off, if anything. Use as a context manager.
    """

    def __init__(
        self, file: lines.RawFile, path: Path, content: Content, clock: Callable[[], float], fsync: bool
    ) -> None:
        self.path = path
        self.entries = content.entries
        self.torn = content.torn
        self._file = file
        self._size_bytes = content.size_bytes
        self._next = len(content.entries)
        self._clock = clock
        self._fsync = fsync
        self._lock: int | None = None
        self._failed: StoreError | None = None

    @classmethod
    def open(cls, run_dir: Path, clock: Callable[[], float] = time.time, fsync: bool = True) -> Journal:
        """Open or create the journal of a run: RunBusy where another process has it, JournalDamaged where it is bad.

        Without `fsync` a power cut may lose the latest lines; for fakes and benchmarks.
        """
        run_dir.mkdir(parents=True, exist_ok=True)
        path = run_dir / JOURNAL_NAME
        lock = _lock(run_dir)
        try:
            content = _read(path)
            file = os.fdopen(open_plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab", buffering=0)
            if content.torn is not None:
                file.truncate(content.size_bytes)
            journal = cls(file, path, content, clock, fsync)
            if content.unclosed:
                journal._size_bytes = lines.append(file, path, content.size_bytes, b"\n", fsync)
            if fsync:
                _sync_directory(run_dir)
        except BaseException:
            os.close(lock)
            raise
        journal._lock = lock
        return journal

    def append(self, event: str, payload: Mapping[str, Any], details: Mapping[str, Any] | None = None) -> Entry:
        """Write one event and return it as a reader would find it: when this returns, it is on disk.

        StorageFull or StorageFailed where it could not be written; the journal is then as it was before, and takes
        no more events until it is opened again.
        """
        record = {"n": self._next, "t": self._clock(), "event": event, "payload": payload}
        if details is not None:
            record["details"] = details
        if self._failed is not None:
            raise self._failed
        line = lines.encode(record)
        if len(line) > MOST_LINE_BYTES:
            raise StorageFailed(self.path, f"an event of {len(line)} bytes; at most {MOST_LINE_BYTES} are read again")
        with lines.uninterrupted():
            try:
                self._size_bytes = lines.append(self._file, self.path, self._size_bytes, line, self._fsync)
            except StoreError as error:
                self._failed = error
                raise
            self._next += 1
        return _entry(self.path, self._next - 1, line[:-1])

    def close(self) -> None:
        """Close the file and let other processes have the run."""
        self._file.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Reader:
    """Reads a journal line by line; `size_bytes`, `torn` and `unclosed` (see `Content`) are known at the end.

    There are no entries if there is no file; NotPlain if it is a link.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = 0
        self.torn: Torn | None = None
        self.unclosed = False

    def __iter__(self) -> Iterator[Entry]:
        torn: Torn | None = None
        with suppress(FileNotFoundError):
            for number, line in enumerate(_lines(self.path)):
                if torn is not None:
                    raise JournalDamaged(self.path, torn.line, "its checksum does not match its text")
                text = line.removesuffix(b"\n")
                if not lines.is_whole(text):
                    torn = Torn(number + 1, len(line))
                    continue
                yield _entry(self.path, number, text)
                self.size_bytes += len(line)
                self.unclosed = len(text) == len(line)
        self.torn = torn


def _entry(path: Path, number: int, text: bytes) -> Entry:
    """The entry of a whole line, counted from zero; JournalDamaged if it is none."""
    try:
        record, details = lines.split(text)
    except (ValueError, RecursionError) as error:
        raise JournalDamaged(path, number + 1, f"it is not what Foretell writes ({error})") from error
    if record.keys() != _MEMBERS:
        raise JournalDamaged(path, number + 1, f"it has the members {sorted(record)}, not those of a journal")
    n, t, event, payload = record["n"], record["t"], record["event"], record["payload"]
    if n != number:
        raise JournalDamaged(path, number + 1, f"it has the sequence number {n} where {number} was expected")
    if not (isinstance(event, str) and isinstance(payload, dict) and _is_moment(t)):
        raise JournalDamaged(path, number + 1, "its time, event or payload is of another type")
    return Entry(n, t, event, payload, None if details is None else Details(path, number + 1, details))


def _read(path: Path) -> Content:
    reader = _Reader(path)
    return Content(list(reader), reader.size_bytes, reader.torn, reader.unclosed)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a journal one by one; NotPlain where it is a link, JournalDamaged where it or a line is too long."""
    descriptor = open_plain(path)
    with os.fdopen(descriptor, "rb", buffering=_BUFFER_BYTES) as file:
        if os.fstat(descriptor).st_size > MOST_BYTES:
            raise JournalDamaged(path, 1, f"the file has more than {MOST_BYTES} bytes")
        number = 0
        while line := file.readline(MOST_LINE_BYTES + 1):
            number += 1
            if len(line) > MOST_LINE_BYTES:
                raise JournalDamaged(path, number, f"it has more than {MOST_LINE_BYTES} bytes")
            yield line


def _moment(line: bytes) -> tuple[float, str] | None:
    """The time and name of the event of a line, if it begins as Foretell writes it."""
    match = _HEAD.match(line)
    if match is None or not _is_moment(float(match[1])):
        return None
    return float(match[1]), match[2].decode()


def _is_moment(value: object) -> bool:
    return type(value) in (float, int) and 0 <= value < _END_OF_TIME_S  # type: ignore[operator]


def _lock(run_dir: Path) -> int:
    """Lock the run for this process; the lock goes with the process, however it ends."""
    path = run_dir / LOCK_NAME
    lock = open_plain(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 64).decode(errors="replace").strip()
        os.close(lock)
        raise RunBusy(run_dir, holder) from None
    with suppress(OSError):  # a courtesy to whoever finds the run busy: on a full disk the lock holds without it
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
    return lock


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
