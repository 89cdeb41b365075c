"""How well `program` forecasts other people's kernels: rows of the shared table whose Programs were recorded.

    python -m benchmarks.programs.evaluate TABLE.parquet CACHE [--output FILE.json]

CACHE is what `benchmarks.programs.record` made. Times of the table are eager, so forecasts of `eager_us` are compared.
Figures are means over cells (same data set, problem and GPU) with at least two timed candidates; a candidate without a
Program counts as being as fast as its reference. Held-out problems are read with `--part held_out` alone, and each such
run is appended to benchmarks/programs/held_out_log.jsonl.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.programs.record import is_evaluated, key_of, reference_text
from benchmarks.programs.split import committed, family_of, rows_of
from foretell.belief import spearman
from foretell.kernels.cost.steps import ProgramTime, times_of
from foretell.kernels.device import Device
from foretell.kernels.evaluate.foreign import foreign_device
from foretell.kernels.forecast.program import compared_times
from foretell.kernels.program import Program
from foretell.kernels.record.job import decoded

LOG = Path(__file__).with_name("held_out_log.jsonl")
APART = math.log2(1.1)
Z80 = 1.2816


@dataclass(frozen=True)
class Forecasted:
    """One row: measured and forecast times in microseconds, and what the forecast rests on."""

    row: str
    group: str
    cell: str
    gpu: str
    dataset: str
    measured_us: float | None
    measured_log2: float | None
    us: float | None
    reference_us: float | None
    measured_reference_us: float | None
    log2: float | None
    doubt_log2: float | None
    bound: str
    reason: str


def recorded(cache: Path, key: str) -> tuple[Program | None, str]:
    """The Program of a key, or why there is none; an empty reason if it was not recorded yet."""
    path = cache / f"{key}.json.gz"
    if not path.exists():
        return None, ""
    data = gzip.decompress(path.read_bytes())
    plain = json.loads(data)
    if "failure" in plain:
        return None, str(plain["failure"])
    recording = decoded(data)
    return recording.program, str(recording.refusal or "")


def forecast_row(row: Mapping[str, Any], cache: Path, references: dict[Any, ProgramTime | None]) -> Forecasted | None:
    """The forecast of one row; None if it or its reference was not recorded yet."""
    text = reference_text(row)
    if text is None:
        return None
    device = foreign_device(row["gpu"])
    known = (text, device.name)
    if known not in references:
        program, reason = recorded(cache, key_of(text, None, ""))
        if program is None and not reason:
            return None
        references[known] = times_of(program, device) if program is not None else None
    reference = references[known]
    program, reason = recorded(cache, key_of(text, row["candidate_code"], device.toolchain))
    if program is None and not reason:
        return None
    return _row(row, device, reference, program, reason)


def _row(
    row: Mapping[str, Any], device: Device, reference: ProgramTime | None, program: Program | None, reason: str
) -> Forecasted:
    candidate = times_of(program, device) if program is not None else None
    us = candidate.eager_us if candidate else reference.eager_us if reference else None
    pair = compared_times(reference, candidate) if reference and candidate else None
    speedup = row["speedup"]
    return Forecasted(
        row["row_id"],
        row["split_group"],
        row["cell_id"],
        row["gpu"],
        row["dataset"],
        row["candidate_ms"] * 1e3 if row["candidate_ms"] else None,
        math.log2(speedup) if speedup else None,
        us,
        reference.eager_us if reference else None,
        row["reference_ms"] * 1e3 if row["reference_ms"] else None,
        pair.eager_log2 if pair else None,
        pair.doubt_log2 if pair else None,
        _bound(candidate),
        reason,
    )


def _bound(found: ProgramTime | None) -> str:
    """What the longest step of a Program is bound by."""
    if found is None or not found.steps:
        return "not recorded"
    longest = max(found.steps, key=lambda step: step.us)
    if longest.basis != "dry run":
        return longest.basis
    parts = longest.parts_us or {}
    return f"dry run: {max(parts, key=lambda name: parts[name], default='')}"


def figures(rows: Sequence[Forecasted]) -> dict[str, Any]:
    """Means over cells, and errors over rows."""
    cells: dict[str, list[Forecasted]] = defaultdict(list)
    for row in rows:
        if row.measured_us and row.us:
            cells[row.cell].append(row)
    pairs, picks, ranks = [], [], []
    for members in cells.values():
        if len(members) < 2:
            continue
        measured = np.log2([row.measured_us or 1.0 for row in members])
        forecast = np.log2([row.us or 1.0 for row in members])
        picks.append(float(np.exp2(measured.min() - measured[forecast.argmin()])))
        order = [
            _agree(forecast[i] - forecast[j], measured[i] - measured[j])
            for i in range(len(members))
            for j in range(i)
            if abs(measured[i] - measured[j]) > APART
        ]
        if order:
            pairs.append(float(np.mean(order)))
        if len(members) > 2 and np.ptp(measured) > APART:
            ranks.append(spearman(-forecast, -measured) if np.ptp(forecast) > 0 else 0.0)
    own = [row for row in rows if row.measured_us and row.us and row.bound != "not recorded"]
    off = np.array([math.log2((row.us or 1.0) / (row.measured_us or 1.0)) for row in own])
    ratio = [row for row in rows if row.log2 is not None and row.measured_log2 is not None]
    found: dict[str, Any] = {
        "rows": len(rows),
        "with_program": float(np.mean([row.bound != "not recorded" for row in rows])) if rows else None,
        "cells": len(picks),
        "pairs_right": _mean(pairs),
        "cells_with_pairs": len(pairs),
        "first_pick": _mean(picks),
        "spearman": _mean(ranks),
        "cells_with_ranks": len(ranks),
        "median_error_log2": float(np.median(np.abs(off))) if len(off) else None,
        "median_off_log2": float(np.median(off)) if len(off) else None,
    }
    if ratio:
        errors = np.array([(row.log2 or 0.0) - (row.measured_log2 or 0.0) for row in ratio])
        widths = np.array([2.0 * Z80 * (row.doubt_log2 or 0.0) for row in ratio])
        found |= {
            "ratio_median_error_log2": float(np.median(np.abs(errors))),
            "coverage_80": float(np.mean(np.abs(errors) <= widths / 2.0)),
            "median_width_80_log2": float(np.median(widths)),
        }
    seen: dict[tuple[str, float], float] = {}
    for row in rows:
        if row.reference_us and row.measured_reference_us:
            seen[row.cell, row.measured_reference_us] = math.log2(row.reference_us / row.measured_reference_us)
    if seen:
        off = np.array(list(seen.values()))
        found["references"] = len(off)
        found["reference_median_error"] = float(np.median(np.abs(np.exp2(off) - 1.0)))
        found["reference_median_off_log2"] = float(np.median(off))
    return found


def _agree(forecast: float, measured: float) -> float:
    return 0.5 if forecast == 0.0 else float((forecast > 0.0) == (measured > 0.0))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def by(rows: Sequence[Forecasted], name: str) -> dict[str, Any]:
    """Figures of the rows grouped by an attribute."""
    groups: dict[str, list[Forecasted]] = defaultdict(list)
    for row in rows:
        groups[family_of(row.group) if name == "family" else getattr(row, name)].append(row)
    return {key: figures(members) for key, members in sorted(groups.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--part", choices=tuple(committed()), default="development")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    references: dict[Any, ProgramTime | None] = {}
    found = []
    for row in rows_of(arguments.table, arguments.part):
        if is_evaluated(row):
            one = forecast_row(row, arguments.cache, references)
            if one is not None:
                found.append(one)
    report = {"part": arguments.part, "problems": len({row.group for row in found}), "all": figures(found)}
    report |= {f"by_{name}": by(found, name) for name in ("family", "gpu", "dataset", "bound")}
    if arguments.part != "development":
        with LOG.open("a") as log:
            log.write(json.dumps({"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **report["all"]}) + "\n")
    if arguments.output:
        arguments.output.write_text(json.dumps(report | {"rows": [asdict(row) for row in found]}, indent=1) + "\n")
    print(json.dumps(report["all"], indent=1))


if __name__ == "__main__":
    main()
