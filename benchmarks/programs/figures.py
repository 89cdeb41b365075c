"""Figures of forecasts of other people's kernels: order within cells, errors, coverage, with intervals by problem."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.programs.split import family_of
from foretell.belief import cluster_bootstrap, spearman

APART = math.log2(1.1)
Z80 = 1.2816
REPLICATES = 1000


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


@dataclass(frozen=True)
class Cell:
    """How well the candidates of one cell were ordered; None where there was nothing to order."""

    group: str
    pick: float
    pairs: float | None
    rank: float | None


def cells_of(rows: Sequence[Forecasted]) -> list[Cell]:
    """The cells with at least two timed candidates."""
    cells: dict[str, list[Forecasted]] = defaultdict(list)
    for row in rows:
        if row.measured_us and row.us:
            cells[row.cell].append(row)
    return [_cell(members) for members in cells.values() if len(members) > 1]


def _cell(members: Sequence[Forecasted]) -> Cell:
    measured = np.log2([row.measured_us or 1.0 for row in members])
    forecast = np.log2([row.us or 1.0 for row in members])
    order = [
        _agree(forecast[i] - forecast[j], measured[i] - measured[j])
        for i in range(len(members))
        for j in range(i)
        if abs(measured[i] - measured[j]) > APART
    ]
    rank = None
    if len(members) > 2 and np.ptp(measured) > APART:
        rank = spearman(-forecast, -measured) if np.ptp(forecast) > 0 else 0.0
    pick = float(np.exp2(measured.min() - measured[forecast.argmin()]))
    return Cell(members[0].group, pick, _mean(order), rank)


def figures(rows: Sequence[Forecasted]) -> dict[str, Any]:
    """Means over cells, and errors over rows."""
    cells = cells_of(rows)
    picks = [cell.pick for cell in cells]
    pairs = [cell.pairs for cell in cells if cell.pairs is not None]
    ranks = [cell.rank for cell in cells if cell.rank is not None]
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


def intervals(rows: Sequence[Forecasted]) -> dict[str, list[float]]:
    """95 % intervals of the main figures; problems are drawn whole."""
    cells = cells_of(rows)
    ratio = [row for row in rows if row.log2 is not None and row.measured_log2 is not None]
    own = [row for row in rows if row.measured_us and row.us and row.bound != "not recorded"]
    columns: dict[str, tuple[list[tuple[str, float]], Any]] = {
        "with_program": ([(row.group, float(row.bound != "not recorded")) for row in rows], np.mean),
        "pairs_right": ([(cell.group, cell.pairs) for cell in cells if cell.pairs is not None], np.mean),
        "first_pick": ([(cell.group, cell.pick) for cell in cells], np.mean),
        "median_error_log2": (
            [(row.group, abs(math.log2((row.us or 1.0) / (row.measured_us or 1.0)))) for row in own],
            np.median,
        ),
        "coverage_80": ([(row.group, float(_covers(row))) for row in ratio], np.mean),
    }
    found = {}
    for name, (values, statistic) in columns.items():
        if values:
            groups, column = zip(*values, strict=True)
            estimate = cluster_bootstrap(statistic, np.array(column), groups=np.array(groups), replicates=REPLICATES)
            found[name] = [estimate.low, estimate.high]
    return found


def _covers(row: Forecasted) -> bool:
    return abs((row.log2 or 0.0) - (row.measured_log2 or 0.0)) <= Z80 * (row.doubt_log2 or 0.0)
