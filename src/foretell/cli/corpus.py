"""The recorded corpus as verbs find it: in a folder of the repository, which no wheel contains."""

from __future__ import annotations

from pathlib import Path

from foretell.cli.errors import BadInput

_WHERE = (
    "corpus_cpu.parquet and corpus_gpu.parquet, which are in the folder data of Foretell's repository and source "
    "distribution, not in its wheel"
)


def no_corpus(path: Path, command: str) -> BadInput:
    """The error for a corpus that is not there; `command` is the one to run once there is."""
    what = f"there is no {path}" if path.suffix else f"there is no corpus in {path}"
    return BadInput(what, _WHERE, f"fetch that folder, then {command}")


def is_absent(path: Path) -> bool:
    """True if neither a table nor a folder with tables is there."""
    return not path.exists() or (path.is_dir() and not any(path.glob("*.parquet")))
