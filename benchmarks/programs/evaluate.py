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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.programs.figures import Forecasted, by, figures, intervals
from benchmarks.programs.observations import keep_observations
from benchmarks.programs.record import is_evaluated, key_of, reference_text
from benchmarks.programs.split import committed, rows_of
from foretell.kernels.cost.steps import ProgramTime, times_of
from foretell.kernels.device import Device
from foretell.kernels.evaluate.foreign import foreign_device
from foretell.kernels.forecast.program import compared_times
from foretell.kernels.program import Program
from foretell.kernels.record.job import decoded

LOG = Path(__file__).with_name("held_out_log.jsonl")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--part", choices=tuple(committed()), default="development")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    keep_observations(arguments.cache / "observations")
    references: dict[Any, ProgramTime | None] = {}
    found = []
    for row in rows_of(arguments.table, arguments.part):
        if is_evaluated(row):
            one = forecast_row(row, arguments.cache, references)
            if one is not None:
                found.append(one)
    report = {"part": arguments.part, "problems": len({row.group for row in found}), "all": figures(found)}
    report["intervals"] = intervals(found)
    report |= {f"by_{name}": by(found, name) for name in ("family", "gpu", "dataset", "bound")}
    if arguments.part != "development":
        with LOG.open("a") as log:
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            log.write(json.dumps({"at": at, **report["all"], "intervals": report["intervals"]}) + "\n")
    if arguments.output:
        arguments.output.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({"all": report["all"], "intervals": report["intervals"]}, indent=1))


if __name__ == "__main__":
    main()
