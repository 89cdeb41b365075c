"""Whether step times of `program` help the trained forecaster `features`, on a sample of the corpus.

    python -m benchmarks.programs.collect FOLDER         # once: recordings and dry runs of a stratified sample
    python -m benchmarks.programs.step_times FOLDER      # benchmarks/results/programs_step_times.json

Models are trained alike on the sampled rows for training: without and with columns of step times, and with `program`'s
total in place of the dry run's estimate. All are judged by Spearman within operations on the sampled rows that are held
out, beside the shipped model, which was trained on all rows for training, `program` alone, and the mean of both.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.programs.classes import timed
from benchmarks.programs.collect import collected
from foretell.belief import spearman
from foretell.kernels.corpus import table
from foretell.kernels.cost.steps import ProgramTime
from foretell.kernels.device import roofline_s
from foretell.kernels.devices import described
from foretell.kernels.evaluate.pools import subject_of
from foretell.kernels.forecast import make
from foretell.kernels.forecast.model import ESTIMATE
from foretell.kernels.library import get
from foretell.train.features import Rows, _bare, _one_thread, fit_speed, prepare, reference_times

RESULTS = Path("benchmarks/results/programs_step_times.json")
DEVICE = described("h200")
SPLITS = ("held_operation", "held_family", "held_written")
LEAST = 6  # working candidates from which a rank correlation within an operation is told
SEEDS = (0, 1, 2, 3)
TREES = 100
PARTS = ("memory", "cache", "unit", "lines", "issue", "arithmetic", "double", "special", "tensor", "atomics", "waiting")
PREFIX = "relative.program_"


def columns_of(row: Mapping[str, Any], times: ProgramTime) -> dict[str, float]:
    """Logarithms of times over the roofline's floor: of the whole, of parts of the device, and of the longest step."""
    task = get(row["task"], "gpu")
    workload = next(each for each in task.workloads if each.name == row["workloads"][0]["name"])
    floor = max(1e-3, roofline_s(task, workload, DEVICE) * 1e6)
    parts: dict[str, float] = defaultdict(float)
    for step in times.steps:
        for name, us in (step.parts_us or {}).items():
            parts[name] += us
    found = {name: parts[name] for name in PARTS}
    found |= {"together": times.device_us, "longest": max(step.us for step in times.steps)}
    return {name: float(np.log2(max(us, 1e-3) / floor)) for name, us in found.items()} | {"steps": len(times.steps)}


def with_columns(rows: Rows, columns: Sequence[Mapping[str, float]], instead: bool) -> Rows:
    """The rows with columns of step times; `instead`: `program`'s total takes the place of the dry run's estimate."""
    names = tuple(columns[0])
    added = np.array([[each[name] for name in names] for each in columns])
    held = np.concatenate([rows.table, added], axis=1)
    if instead:
        held[:, rows.names.index(ESTIMATE)] = added[:, names.index("together")]
    return replace(rows, names=(*rows.names, *(PREFIX + name for name in names)), table=held)


def within(means: np.ndarray[Any, np.dtype[np.float64]], rows: Sequence[Mapping[str, Any]], split: str) -> list[float]:
    """Rank correlations with the measured speedups, of each operation of a split."""
    places: dict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        if row["split"] == split and row["speedup"]:
            places[row["task"]].append(at)
    speedups = np.array([row["speedup"] or 0.0 for row in rows])
    return [spearman(means[its], speedups[its]) for its in places.values() if len(its) >= LEAST]


def shipped(rows: Sequence[Mapping[str, Any]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What the shipped model says of each row, after the build."""
    forecaster, means = make("features", 0), np.zeros(len(rows))
    places: dict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        places[row["task"]].append(at)
    for name, its in places.items():
        forecasts = forecaster.forecast(get(name, "gpu"), DEVICE, [subject_of(rows[at], "build") for at in its])
        means[its] = [forecast.mean for forecast in forecasts]
    return means


def run(folder: Path) -> dict[str, Any]:
    corpus = [row for row in table.read() if row["kind"] == "gpu"]
    by_id = {row["id"]: row for row in corpus}
    pairs = [(by_id[one.id], one) for one in collected(folder) if one.program is not None]
    pairs = [(row, one) for row, one in pairs if row["workloads"]]
    rows = [row for row, _ in pairs]
    columns = [columns_of(row, timed(one)) for row, one in pairs]
    prepared = prepare(rows, {row["device"]: DEVICE for row in rows}, reference_times(corpus), "build")
    train = np.array([row["split"] == "train" for row in rows]) & prepared.works
    variants = {
        "without step times": prepared,
        "with step times": with_columns(prepared, columns, instead=False),
        "with step times, over program's total": with_columns(prepared, columns, instead=True),
    }
    program, told = prepared.headroom - np.array([each["together"] for each in columns]), shipped(rows)
    means = {"program alone": [program], "shipped, trained on all rows": [told],
             "mean of both": [(program + told) / 2.0]}  # fmt: skip
    with _one_thread():
        for name, own in variants.items():
            means[name] = [
                _bare(own, fit_speed(own, train, "build", seed, TREES), train).means(own.table, own.headroom)
                for seed in SEEDS
            ]
    report: dict[str, Any] = {"rows": len(rows), "trained_on": int(train.sum()), "seeds": len(SEEDS), "splits": {}}
    for split in SPLITS:
        figures = {name: [float(np.mean(within(each, rows, split))) for each in own] for name, own in means.items()}
        report["splits"][split] = {
            "operations": len(within(means["program alone"][0], rows, split)),
            "rows": sum(row["split"] == split for row in rows),
            "spearman": {name: float(np.mean(values)) for name, values in figures.items()},
            "spearman_by_seed": figures,
        }
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    report = run(parser.parse_args().folder)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
