"""The log of evaluations: one line of JSON each, so that looks at a held-out set can be counted."""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from foretell import __version__
from foretell.kernels.corpus import table
from foretell.kernels.evaluate.result import Result

_GIT_S = 10.0


def append(path: Path, data: Path, results: Sequence[Result], settings: dict[str, Any]) -> None:
    """Add a line for each result: date, commit, hash of the table, split, forecaster and figures."""
    head = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": commit_of(Path(__file__).parent),
        "table": {"name": data.name, "sha256": hash_of(data)},
        "settings": settings,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for result in results:
            told = {name: value for name, value in result.to_dict().items() if name not in ("curves", "by_pool")}
            file.write(json.dumps(head | told, allow_nan=False) + "\n")


def hash_of(data: Path) -> str:
    """SHA-256 of a table, or of all tables of a folder in the order of their names."""
    digest = hashlib.sha256()
    for file in table.files(data) if data.is_dir() else [data]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def commit_of(folder: Path) -> str:
    """The commit that the code in a folder is at, with a mark if it was changed since; else the version."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=folder, capture_output=True, text=True, timeout=_GIT_S, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return f"version {__version__}"
    return answer.stdout.strip()
