"""Reservations: a candidate that is being measured is marked, so that other processes wait for its result.

A reservation ends when it is released, when it expires, or when the process that made it is gone (known at once on the
same host). It is advice: losing one costs a measurement made twice, never a result.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from foretell.kernels.store.database import Database

SCHEMA = """
CREATE TABLE reservations (
    key TEXT PRIMARY KEY, holder TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, expires_at REAL NOT NULL
) WITHOUT ROWID
"""
_KEYS_PER_QUERY = 500


@dataclass(frozen=True)
class Holder:
    """Who reserves: one user of a catalogue in one process."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=platform.node)
    pid: int = field(default_factory=os.getpid)


def of_others(database: Database, holder: Holder, keys: Sequence[str], now: float) -> set[str]:
    """Those of `keys` that somebody else has reserved; only reads."""
    found: list[tuple[Any, ...]] = []
    for start in range(0, len(keys), _KEYS_PER_QUERY):
        chunk = keys[start : start + _KEYS_PER_QUERY]
        found += database.read(f"SELECT * FROM reservations WHERE key IN ({', '.join('?' * len(chunk))})", chunk)
    return {row[0] for row in found if _is_held(row, holder, now)}


def reserve(
    connection: sqlite3.Connection, holder: Holder, keys: Sequence[str], now: float, expires_at: float
) -> set[str]:
    """Those of `keys` that are now reserved for `holder`: free ones, its own (renewed), and abandoned ones."""
    taken = set()
    for key in keys:
        row = connection.execute("SELECT * FROM reservations WHERE key = ?", (key,)).fetchone()
        if row is None or not _is_held(row, holder, now):
            connection.execute(
                "INSERT OR REPLACE INTO reservations VALUES (?, ?, ?, ?, ?)",
                (key, holder.id, holder.host, holder.pid, expires_at),
            )
            taken.add(key)
    return taken


def release(connection: sqlite3.Connection, holder: Holder, keys: Iterable[str]) -> None:
    """Give up the holder's reservations of `keys`; those of others are left alone."""
    connection.executemany("DELETE FROM reservations WHERE key = ? AND holder = ?", [(key, holder.id) for key in keys])


def _is_held(row: tuple[Any, ...], holder: Holder, now: float) -> bool:
    """Whether the reservation is another's, has not expired, and its process is not known to be gone."""
    _, other, host, pid, expires_at = row
    if other == holder.id or not isinstance(expires_at, float) or expires_at <= now:
        return False
    return host != holder.host or _is_alive(pid)


def _is_alive(pid: object) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
