"""How far a dry run alone gets: times estimated from counts and peak rates, against those measured on the H200.

    python -m benchmarks.dry_run           # benchmarks/results/dry_run.json and docs/results/dry_run.md

Nothing is fitted. Every candidate of the corpus that worked and was built, on its first workload.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from foretell.belief import spearman
from foretell.kernels.corpus import table
from foretell.kernels.devices import described
from foretell.kernels.forecast.estimate import NEEDED, estimated_us
from foretell.kernels.multiprocessor import capability_of, multiprocessor_of

RESULTS = Path("benchmarks/results/dry_run.json")
PAGE = Path("docs/results/dry_run.md")
COLUMNS = ("kind", "task", "family", "language", "origin", "device", "features", "speedup", "workloads")
LEAST = 30  # candidates from which a rank correlation within an operation is told


def run() -> dict[str, Any]:
    rows = [r for r in table.read(columns=COLUMNS) if r["kind"] == "gpu" and r["speedup"] and r["workloads"]]
    followed = [r for r in rows if NEEDED in dict(r["features"] or ())]
    device = described(rows[0]["device"])
    room = device.cores * multiprocessor_of(capability_of(device)).threads
    estimates, bounds = [], []
    for r in followed:
        build = dict(r["features"])
        waves = 2.0 ** build["blocks_log2"] * build["threads"] / (room * max(build["occupancy"], 1 / 64))
        parts = estimated_us(build, device, waves)
        bounds.append(max((n for n in parts if n not in ("longest", "second", "together")), key=parts.__getitem__))
        estimates.append(parts["together"])
    estimated = np.array(estimates)
    measured = np.array([r["workloads"][0]["candidate_us"] for r in followed])
    tasks = np.array([r["task"] for r in followed])
    off = np.log2(estimated / measured)
    within = [
        spearman(estimated[tasks == t], measured[tasks == t]) for t in np.unique(tasks) if (tasks == t).sum() >= LEAST
    ]
    found: dict[str, Any] = {
        "candidates": len(rows),
        "followed": len(followed),
        "cut": int(sum(dict(r["features"])["dry_cut"] > 0 for r in followed)),
        "correlation_log2": float(np.corrcoef(np.log2(estimated), np.log2(measured))[0, 1]),
        "off_log2": [float(q) for q in np.quantile(off, (0.1, 0.5, 0.9))],
        "within_a_factor_of_two": float(np.mean(np.abs(off - np.median(off)) < 1.0)),
        "spearman_within_operation": float(np.mean(within)),
        "bound_by": {name: bounds.count(name) for name in sorted(set(bounds))},
        "families": {},
    }
    families = np.array([r["family"] for r in followed])
    for family in np.unique(families):
        its = families == family
        ranks = [spearman(estimated[tasks == t], measured[tasks == t]) for t in np.unique(tasks[its])]
        found["families"][str(family)] = {
            "candidates": int(its.sum()),
            "median_off_log2": float(np.median(off[its])),
            "spearman_within_operation": float(np.mean(ranks)),
        }
    return found


def page(found: dict[str, Any]) -> None:
    low, middle, high = (2.0**v for v in found["off_log2"])
    lines = [
        "# The dry run alone",
        "",
        "Made by `python -m benchmarks.dry_run`; data in `benchmarks/results/dry_run.json`. The counts of a",
        "[dry run](../dry_run.md) over the device's peak rates, summed, against the measured time of the first",
        "workload on the H200. Nothing is fitted, and no row is left out but those whose host code could not be",
        "followed.",
        "",
        f"- {found['followed']} of {found['candidates']} candidates that worked could be followed; {found['cut']} were "
        "cut short.",
        f"- Correlation of the logarithms: **{found['correlation_log2']:.3f}**. Estimate over measured: {middle:.2f} "
        f"in the median, {low:.2f} to {high:.2f} for the middle 80 %; {found['within_a_factor_of_two']:.0%} lie "
        "within a factor of two of the median.",
        f"- Spearman within an operation, mean: **{found['spearman_within_operation']:.3f}**.",
        "- What takes longest by the estimate: "
        + ", ".join(f"{name} {count}" for name, count in sorted(found["bound_by"].items(), key=lambda item: -item[1]))
        + ".",
        "",
        "| family | candidates | estimate over measured, median | Spearman within operation |",
        "| --- | --- | --- | --- |",
    ]
    for name, one in found["families"].items():
        ratio = 2.0 ** one["median_off_log2"]
        lines.append(f"| {name} | {one['candidates']} | {ratio:.2f} | {one['spearman_within_operation']:.2f} |")
    PAGE.write_text("\n".join(lines) + "\n")


def main() -> None:
    found = run()
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    page(found)


if __name__ == "__main__":
    main()
