"""The four policies on every CPU task: 40 measurements, three seeds, real runs on this machine.

    python -m benchmarks.cpu_policies [--work runs/cpu_policies] [--tasks softmax,matmul] [--report-only]

Every run is a real search with its own journal under --work, so the script can be stopped and started again. One
catalogue serves all runs: a candidate that one run has measured is not run again for another, but counts against its
budget all the same. Winners are measured afresh at the end of each run. Writes benchmarks/results/cpu_policies.json and
docs/results/cpu.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe
from foretell.belief import ece
from foretell.belief.bins import bin_of
from foretell.kernels.bench.cpu import CpuBench
from foretell.kernels.forecast import make as make_forecaster
from foretell.kernels.library import tasks
from foretell.kernels.measurement import Measurement
from foretell.kernels.policy import make_policy
from foretell.kernels.profiles import Budgets, Profile
from foretell.kernels.propose.cpp import templates
from foretell.kernels.propose.template import TemplateProposer
from foretell.kernels.search import FileJournal, RunState, Search, SearchConfig, load_run, make_strategy
from foretell.kernels.store.catalogue import Catalogue
from foretell.kernels.task import Task

POLICIES = ("all", "random", "top", "selective")
SEEDS = (0, 1, 2)
FORECASTER = "online:roofline"  # what knows nothing but the run: the shipped model has seen these tasks
PROFILE = Profile("cpu-policies", Budgets(measurements=40, seconds=1e6, candidates=240))
RESULTS = Path("benchmarks/results/cpu_policies.json")
PAGE = Path("docs/results/cpu.md")
_COUNTS = ("considered", "measured", "trusted", "dropped", "audited", "failed")


def run_one(task: Task, policy: str, seed: int, bench: CpuBench, catalogue: Catalogue, folder: Path) -> RunState:
    """One search, or what is left of it if it was begun before."""
    search = Search(
        task,
        bench,
        TemplateProposer(templates()[task.name]),
        make_forecaster(FORECASTER, seed),
        make_strategy("puct", PROFILE),
        make_policy(policy, PROFILE),
        SearchConfig("cpp", seed, PROFILE),
        FileJournal(folder),
        catalogue=catalogue,
    )
    return search.resume() if (folder / "journal.jsonl").exists() else search.run()


def summary(state: RunState) -> dict[str, Any]:
    """The figures of one run. Calibration is over all measured candidates, by the forecast made before measuring."""
    best = state.best
    verified = best.verified if best else None
    measured = [n for n in state.nodes.values() if n.measurement is not None and n.measurement.ok]
    confidence, right, covered, truths, medians = [], [], [], [], []
    for node in measured:
        assert node.measurement is not None
        bins = node.forecast.bins()
        top = int(np.argmax(bins))
        truth = node.measurement.log2_speedup
        low, high = node.forecast.interval(0.8)
        confidence.append(float(bins[top]))
        right.append(top == int(bin_of(2.0**truth)))
        covered.append(bool(low <= truth <= high))
        truths.append(truth)
        medians.append(node.forecast.median)
    return {
        "best": verified.speedup if verified else None,
        "low": verified.low if verified else None,
        "high": verified.high if verified else None,
        "considered": state.considered,
        "measured": state.measured,
        "trusted": state.trusted,
        "dropped": state.dropped,
        "audited": state.audited,
        "failed": sum(state.failures.values()),
        "device_s": sum(_device_s(n.measurement) for n in state.nodes.values() if n.measurement is not None),
        "confidence": confidence,
        "right": right,
        "covered": covered,
        "truths": truths,
        "medians": medians,
        "stopped": state.finished.reason.value if state.finished else None,
    }


def _device_s(measurement: Measurement) -> float:
    return min(measurement.cost.device_s, measurement.cost.wall_s)


def geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def compared(rows: dict[str, Any], policy: str, other: str) -> tuple[float, float, float]:
    """Geometric mean over tasks and seeds of best(policy) / best(other), with a 95 % bootstrap interval over tasks."""
    ratios = np.array(
        [
            np.mean([np.log(a["best"] / b["best"]) for a, b in zip(task[policy], task[other], strict=True)])
            for task in rows.values()
        ]
    )
    rng = np.random.default_rng(0)
    means = [float(np.exp(rng.choice(ratios, len(ratios)).mean())) for _ in range(2000)]
    return float(np.exp(ratios.mean())), float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def page(rows: dict[str, Any], machine: dict[str, Any], seconds: float, forecaster: str) -> str:
    """The result as a document; every figure comes from `rows`."""
    lines = [
        "# Four policies on the CPU",
        "",
        "Made by `python -m benchmarks.cpu_policies`; data in `benchmarks/results/cpu_policies.json`.",
        f"Machine: {machine['device']}, {machine['toolchain']}.",
        "",
        f"Every task, {PROFILE.budgets.measurements} measurements, seeds {', '.join(map(str, SEEDS))}, at most "
        f"{PROFILE.budgets.candidates} candidates; forecaster {forecaster}, strategy `puct`. "
        "`all` measures every candidate it proposes; `random` and `top` measure 4 of each 16; `selective` lets the "
        "forecast's doubt decide. The best candidate is measured again at the end, and that second figure is reported.",
        "",
        "## Best speedup over the reference",
        "",
        "Geometric mean over seeds, in brackets the lowest and highest 95 % bound of the winners' own re-measurement.",
        "",
        "| task | " + " | ".join(POLICIES) + " |",
        "| --- |" + " --- |" * len(POLICIES),
    ]
    for name, task in rows.items():
        cells = []
        for policy in POLICIES:
            runs = task[policy]
            low, high = min(r["low"] for r in runs), max(r["high"] for r in runs)
            cells.append(f"{geometric_mean([r['best'] for r in runs]):.2f} [{low:.2f}, {high:.2f}]")
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    means = [geometric_mean([r["best"] for task in rows.values() for r in task[p]]) for p in POLICIES]
    lines += ["| **geometric mean** | " + " | ".join(f"**{m:.3f}**" for m in means) + " |", ""]
    lines += ["Ratio of best speedups, paired by task and seed, with a 95 % bootstrap interval over tasks:", ""]
    for policy, other in (("top", "random"), ("selective", "random"), ("selective", "top"), ("selective", "all")):
        value, low, high = compared(rows, policy, other)
        lines.append(f"- `{policy}` / `{other}`: {value:.3f} [{low:.3f}, {high:.3f}]")
    lines += [
        "",
        "## What it took, and how far the forecasts could be believed",
        "",
        "Means over tasks and seeds. ECE is of the most likely of the eight bins (15 reliability bins, all measured "
        "candidates of a policy pooled); coverage is of the central 80 % interval; Spearman is between forecast median "
        "and measured speedup within a run. Forecasts are those made before the measurement, from the first on.",
        "",
        "| policy | " + " | ".join((*_COUNTS, "device s", "ECE", "coverage of 80 %", "Spearman")) + " |",
        "| --- |" + " --- |" * 10,
    ]
    for policy in POLICIES:
        lines.append(_calibration_row(policy, [run for task in rows.values() for run in task[policy]]))
    lines += ["", "## Per task: ECE and coverage of the 80 % interval", ""]
    lines += ["| task | " + " | ".join(POLICIES) + " |", "| --- |" + " --- |" * len(POLICIES)]
    for name, task in rows.items():
        cells = [f"{_ece(task[p]):.2f} / {_coverage(task[p]):.2f}" for p in POLICIES]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    lines += ["", "## Candidates considered, per task (mean over seeds)", ""]
    lines += ["| task | " + " | ".join(POLICIES) + " |", "| --- |" + " --- |" * len(POLICIES)]
    for name, task in rows.items():
        cells = [f"{np.mean([r['considered'] for r in task[p]]):.0f}" for p in POLICIES]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    lines += ["", f"The whole took {seconds / 60:.0f} minutes of wall clock, builds included.", ""]
    return "\n".join(lines)


def _pooled(runs: Sequence[dict[str, Any]], key: str) -> list[Any]:
    return [value for run in runs for value in run[key]]


def _ece(runs: Sequence[dict[str, Any]]) -> float:
    return ece(np.array(_pooled(runs, "confidence")), np.array(_pooled(runs, "right")), 15)


def _coverage(runs: Sequence[dict[str, Any]]) -> float:
    return float(np.mean(_pooled(runs, "covered")))


def _calibration_row(policy: str, runs: Sequence[dict[str, Any]]) -> str:
    from foretell.belief import spearman

    ranks = [spearman(np.array(r["medians"]), np.array(r["truths"])) for r in runs if len(r["truths"]) >= 5]
    counts = [np.mean([r[key] for r in runs]) for key in _COUNTS]
    cells = [f"{value:.0f}" if value >= 10 else f"{value:.1f}" for value in counts]
    cells.append(f"{np.mean([r['device_s'] for r in runs]):.1f}")
    cells += [f"{_ece(runs):.3f}", f"{_coverage(runs):.3f}", f"{np.nanmean(ranks):.2f}"]
    return f"| `{policy}` | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("runs/cpu_policies"))
    parser.add_argument("--tasks", default=",".join(tasks()))
    parser.add_argument("--report-only", action="store_true", help="only rewrite the page from the JSON")
    arguments = parser.parse_args()
    if arguments.report_only:
        data = json.loads(RESULTS.read_text())
        PAGE.write_text(page(data["tasks"], data["machine"], data["seconds"], data["forecaster"]))
        return
    catalogue = Catalogue(arguments.work / "catalogue.sqlite")
    bench = CpuBench()
    started = time.perf_counter()
    rows: dict[str, Any] = {}
    for name in arguments.tasks.split(","):
        rows[name] = {}
        for policy in POLICIES:
            rows[name][policy] = []
            for seed in SEEDS:
                folder = arguments.work / f"{name}-{policy}-{seed}"
                state = run_one(tasks()[name], policy, seed, bench, catalogue, folder)
                rows[name][policy].append(summary(load_run(folder)))
                best = state.best.verified.speedup if state.best and state.best.verified else float("nan")
                print(f"{name:20} {policy:10} {seed}  {best:7.2f}x  {state.considered} considered", flush=True)
    bench.close()
    _add_up(arguments.work, time.perf_counter() - started)
    seconds = json.loads((arguments.work / "seconds.json").read_text())
    result = {
        "machine": describe(),
        "profile": dataclasses.asdict(PROFILE),
        "forecaster": f"`{FORECASTER}` (knows only the run)",
        "seconds": seconds,
        "tasks": rows,
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(_rounded(result), separators=(",", ":")) + "\n")
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(rows, result["machine"], seconds, result["forecaster"]))
    print(f"wrote {RESULTS} and {PAGE}")


def _add_up(work: Path, seconds: float) -> None:
    """Wall clock over all sittings of the benchmark."""
    record = work / "seconds.json"
    before = json.loads(record.read_text()) if record.exists() else 0.0
    record.write_text(json.dumps(before + seconds))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    main()
