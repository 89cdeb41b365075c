"""Every number quoted about the corpus, from the tables in `data/` into benchmarks/results/corpus.json.

    python -m benchmarks.corpus_numbers                         # no GPU, about a minute
    python -m benchmarks.corpus_numbers retest CATALOGUE        # candidates of the corpus, measured again later

`benchmarks.corpus_page` writes the page, the plots and the data card from that file.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpus_retest import retest
from foretell.kernels.corpus import stats, table
from foretell.kernels.device import roofline_s
from foretell.kernels.devices import described
from foretell.kernels.library import get

RESULT = Path("benchmarks/results/corpus.json")
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
# Collecting calls on one H200 with 16 CPU cores: candidates measured, wall seconds.
COLLECTED = ((1841, 300.0), (10464, 480.5), (12744, 557.7), (5702, 220.0), (1145, 52.4))
PUBLISHED = {"name": "GPU Forecasters", "gpu_hours": 600, "kernels": 12388}
# One knob of one operation's template each.
KNOBS = (
    ("leaky_relu_bias", "triton", "block"),
    ("quantize_int8", "triton", "warps"),
    ("permute_0213", "cuda", "vector"),
    ("attention", "triton", "stages"),
    ("row_cummax", "cuda", "threads"),
    ("column_sum", "triton", "splits"),
)
FEW = 5  # settings of a knob with fewer candidates than this are left out
_NUMBER = re.compile(r"\b\d\w*")
Rows = Sequence[dict[str, Any]]


def knobs(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(row["detail"]).get("knobs", {})
    return found


def slip(row: dict[str, Any]) -> str:
    """The mistake a template made on purpose; empty where it made none under that name."""
    named = str(knobs(row).get("slip", "none"))
    return "" if named == "none" else named


def geomean(values: Iterable[float]) -> float:
    return math.exp(float(np.mean([math.log(v) for v in values])))


def quantiles(values: Sequence[float]) -> list[float]:
    return [float(q) for q in np.quantile(values, QUANTILES)]


def counts(rows: Rows, *columns: str) -> dict[str, int]:
    found = Counter(" ".join(str(r[c]) for c in columns) for r in rows)
    return dict(found.most_common())


def gpu_operation(rows: Rows) -> dict[str, Any]:
    """One operation on the GPU: `stats.operation`, who holds the best, and times over the roofline floor."""
    device = described("h200")
    task = get(rows[0]["task"], "gpu")
    floor = {w.name: roofline_s(task, w, device) * 1e6 for w in task.workloads}
    memory = all(
        task.least_bytes(w.sizes) / device.bandwidth_bytes_per_s * 1e6 >= floor[w.name] for w in task.workloads
    )
    good = [r for r in rows if r["speedup"] is not None]
    best = max(good, key=lambda r: r["speedup"])

    def over(row: dict[str, Any], which: str) -> float:
        return geomean(w[f"{which}_us"] / floor[w["name"]] for w in row["workloads"])

    all_over = [over(r, "candidate") for r in good]
    written = [r["speedup"] for r in good if r["origin"] == "model"]
    return {
        "family": task.family,
        **stats.operation(rows),
        "language": best["language"],
        "origin": best["origin"],
        "floor": "memory" if memory else "compute",
        "floor_us": list(floor.values()),
        "best_over_floor": over(best, "candidate"),
        "best_by_workload": [w["candidate_us"] / floor[w["name"]] for w in best["workloads"]],
        "median_over_floor": float(np.median(all_over)),
        "p90_over_floor": float(np.quantile(all_over, 0.9)),
        "eager_over_floor": float(np.median([over(r, "reference") for r in good])),
        "best_written": max(written, default=None),
    }


def cpu_operation(rows: Rows) -> dict[str, Any]:
    return {"family": rows[0]["family"], **stats.operation(rows)}


def by_task(rows: Rows) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for r in rows:
        groups[r["task"]].append(r)
    return dict(sorted(groups.items()))


def families(rows: Rows) -> dict[str, Any]:
    groups: dict[str, list[float]] = defaultdict(list)
    for r in rows:
        if r["speedup"] is not None:
            groups[r["family"]].append(r["speedup"])
    return {name: {"candidates": len(v), "quantiles": quantiles(v)} for name, v in sorted(groups.items())}


def failures(rows: Rows) -> dict[str, Any]:
    """How candidates ended by who wrote them, and what became of each kind of slip."""
    slips: dict[str, Counter[str]] = defaultdict(Counter)
    plain: list[dict[str, Any]] = []
    for r in rows:
        if slip(r):
            slips[slip(r)][r["status"]] += 1
        elif r["status"] != "ok":
            plain.append(r)
    unmarked = [r for r in plain if r["origin"] == "template"]
    return {
        "by_author": {
            key: counts([r for r in rows if f"{r['language']} {r['origin']}" == key], "status")
            for key in counts(rows, "language", "origin")
        },
        "slips": {name: dict(c) for name, c in sorted(slips.items(), key=lambda i: -i[1].total())},
        "unmarked": counts(unmarked, "status"),
        "unmarked_by_task": dict(Counter(r["task"] for r in unmarked).most_common(6)),
        "written": [
            {"task": r["task"], "language": r["language"], "status": r["status"], "message": r["message"][:90]}
            for r in plain
            if r["origin"] == "model"
        ],
    }


def knob_effect(rows: Rows, task: str, language: str, knob: str) -> dict[str, Any]:
    """Candidates alike in all other knobs, joined; each setting's factor over its group's geometric mean."""
    groups: dict[str, dict[str, float]] = defaultdict(dict)
    for r in rows:
        found = knobs(r)
        fits = r["task"] == task and r["language"] == language and knob in found
        if fits and not slip(r) and r["speedup"] is not None:
            groups[json.dumps({k: v for k, v in found.items() if k != knob})][str(found[knob])] = r["speedup"]
    often = Counter(value for group in groups.values() for value in group)
    kept = [{v: s for v, s in group.items() if often[v] >= FEW} for group in groups.values()]
    kept = [group for group in kept if len(group) >= 2]
    settings = sorted({v for group in kept for v in group}, key=int)
    factor = {
        v: {
            "candidates": len(ratios := [group[v] / geomean(group.values()) for group in kept if v in group]),
            "factor": float(np.median(ratios)),
            "low": float(np.quantile(ratios, 0.25)),
            "high": float(np.quantile(ratios, 0.75)),
        }
        for v in settings
    }
    return {"task": task, "language": language, "knob": knob, "settings": factor, "groups": kept}


def cost(rows: Rows) -> dict[str, Any]:
    """Seconds per candidate: of the collecting calls' wall clock, of the device, and of the CPU for builds."""
    measured, wall = (sum(c[i] for c in COLLECTED) for i in (0, 1))
    later, later_wall = (sum(c[i] for c in COLLECTED[1:]) for i in (0, 1))
    device = np.array([r["device_s"] for r in rows])
    build = np.array([r["build_s"] for r in rows])
    good = np.array([r["status"] == "ok" for r in rows])
    return {
        "calls": [list(c) for c in COLLECTED],
        "measured": measured,
        "wall_s": wall,
        "wall_s_each": wall / measured,
        "later_per_second": later / later_wall,
        "device_s": float(device.sum()),
        "device_s_each": float(device.mean()),
        "device_s_quantiles": quantiles(device),
        "device_s_ok": float(device[good].mean()),
        "device_s_failed": float(device[~good].mean()),
        "device_s_language": {
            name: float(np.mean([r["device_s"] for r in rows if r["language"] == name]))
            for name in counts(rows, "language")
        },
        "build_s": float(build.sum()),
        "build_s_each": float(build.mean()),
        "published": PUBLISHED | {"gpu_s_each": PUBLISHED["gpu_hours"] * 3600 / PUBLISHED["kernels"]},
    }


