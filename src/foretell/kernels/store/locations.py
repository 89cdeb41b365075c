"""Where Foretell keeps what outlives a run: built objects and the measurement catalogue."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """`$FORETELL_CACHE`, or `foretell` in the user's cache folder; made if absent."""
    named = os.environ.get("FORETELL_CACHE")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foretell"
    base.mkdir(parents=True, exist_ok=True)
    return base
