"""Where built extensions are kept: the cache, or a process's own temporary folder if it may only read the cache."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

from foretell.kernels.store.locations import cache_dir, trusted_dir


def kept(name: str) -> Path:
    """The place of a kept file or folder: in the cache if it is there or can be made there."""
    try:
        home = cache_dir()
    except OSError:  # neither there nor to be made
        return _own_folder() / name
    return home / name if (home / name).exists() or os.access(home, os.W_OK) else _own_folder() / name


def trusted(name: str) -> Path:
    """The place of what only this package's own sources go into; read-only within the sandbox."""
    home = trusted_dir()
    return home / name if (home / name).exists() or os.access(home, os.W_OK) else kept(name)


def scratch() -> Path:
    """A folder to build in."""
    place = kept("extension-scratch")
    if place.exists() and not os.access(place, os.W_OK):
        place = _own_folder() / "extension-scratch"
    place.mkdir(parents=True, exist_ok=True)
    return place


@cache
def _own_folder() -> Path:
    """Of this process and those it forks from here on; nobody else may have put anything there."""
    return Path(tempfile.mkdtemp(prefix="foretell-"))