def checks(rows: Rows) -> dict[str, Any]:
    """What a user of the GPU table should know: repeats in other numbers, pairs, drift of the reference, and so on."""
    good = [r for r in rows if r["speedup"] is not None]
    pairs = [(w["pairs"], w["speedup"]) for r in good for w in r["workloads"]]
    slow = [n for n, speedup in pairs if speedup < 0.25]
    references: dict[tuple[str, str], list[float]] = defaultdict(list)
    for r in good:
        for w in r["workloads"]:
            references[r["task"], w["name"]].append(w["reference_us"])
    drift = {k: float(np.quantile(v, 0.95) / np.quantile(v, 0.05)) for k, v in references.items()}
    conditions = [c for r in rows if (c := json.loads(r["conditions"]))]
    tuned = [r for r in rows if "autotune" in r["source"]]
    launches = [dict(r["features"])["launches"] for r in good]
    return {
        "distinct_texts": {
            name: len({_NUMBER.sub("0", r["stripped"]) for r in rows if r["language"] == name})
            for name in counts(rows, "language")
        },
        "autotuned": counts(tuned, "status"),
        "pairs": {"median": float(np.median([n for n, _ in pairs])), "least": min(n for n, _ in pairs)},
        "pairs_slow": {"workloads": len(slow), "median": float(np.median(slow)), "three": slow.count(3)},
        "interval_log2": quantiles([math.log2(r["high"] / r["low"]) for r in good]),
        "timed_by_events": counts([r for r in good if r["method"].startswith("CUDA events")], "task"),
        "several_launches": sum(n > 1 for n in launches),
        "reference_drift_median": float(np.median(list(drift.values()))),
        "reference_drift": {f"{task}, {name}": d for (task, name), d in drift.items() if d > 1.1},
        "throttled": sum(c["throttle"] != "none" for c in conditions),
        "celsius": [min(c["celsius"] for c in conditions), max(c["celsius"] for c in conditions)],
        "sm_mhz": sorted({c["sm_mhz"] for c in conditions}),
        "compiler": counts([r for r in rows if "PassManager::run failed" in r["message"]], "task"),
        "slips_passed": sum(bool(slip(r)) for r in good),
        "minutes": (max(r["measured_at"] for r in rows) - min(r["measured_at"] for r in rows)) / 60,
        "slower_than_eager": sum(r["speedup"] < 1 for r in good),
    }


