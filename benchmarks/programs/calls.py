"""Measured library calls (benchmarks/library_calls.py) as steps of a Program, with their times."""

from __future__ import annotations

import json
from pathlib import Path

from foretell.kernels.cost.plain_calls import as_call
from foretell.kernels.program import LibraryCall


def read(path: Path) -> list[tuple[LibraryCall, float]]:
    """The calls that were measured, and their device times in microseconds."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [(as_call(row["operator"], row["arguments"]), float(row["us"])) for row in rows if row.get("us")]
