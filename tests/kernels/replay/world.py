"""A small tuning space of our own, as values, as a table and as a Kernel Tuner cache file."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

VALUES: dict[str, list[Any]] = {"block": [16, 32, 64, 128, 256], "tile": [1, 2, 4], "mode": [0, 1], "fixed": [7]}
RESTRICTION = "block * tile <= 512"


def rows() -> list[dict[str, Any]]:
    """Allowed configurations with a time that has one best: block 64, tile 4, mode 1; tile 4 on block 16 fails."""
    found = []
    for block, tile, mode, fixed in itertools.product(*VALUES.values()):
        if block * tile > 512:
            continue
        failed = (block, tile) == (16, 4)
        time = 1.0 + abs(block.bit_length() - 7) * 0.7 + (4 - tile) * 0.3 + (1 - mode) * 0.5
        status = "compile_failed" if failed else "ok"
        config = {"block": block, "tile": tile, "mode": mode, "fixed": fixed}
        found.append({**config, "time_ms": None if failed else time, "status": status})
    return found


def write_table(folder: Path, name: str = "tiny__gpu") -> Path:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = folder / f"{name}.parquet"
    parquet.write_table(pa.Table.from_pylist(rows()), path)
    card = {
        "space": name,
        "kernel": "tiny",
        "gpu": "Some GPU",
        "parameters": list(VALUES),
        "parameter_values": VALUES,
        "restrictions_upstream": [RESTRICTION],
    }
    path.with_suffix(".json").write_text(json.dumps(card))
    return path


def cache() -> dict[str, Any]:
    """The same space as Kernel Tuner keeps it, with one configuration that broke a restriction."""
    words = {"compile_failed": "CompilationFailedConfig"}
    found = {}
    for row in rows():
        config = {name: row[name] for name in VALUES}
        time = words.get(row["status"], row["time_ms"])
        found[",".join(map(str, config.values()))] = {**config, "time": time, "compile_time": 3.5}
    found["256,4,0,7"] = {"block": 256, "tile": 4, "mode": 0, "fixed": 7, "time": "InvalidConfig"}
    return {
        "device_name": "Some GPU",
        "kernel_name": "tiny",
        "tune_params_keys": list(VALUES),
        "tune_params": VALUES,
        "cache": found,
    }
