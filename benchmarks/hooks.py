"""How well configurations of one kernel are ranked for Triton's autotuner, against times measured on the H200.

    python -m benchmarks.hooks             # benchmarks/results/hooks.json and docs/results/hooks.md

Kernels of the corpus whose texts differ in numbers alone are configurations of one kernel, as an autotuner has them.
`foretell.hooks` is shown what it is shown there: the build and the tensors, no source and no task.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.belief import spearman
from foretell.hooks.launch import Given, launch_ms
from foretell.kernels.candidate import Candidate
from foretell.kernels.corpus import table
from foretell.kernels.corpus.splits import by_tokens
from foretell.kernels.device import Device
from foretell.kernels.devices import described
from foretell.kernels.forecast import TrainedForecaster
from foretell.kernels.forecast.estimate import NEEDED, estimated_us
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.multiprocessor import capability_of, multiprocessor_of
from foretell.kernels.protocols import Build, Subject
from foretell.kernels.task import ITEM_BYTES

RESULTS = Path("benchmarks/results/hooks.json")
PAGE = Path("docs/results/hooks.md")
COLUMNS = ("kind", "task", "language", "device", "features", "speedup", "workloads", "stripped", "split")
FEWEST = 8  # configurations of a kernel
LEAST_SPREAD_LOG2 = 0.1  # between its slowest and fastest: below it there is nothing to choose
WITHIN = (1.1, 1.25, 1.5, 2.0)
WHO = ("hook", "features", "dry run", "chance")

FloatArray = NDArray[np.float64]
Rows = Sequence[Mapping[str, Any]]


def kernels() -> dict[str, list[Rows]]:
    """Rows of one kernel, by `held out` and `seen`."""
    rows = [r for r in table.read(columns=COLUMNS) if r["kind"] == "gpu" and r["language"] == "triton"]
    rows = [r for r in rows if r["speedup"] and r["workloads"] and NEEDED in dict(r["features"] or ())]
    by_task: dict[str, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        by_task[row["task"]].append(i)
    found: dict[str, list[Rows]] = {"held out": [], "seen": []}
    for places in by_task.values():
        for members in by_tokens(rows, places).values():
            if len(members) >= FEWEST and np.ptp(measured([rows[i] for i in members])) >= LEAST_SPREAD_LOG2:
                held = rows[members[0]]["split"] not in ("train", "near")
                found["held out" if held else "seen"].append([rows[i] for i in members])
    return found


def measured(rows: Rows) -> FloatArray:
    """log2 of the time on the first workload."""
    return np.log2([row["workloads"][0]["candidate_us"] for row in rows])


def said(rows: Rows, device: Device, forecaster: TrainedForecaster) -> dict[str, FloatArray]:
    """log2 times, up to a constant, by who says them."""
    task = get(rows[0]["task"], "gpu")
    builds = [dict(row["features"]) for row in rows]
    sizes = task.workloads[0].sizes
    given = [Given(t.dims(sizes), t.dtype, ITEM_BYTES.get(t.dtype, 1)) for t in (*task.inputs, *task.outputs)]
    candidates = [Candidate(task.name, "triton", row["stripped"]) for row in rows]
    subjects = [Subject(c, Build(Status.OK, "", b)) for c, b in zip(candidates, builds, strict=True)]
    room = device.cores * multiprocessor_of(capability_of(device)).threads
    waves = [2.0 ** b["blocks_log2"] * b["threads"] / (room * max(b["occupancy"], 1 / 64)) for b in builds]
    estimates = [estimated_us(b, device, w)["together"] for b, w in zip(builds, waves, strict=True)]
    return {
        "hook": np.log2(launch_ms(builds, given, device)),
        "features": -np.array([forecast.mean for forecast in forecaster.forecast(task, device, subjects)]),
        "dry run": np.log2(estimates),
    }


def best_by_chance(times: FloatArray, count: int) -> float:
    """The expected speed of the best of `count` drawn at random, as a share of the best of all."""
    n, ordered = len(times), np.sort(times)
    chances = [math.comb(n - i - 1, count - 1) / math.comb(n, count) for i in range(n)]
    return float(np.dot(chances, 2.0 ** (ordered[0] - ordered)))


def run() -> dict[str, Any]:
    device, forecaster = described("h200"), TrainedForecaster()
    found: dict[str, Any] = {}
    for part, members in kernels().items():
        figures: dict[str, dict[str, list[float]]] = {who: defaultdict(list) for who in WHO}
        pruned: dict[float, list[tuple[float, float]]] = defaultdict(list)
        for rows in members:
            times, quarter = measured(rows), max(1, len(rows) // 4)
            for who, log2 in said(rows, device, forecaster).items():
                order, best = np.argsort(log2, kind="stable"), times.min()
                figures[who]["spearman"].append(spearman(log2, times) if np.ptp(log2) > 0 else 0.0)
                figures[who]["first"].append(2.0 ** (best - times[order[0]]))
                figures[who]["quarter"].append(2.0 ** (best - times[order[:quarter]].min()))
                if who == "hook":
                    for within in WITHIN:
                        kept = log2 <= log2.min() + math.log2(within)
                        pruned[within].append((kept.mean(), 2.0 ** (best - times[kept].min())))
            figures["chance"]["spearman"].append(0.0)
            figures["chance"]["first"].append(best_by_chance(times, 1))
            figures["chance"]["quarter"].append(best_by_chance(times, quarter))
        found[part] = {
            "kernels": len(members),
            "configurations": sum(map(len, members)),
            "who": {who: {name: float(np.mean(v)) for name, v in one.items()} for who, one in figures.items()},
            "quarter_p10": float(np.quantile(figures["hook"]["quarter"], 0.1)),
            "within": {str(w): [float(v) for v in np.mean(pairs, axis=0)] for w, pairs in pruned.items()},
        }
    return found


def page(found: dict[str, Any]) -> None:
    names = {
        "hook": "`foretell.hooks` (build and tensors)",
        "features": "`features` (task and source too)",
        "dry run": "the dry run's estimate alone",
        "chance": "chance",
    }
    lines = [
        "# Pruning for Triton's autotuner",
        "",
        "Made by `python -m benchmarks.hooks`; data in `benchmarks/results/hooks.json`. Kernels of the corpus whose",
        f"texts differ in numbers alone, {FEWEST} configurations or more each, timed on the H200. How fast the best is",
        "of those that would have been run, as a share of the best of all, and the rank correlation of times; means",
        "over kernels.",
    ]
    for part, one in found.items():
        words = "operations that the model was not trained on" if part == "held out" else "operations it was trained on"
        lines += [
            "",
            f"**{part.capitalize()}**: {one['kernels']} kernels of {words}, {one['configurations']} configurations.",
            "",
            "| who ranks | Spearman | run the first alone | run the first quarter |",
            "| --- | --- | --- | --- |",
        ]
        for who in WHO:
            its = one["who"][who]
            row = f"| {names[who]} | {its['spearman']:.2f} | {its['first']:.1%} | {its['quarter']:.1%} |"
            lines.append(row.replace("%", " %"))
        lines += [
            "",
            f"In the worst tenth of kernels the first quarter has {one['quarter_p10']:.1%} or less.".replace("%", " %"),
            "",
            "| `early_config_prune(within=...)` | kept | best of those |",
            "| --- | --- | --- |",
        ]
        for within, (kept, best) in one["within"].items():
            lines.append(f"| {within} | {kept:.0%} | {best:.1%} |".replace("%", " %"))
    PAGE.write_text("\n".join(lines) + "\n")


def main() -> None:
    found = run()
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    page(found)


if __name__ == "__main__":
    main()
