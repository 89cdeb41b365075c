"""How well `program` orders candidates of our own corpus, beside the dry run alone, with nothing fitted to either.

    python -m benchmarks.programs.corpus --record [--each 30] [--processes 16] [--seconds 300]
    python -m benchmarks.programs.corpus [--dry-runs FOLDER]   # writes benchmarks/results/programs_corpus.json

A seeded sample of each operation's working candidates, on the first workload that was measured; device time of the
bench (graph replay, cold cache) is compared with `device_us`. Operations take turns, so that a recording that
was cut short has about equally many of each.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.programs.observations import keep_observations
from benchmarks.programs.record import Job, record_all
from foretell.belief import spearman
from foretell.kernels.corpus import table
from foretell.kernels.cost.steps import ProgramTime, times_of
from foretell.kernels.devices import described
from foretell.kernels.forecast.estimate import NEEDED, estimated_us
from foretell.kernels.library import get
from foretell.kernels.multiprocessor import capability_of, multiprocessor_of

RESULTS = Path("benchmarks/results/programs_corpus.json")
COLUMNS = ("kind", "task", "family", "language", "device", "features", "speedup", "workloads", "source")
SEED = 7
LEAST = 6  # recorded candidates from which a rank correlation within an operation is told
DEVICE = described("h200")


def sample(each: int, operations: int | None = None) -> list[dict[str, Any]]:
    """So many candidates of each operation, or of so many operations, the operations taking turns."""
    tasks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in table.read(columns=COLUMNS):
        if row["kind"] == "gpu" and row["speedup"] and row["workloads"]:
            tasks[row["task"]].append(row)
    draw = random.Random(SEED)
    chosen = [draw.sample(rows, len(rows))[:each] for _, rows in sorted(tasks.items())]
    if operations is not None:
        chosen = random.Random(SEED).sample(chosen, operations)
    return [rows[number] for number in range(each) for rows in chosen if number < len(rows)]


def job_of(row: dict[str, Any]) -> Job:
    workload = row["workloads"][0]["name"]
    return Job(partial(get, row["task"], "gpu"), workload, row["source"], row["language"], DEVICE)


def dry_run_us(row: dict[str, Any]) -> float | None:
    """The dry run's estimate from the counts in the corpus, as benchmarks/dry_run.py makes it."""
    build = dict(row["features"] or ())
    if NEEDED not in build:
        return None
    room = DEVICE.cores * multiprocessor_of(capability_of(DEVICE)).threads
    waves = 2.0 ** build["blocks_log2"] * build["threads"] / (room * max(build["occupancy"], 1 / 64))
    return estimated_us(build, DEVICE, waves)["together"]


def timed(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], ProgramTime | None]]:
    """Rows with the times of their Programs; None if there is none."""
    for row in rows:
        program = job_of(row).recording().program
        yield row, None if program is None else times_of(program, DEVICE)


def evaluated(pairs: Iterable[tuple[dict[str, Any], ProgramTime | None]]) -> dict[str, Any]:
    """Rank correlations within operations, and errors, of the rows that were recorded."""
    groups: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    bounds: dict[str, list[float]] = defaultdict(list)
    families: dict[str, set[str]] = defaultdict(set)
    languages: Counter[str] = Counter()
    refused = 0
    for row, times in pairs:
        dry = dry_run_us(row)
        if times is None or dry is None:
            refused += times is None
            continue
        measured = float(row["workloads"][0]["candidate_us"])
        groups[row["task"]].append((times.device_us, dry, measured))
        families[row["family"]].add(row["task"])
        languages[row["language"]] += 1
        longest = max(times.steps, key=lambda step: step.us)
        parts = longest.parts_us or {}
        bounds[max(parts, key=parts.__getitem__, default="unknown")].append(math.log2(times.device_us / measured))
    ranks = {name: _ranks(np.array(values)) for name, values in groups.items() if len(values) >= LEAST}
    off = np.array([value for values in bounds.values() for value in values])
    return {
        "candidates": len(off),
        "refused": refused,
        "by_language": dict(languages),
        "operations": len(ranks),
        "spearman_within_operation": float(np.mean([rank[0] for rank in ranks.values()])),
        "spearman_within_operation_dry_run": float(np.mean([rank[1] for rank in ranks.values()])),
        "off_log2": [float(value) for value in np.quantile(off, (0.1, 0.5, 0.9))],
        "median_error_log2": float(np.median(np.abs(off))),
        "by_bound": {
            name: {
                "candidates": len(values),
                "median_off_log2": float(np.median(values)),
                "median_error_log2": float(np.median(np.abs(values))),
            }
            for name, values in sorted(bounds.items())
        },
        "by_family": {
            family: [float(np.mean([ranks[name][which] for name in names & ranks.keys()])) for which in (0, 1)]
            for family, names in sorted(families.items())
            if names & ranks.keys()
        },
        "by_operation": {name: list(rank) for name, rank in sorted(ranks.items())},
    }


def _ranks(values: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[float, float]:
    """Rank correlation with the measured times (last column) of each estimate."""
    return spearman(values[:, 0], values[:, 2]), spearman(values[:, 1], values[:, 2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-runs", type=Path, help="keep dry runs of launches in this folder")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--each", type=int, default=30)
    parser.add_argument("--operations", type=int, help="evaluate a seeded sample of so many operations")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no recording after that time")
    arguments = parser.parse_args()
    rows = sample(arguments.each, arguments.operations)
    if arguments.record:
        record_all([job_of(row) for row in rows], arguments.processes, arguments.seconds)
        return
    if arguments.dry_runs:
        keep_observations(arguments.dry_runs)
    report = evaluated(timed(rows))
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({key: value for key, value in report.items() if not key.startswith("by_")}, indent=1))


if __name__ == "__main__":
    main()
