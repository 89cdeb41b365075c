"""A bound on what a folder of the cache holds: entries that nobody used for longest go first."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

LOOK_S = 600.0  # a folder is looked through once in this time, whichever process does it
SPARED_S = 86400.0  # what was used in this time may be in use still
_MARK = "looked-through"
_BLOCK_BYTES = 512  # of `st_blocks`


def trim(folder: Path, record: str, most_bytes: int) -> None:
    """Remove entries, `??/KEY` in a folder, until the others take `most_bytes` or were all used within SPARED_S.

    An entry is a folder of plain files; it was last used when its file `record` was last touched.
    """
    now = time.time()
    mark = folder / _MARK
    with suppress(OSError):
        if 0 <= now - mark.stat().st_mtime < LOOK_S:
            return
    with suppress(OSError):
        mark.touch()
    found = sorted(_entry(place, record) for place in folder.glob("??/*"))
    left = sum(taken for _, taken, _ in found)
    for used, taken, place in found:
        if left <= most_bytes or used > now - SPARED_S:
            return
        _remove(place, record)
        left -= taken


def _entry(place: Path, record: str) -> tuple[float, int, Path]:
    """When an entry was last used, what it takes of the disk, and where it is."""
    used, taken = 0.0, 0
    with suppress(OSError):
        used = place.stat().st_mtime
        for each in os.scandir(place):
            found = each.stat(follow_symlinks=False)
            taken += found.st_blocks * _BLOCK_BYTES
            used = max(used, found.st_mtime if each.name == record else 0.0)
    return used, taken, place


def _remove(place: Path, record: str) -> None:
    """The record first, so that nobody finds half an entry."""
    with suppress(OSError):
        (place / record).unlink(missing_ok=True)
        for each in place.iterdir():
            each.unlink(missing_ok=True)
        place.rmdir()
