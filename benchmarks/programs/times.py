"""How far forecast times of other people's kernels are off, beside the figures of `foretell eval`, as one report."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.programs.split import family_of
from foretell.belief import cluster_bootstrap
from foretell.kernels.cost.steps import ProgramTime
from foretell.kernels.evaluate.result import Result
from foretell.kernels.forecast.program import Compared

REPLICATES = 1000
NOT_RECORDED = "not recorded"
# Figures of `foretell eval` by the names that the page uses.
SHARED = {
    "pairs_right": "pairs_10", "first_pick": "first_pick", "spearman": "spearman_any",
    "bin_accuracy": "accuracy_pools", "ece_bins": "ece_bins",
}  # fmt: skip
Z80 = 1.2816


@dataclass(frozen=True)
class Timed:
    """One row: measured and forecast times in microseconds, log2 speedups, and what the forecast rests on."""

    group: str
    cell: str
    gpu: str
    dataset: str
    measured_us: float | None
    measured_log2: float | None
    measured_reference_us: float | None
    us: float | None
    reference_us: float | None
    log2: float | None
    doubt_log2: float | None
    bound: str
    reason: str

    @classmethod
    def of(cls, row: Mapping[str, Any], pair: Compared | None, reason: str) -> Timed:
        """A row of the shared table with the times that were forecast, or why there are none."""
        return cls(
            row["split_group"],
            row["cell_id"],
            row["gpu"],
            row["dataset"],
            row["candidate_ms"] * 1e3 if row["candidate_ms"] else None,
            math.log2(row["speedup"]) if row["speedup"] else None,
            row["reference_ms"] * 1e3 if row["reference_ms"] else None,
            pair.candidate.eager_us if pair else None,
            pair.reference.eager_us if pair else None,
            pair.eager_log2 if pair else None,
            pair.doubt_log2 if pair else None,
            bound_of(pair.candidate) if pair else NOT_RECORDED,
            reason,
        )


def bound_of(times: ProgramTime) -> str:
    """What the longest step of a Program is bound by."""
    longest = max(times.steps, key=lambda step: step.us, default=None)
    if longest is None:
        return "nothing to do"
    if longest.basis != "dry run":
        return longest.basis
    parts = longest.parts_us or {}
    return f"dry run: {max(parts, key=lambda name: parts[name], default='')}"


def report_of(result: Result, rows: Sequence[Timed]) -> dict[str, Any]:
    """The figures of `foretell eval` and errors of times: of all rows, and by family, GPU, data set and bound."""
    shared = {name: result.figures[key] for name, key in SHARED.items()}
    cells = {"cells": sum(pool["successes"] > 1 for pool in result.by_pool)}
    errors, intervals = errors_of(rows), intervals_of(rows)
    return {
        "part": result.split,
        "problems": len({row.group for row in rows}),
        "all": errors | cells | {name: _plain(estimate.value) for name, estimate in shared.items()},
        "intervals": intervals
        | {name: [estimate.low, estimate.high] for name, estimate in shared.items() if not math.isnan(estimate.low)},
        "by_family": _by(rows, result, lambda row: family_of(row.group)),
        "by_gpu": _by(rows, result, lambda row: row.gpu),
        "by_dataset": _by(rows, result, lambda row: row.dataset),
        "by_bound": {name: errors_of(members) for name, members in _groups(rows, lambda row: row.bound).items()},
    }


def _groups(rows: Sequence[Timed], key: Any) -> dict[str, list[Timed]]:
    groups: dict[str, list[Timed]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(sorted(groups.items()))


def _by(rows: Sequence[Timed], result: Result, key: Any) -> dict[str, dict[str, Any]]:
    """Errors of each group's rows, and means over its cells."""
    pools = {pool["pool"]: pool for pool in result.by_pool}
    found = {}
    for name, members in _groups(rows, key).items():
        own = [pools[cell] for cell in sorted({row.cell for row in members})]
        means = {
            figure: _mean([pool[column] for pool in own])
            for figure, column in SHARED.items()
            if own and column in own[0]
        }
        found[name] = errors_of(members) | means | {"cells": sum(pool["successes"] > 1 for pool in own)}
    return found


def errors_of(rows: Sequence[Timed]) -> dict[str, Any]:
    """Share of rows with a Program, errors of times and of log2 speedups, coverage and width of 80 % intervals."""
    off = np.array([math.log2(row.us / row.measured_us) for row in rows if row.us and row.measured_us])
    both = [row for row in rows if _both(row)]
    seen = {
        (row.cell, row.measured_reference_us): math.log2(row.reference_us / row.measured_reference_us)
        for row in rows
        if row.reference_us and row.measured_reference_us
    }
    found: dict[str, Any] = {
        "rows": len(rows),
        "with_program": _mean([float(row.bound != NOT_RECORDED) for row in rows]),
        "median_error_log2": _median(np.abs(off)),
        "median_off_log2": _median(off),
    }
    if both:
        found["ratio_median_error_log2"] = _median([_error(row) for row in both])
        found["coverage_80"] = _mean([float(_covers(row)) for row in both])
        found["median_width_80_log2"] = _median([2.0 * Z80 * (row.doubt_log2 or 0.0) for row in both])
    if seen:
        reference = np.array(list(seen.values()))
        found["references"] = len(reference)
        found["reference_median_error"] = _median(np.abs(np.exp2(reference) - 1.0))
        found["reference_median_off_log2"] = _median(reference)
    return found


def intervals_of(rows: Sequence[Timed]) -> dict[str, list[float]]:
    """95 % intervals of the figures of times; problems are drawn whole."""
    off = [(row.group, abs(math.log2(row.us / row.measured_us))) for row in rows if row.us and row.measured_us]
    columns: dict[str, tuple[list[tuple[str, float]], Any]] = {
        "with_program": ([(row.group, float(row.bound != NOT_RECORDED)) for row in rows], np.mean),
        "median_error_log2": (off, np.median),
        "coverage_80": ([(row.group, float(_covers(row))) for row in rows if _both(row)], np.mean),
    }
    found = {}
    for name, (values, statistic) in columns.items():
        if values:
            groups, column = zip(*values, strict=True)
            estimate = cluster_bootstrap(statistic, np.array(column), groups=np.array(groups), replicates=REPLICATES)
            found[name] = [estimate.low, estimate.high]
    return found


def _both(row: Timed) -> bool:
    return row.log2 is not None and row.measured_log2 is not None


def _covers(row: Timed) -> bool:
    return _error(row) <= Z80 * (row.doubt_log2 or 0.0)


def _error(row: Timed) -> float:
    return abs((row.log2 or 0.0) - (row.measured_log2 or 0.0))


def _mean(values: Sequence[float]) -> float | None:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else None


def _median(values: Any) -> float | None:
    return float(np.median(values)) if len(values) else None


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
