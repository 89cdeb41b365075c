"""Reservations: a candidate that is being measured is marked, so that other processes wait for its result.

A reservation ends when it is released, when it expires, or when the process that made it is gone (known at once on the
same host). It is advice: losing one costs a measurement made twice, never a result.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

SCHEMA = """
CREATE TABLE reservations (
    key TEXT PRIMARY KEY, holder TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, expires_at REAL NOT NULL
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class Holder:
    """Who reserves: one user of a catalogue in one process."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=platform.node)
    pid: int = field(default_factory=os.getpid)


def reserve(
    connection: sqlite3.Connection, holder: Holder, keys: Sequence[str], now: float, expires_at: float
) -> set[str]:
    """Those of `keys` that are now reserved for `holder`: free ones, its own (renewed), and abandoned ones."""
    taken = set()
    for key in keys:
        row = connection.execute(
            "SELECT holder, host, pid, expires_at FROM reservations WHERE key = ?", (key,)
        ).fetchone()
        if row is None or row[0] == holder.id or _is_over(row[3], now) or _is_gone(holder, row[1], row[2]):
            connection.execute(
                "INSERT OR REPLACE INTO reservations VALUES (?, ?, ?, ?, ?)",
                (key, holder.id, holder.host, holder.pid, expires_at),
            )
            taken.add(key)
    return taken


def release(connection: sqlite3.Connection, holder: Holder, keys: Sequence[str]) -> None:
    """Give up the holder's reservations of `keys`; those of others are left alone."""
    connection.executemany("DELETE FROM reservations WHERE key = ? AND holder = ?", [(key, holder.id) for key in keys])


def _is_over(expires_at: object, now: float) -> bool:
    return not isinstance(expires_at, float) or expires_at <= now


def _is_gone(holder: Holder, host: str, pid: int) -> bool:
    """Whether the process is known to have ended; unknown on another host."""
    if host != holder.host:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError, TypeError):
        return False
    return False
