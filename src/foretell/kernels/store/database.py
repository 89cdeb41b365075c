"""One SQLite file shared by several processes: opened when first used, reopened when replaced, its errors typed.

Write-ahead logging where the file system has it, so that readers never wait for a writer; a busy timeout everywhere.
A connection belongs to the process that opened it: after a fork the child opens its own.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from foretell.kernels.store.errors import CatalogueBusy, CatalogueDamaged, StorageFailed, StorageFull, StoreError
from foretell.kernels.store.lines import uninterrupted
from foretell.received import open_plain

BUSY_TIMEOUT_S = 30.0
PAGE_CACHE_KIB = 8192
_PRIMARY_CODE = 0xFF  # the low byte of an extended result code
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_SIDE_FILES = ("-wal", "-shm", "-journal")
_STEPS_PER_LOOK = 1_000_000  # of SQLite's machine
_LONGEST_QUERY_S = 60.0  # of processor time
_MOST_COPIED_BYTES = 8 << 30
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")  # at the end of a journal that names another file
_MOST_VALUE_BYTES = 1 << 28
_FEW_BYTES, _TIMES_FILE = 1 << 20, 2  # what the rows that are read from a received file may have, by its size
_FOREIGN = """
SELECT type || ' ' || name FROM sqlite_schema WHERE type NOT IN ('table', 'index')
UNION ALL SELECT 'virtual table ' || name FROM sqlite_schema WHERE type = 'table' AND rootpage = 0
UNION ALL SELECT 'computed column ' || c.name FROM sqlite_schema t, pragma_table_xinfo(t.name) c
WHERE t.type = 'table' AND c.hidden <> 0
"""
_MAGIC, _HEADER_BYTES, _MARK_AT = b"SQLite format 3\0", 100, 68  # https://sqlite.org/fileformat2.html
_inherited: list[sqlite3.Connection] = []  # of a parent process: closing them here would upset it


class _OtherSchema(sqlite3.DatabaseError):
    """A database that is whole, but not one of ours."""


OnDamage = Callable[[CatalogueDamaged, Path], None]


def _columns(connection: sqlite3.Connection, table: str) -> dict[str, tuple[str, bool]]:
    """The declared type of each column by name, and whether it is the key."""
    found = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,))
    return {name.lower(): (kind.upper(), bool(key)) for name, kind, key in found}


@dataclass
class Counted:
    """The bytes of texts in what was read of a file, by several queries that read no row twice."""

    bytes: int = 0


class Database:
    """An SQLite file with one schema; reading does not create it.

    `application_id` marks the file as ours. Where the file is damaged, CatalogueDamaged is raised; with `on_damage` the
    file is set aside under another name instead, `on_damage` is called with the error and that name, and the operation
    is repeated on a new, empty file. A file with views, triggers or computed columns is damaged too: reading
    it would run what its maker says. With `received`, a copy of the file is read: what lies beside a database tells
    SQLite which files to write and delete.
    """

    def __init__(
        self,
        path: Path,
        schema: str,
        application_id: int,
        *,
        fsync: bool = True,
        on_damage: OnDamage | None = None,
        received: bool = False,
    ) -> None:
        self.path = path
        self._schema = schema
        self._application_id = application_id
        self._fsync = fsync
        self._on_damage = on_damage
        self._received = received
        self._connection: sqlite3.Connection | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._process = 0
        self._file: tuple[int, int] | None = None
        self._lock = threading.RLock()

    def read(self, query: str, values: Sequence[Any] = (), counted: Counted | None = None) -> list[tuple[Any, ...]]:
        """All rows of a query; none where the file does not exist.

        CatalogueDamaged where a received file has far more in these rows, and in those `counted` before, than it has
        bytes: rows may share the pages that they lie on.
        """
        count = counted or Counted()

        def operation() -> list[tuple[Any, ...]]:
            if not self.path.exists():
                return []
            connection = self._connected()
            end_s = time.thread_time() + _LONGEST_QUERY_S
            connection.set_progress_handler(lambda: time.thread_time() > end_s, _STEPS_PER_LOOK)
            try:
                found = connection.execute(query, values)
                return self._within_size(found, count) if self._received else found.fetchall()
            finally:
                connection.set_progress_handler(None, 0)

        rows: list[tuple[Any, ...]] = self._attempt(operation)
        return rows

    def _within_size(self, found: sqlite3.Cursor, counted: Counted) -> list[tuple[Any, ...]]:
        most = _FEW_BYTES + _TIMES_FILE * (_size(self.path) + _size(self._beside("-wal")))
        rows: list[tuple[Any, ...]] = []
        for row in found:
            counted.bytes += sum(len(value) for value in row if isinstance(value, str | bytes))
            if counted.bytes > most:
                raise CatalogueDamaged(self.path, "its rows have more bytes than the file")
            rows.append(row)
        return rows

    def write(self, operation: Callable[[sqlite3.Connection], Any]) -> Any:
        """Run `operation` in one transaction, all or nothing, and return its result; Ctrl-C waits until it is done."""

        def transaction() -> Any:
            with _transaction(self._connected()) as connection:
                return operation(connection)

        with uninterrupted():
            return self._attempt(transaction)

    def close(self) -> None:
        """Close the connection; the next operation opens another."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            if self._process == os.getpid():
                with suppress(sqlite3.Error):
                    connection.close()
                if self._copy is not None:
                    self._copy.cleanup()
            else:
                _inherited.append(connection)

    def _attempt(self, operation: Callable[[], Any]) -> Any:
        with self._lock:
            try:
                return self._typed(operation)
            except CatalogueDamaged as error:
                if self._on_damage is None:
                    raise
                place = self._set_aside()
                if place is not None:
                    self._on_damage(error, place)
            return self._typed(operation)

    def _typed(self, operation: Callable[[], Any]) -> Any:
        try:
            return operation()
        except sqlite3.Error as error:
            self.close()
            raise self._error(error) from error
        except OSError as error:
            raise StorageFailed(self.path, error.strerror or str(error)) from error

    def _error(self, error: sqlite3.Error) -> StoreError:
        code = (getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_ERROR) & _PRIMARY_CODE
        if code == sqlite3.SQLITE_FULL:
            return StorageFull(self.path, str(error))
        if code in _BUSY:
            return CatalogueBusy(self.path, BUSY_TIMEOUT_S)
        if code == sqlite3.SQLITE_INTERRUPT:
            return CatalogueDamaged(self.path, "reading it takes far too long")
        if code in _DAMAGED or isinstance(error, _OtherSchema) or str(error).startswith("no such"):
            return CatalogueDamaged(self.path, str(error))
        return StorageFailed(self.path, str(error))

    def _connected(self) -> sqlite3.Connection:
        """The connection of this process to the file that is there now."""
        if self._connection is not None and (self._process != os.getpid() or self._file != _identity(self.path)):
            self.close()
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _identity(self.path)
            if _names_another_file(self._beside("-journal")):
                raise CatalogueDamaged(self.path, "its journal names another file, which no journal of ours does")
            if not self._received:
                self._check_own()
            path = self._copied() if self._received else self.path
            connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._process, self._file = connection, os.getpid(), _identity(self.path)
        return self._connection

    def _check_own(self) -> None:
        """_OtherSchema for another program's database, of which no byte may change: SQLite is not asked, it writes.

        One of ours has its mark in the header, but for the moment of its first write: then it has one page, and all
        else is in the log.
        """
        place = self.path.resolve()
        bytes_here = _size(place)
        with suppress(FileNotFoundError), os.fdopen(open_plain(place), "rb") as file:
            header = file.read(_HEADER_BYTES)
            if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
                return
            mark = int.from_bytes(header[_MARK_AT : _MARK_AT + 4], "big")
            page_bytes = int.from_bytes(header[16:18], "big")
            is_one_page = bytes_here <= (page_bytes if page_bytes > 1 else 1 << 16)
            if mark != self._application_id and (mark or not is_one_page or _has_tables(file.read(8)[:8])):
                raise _OtherSchema("it is a database of another program or version")
            if mark != self._application_id and _size(self._beside("-wal")):
                self._check_log()

    def _check_log(self) -> None:
        """_OtherSchema if the write-ahead log beside a database without tables or mark holds another program's."""
        copy, held = self._copied(), self._copy
        with closing(sqlite3.connect(copy)) as connection:
            tables = connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()[0]
            is_ours = not tables or self._marked(connection)
        self._copy = None
        if held is not None:
            held.cleanup()
        if not is_ours:
            raise _OtherSchema("it is a database of another program or version")

    def _copied(self) -> Path:
        """A copy of the file and of its write-ahead log, in a folder of our own."""
        if _size(self._beside("-journal")):
            raise CatalogueDamaged(self.path, "a write to it was interrupted, or another process is writing to it")
        if _size(self.path) + _size(self._beside("-wal")) > _MOST_COPIED_BYTES:
            raise CatalogueDamaged(self.path, f"it has more than {_MOST_COPIED_BYTES} bytes")
        self._copy = tempfile.TemporaryDirectory(prefix="foretell-received-")
        copy = Path(self._copy.name) / "copy"
        for suffix in ("", "-wal"):
            source = self._beside(suffix)
            source = source if self._received else source.resolve()
            if not suffix or _size(source):
                with (
                    os.fdopen(open_plain(source), "rb") as file,
                    Path(f"{copy}{suffix}").open("wb") as target,
                ):
                    shutil.copyfileobj(file, target)
        return copy

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")  # checksums find what was damaged
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_VALUE_BYTES)
        connection.execute("PRAGMA trusted_schema = OFF")
        if self._received:
            connection.execute("PRAGMA query_only = ON")
            if not self._marked(connection):
                raise _OtherSchema("it is a database of another program or version")
            self._check_schema(connection)
            return
        with suppress(sqlite3.OperationalError):  # no shared memory on this file system, or another process is at it
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._fsync else 'NORMAL'}")
        connection.execute(f"PRAGMA cache_size = -{PAGE_CACHE_KIB}")
        if self._marked(connection):
            self._check_schema(connection)
            return
        with _transaction(connection):
            if self._marked(connection):
                return
            if connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()[0]:
                raise _OtherSchema("it is a database of another program or version")
            for statement in self._schema.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {self._application_id}")

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        foreign = connection.execute(_FOREIGN).fetchone()
        if foreign is not None:
            raise _OtherSchema(f"it has the {foreign[0]}, which no catalogue has")
        with closing(sqlite3.connect(":memory:")) as own:
            own.executescript(self._schema)
            for (table,) in own.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"):
                expected, found = (_columns(each, table) for each in (own, connection))
                odd = next((name for name, kind in found.items() if expected.get(name, kind) != kind), None)
                if odd is not None:
                    raise _OtherSchema(f"its column {odd[:40]} of {table} is of another kind")

    def _marked(self, connection: sqlite3.Connection) -> bool:
        return bool(connection.execute("PRAGMA application_id").fetchone()[0] == self._application_id)

    def _set_aside(self) -> Path | None:
        """Rename the damaged file, for whoever wants to save rows from it; None where another process did so first."""
        damaged = self._file
        self.close()
        with self.path.with_name(self.path.name + ".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if damaged is None or _identity(self.path) != damaged:
                return None
            number = 1
            while (place := self.path.with_name(f"{self.path.name}.damaged-{number}")).exists():
                number += 1
            for suffix in ("", *_SIDE_FILES):
                with suppress(FileNotFoundError):
                    self._beside(suffix).rename(place.with_name(place.name + suffix))
            return place


def _has_tables(page_header: bytes) -> bool:
    """Whether the first page of a database, whose list of tables begins behind the file's header, names any."""
    return page_header[:1] != b"\r" or page_header[3:5] != b"\0\0"


def _names_another_file(journal: Path) -> bool:
    """Whether a rollback journal ends in the name of a super-journal, a file that SQLite reads and deletes.

    Only transactions over several databases have one.
    """
    try:
        with os.fdopen(open_plain(journal), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(_SUPER_JOURNAL)))
            return file.read(len(_SUPER_JOURNAL)) == _SUPER_JOURNAL
    except FileNotFoundError:
        return False


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite has rolled back by itself after some errors
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