def rounded(value: Any) -> Any:
    """Floats to four significant digits: all that is quoted, in a small file."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list | tuple) else value


def corpus() -> dict[str, Any]:
    rows = table.read()
    gpu, cpu = ([r for r in rows if r["kind"] == kind] for kind in ("gpu", "cpu"))
    columns = ("language", "origin", "status", "split", "device", "toolchain")
    return {
        "gpu": {"candidates": len(gpu), **{c: counts(gpu, c) for c in columns}},
        "cpu": {"candidates": len(cpu), **{c: counts(cpu, c) for c in columns}},
        "gpu_operations": {name: gpu_operation(group) for name, group in by_task(gpu).items()},
        "cpu_operations": {name: cpu_operation(group) for name, group in by_task(cpu).items()},
        "families": families(gpu),
        "failures": failures(gpu),
        "cpu_failures": failures(cpu),
        "knobs": [knob_effect(gpu, *each) for each in KNOBS],
        "cost": cost(gpu),
        "cpu_cost": {k: float(np.mean([r[k] for r in cpu])) for k in ("build_s", "device_s", "wall_s")},
        "checks": checks(gpu),
        "cpu_interval_log2": quantiles([math.log2(r["high"] / r["low"]) for r in cpu if r["low"]]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command")
    twice = commands.add_parser("retest")
    twice.add_argument("second", type=Path)
    twice.add_argument("--cards", type=int, default=1, help="how many different GPUs the two times were")
    arguments = parser.parse_args()
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    fresh = {"retest": retest(arguments.second, arguments.cards)} if arguments.command == "retest" else corpus()
    merged = known | rounded(fresh)
    lines = (f"{json.dumps(k)}: {json.dumps(merged[k], separators=(',', ':'))}" for k in sorted(merged))
    RESULT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
