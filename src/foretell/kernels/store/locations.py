"""Where Foretell keeps what outlives a run: built objects and the measurement catalogue."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def cache_path() -> Path:
    """`$FORETELL_CACHE`, or `foretell` in the user's cache folder, whether it exists or not."""
    named = os.environ.get("FORETELL_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foretell"


def cache_dir() -> Path:
    """The folder of `cache_path`, made if absent."""
    base = cache_path()
    base.mkdir(parents=True, exist_ok=True)
    return base


def trusted_dir() -> Path:
    """What only code of this package writes, keyed by content: within the sandbox it is read-only.

    `$FORETELL_TRUSTED`, which the sandbox sets, or `trusted` in the cache folder; made if absent and if it can be.
    """
    named = os.environ.get("FORETELL_TRUSTED")
    folder = Path(named) if named else cache_dir() / "trusted"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder
