"""Coverage of the CPU bench's 95 % intervals on quiet and busy machines.

    python -m benchmarks.busy measure CONDITION [--runs 300] [--seconds 3000] [--rows DIRECTORY]
    python -m benchmarks.busy demo CONDITION [--runs 3] [--rows DIRECTORY]
    python -m benchmarks.busy summary [--rows DIRECTORY] [--output benchmarks/results/busy.json]

CONDITION is `load0`, `load4` or `load12` (that many other processes that never sleep, half of them computing, half
copying memory, each in a session of its own) or `three` (three benches at once). Two things are measured, in turn: a
reference against itself (the true speedup is 1), over six operations of the library at one workload each, and kernels
of known ratio (the reference computes the same dependent chain twice, so the true speedup is 2), on one thread and on
all. Every ten measurements start with a new reference process. `measure` appends to a file and may be repeated.

`demo` runs the search of `make demo` under the condition and keeps its headline. To compare with another version of the
bench, run this script beside that version's package and put its rows into DIRECTORY/former-0.jsonl.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.load import COPY, SPIN, others
from benchmarks.machine import describe
from foretell.kernels import library
from foretell.kernels.bench.cpu import CpuBench, reference_candidate
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.measurement import Status
from foretell.kernels.task import Task, Tensor, Tolerance, Workload

CONDITIONS = {"load0": 0, "load4": 4, "load12": 12, "three": 0}
LIBRARY_TASKS = ("softmax", "row_sum", "silu", "transpose", "layernorm", "prefix_sum")
MEASUREMENTS_PER_BENCH = 10
PAGE = Path("docs/results/busy.md")
HEAD = """\
# The CPU bench on a busy machine

Made by `python -m benchmarks.busy` on DEVICE
(a shared virtual machine); data in `benchmarks/results/busy.json`.
`load4` and `load12`: that many other processes that never sleep, half of them copying memory; `three`: three benches
at once. *Itself*: a reference against itself, the true speedup is 1; six operations. *Known*: the reference does
everything twice, the true speedup is 2; one thread (`chain`) and all threads (`chain_threads`). Widths are half the 95
% interval, as a share; *disturbed* is the share that would not be kept in the catalogue. What ended otherwise than
`ok` is listed under statuses. `former` is the bench as it was before it minded other processes (commit 6f8278a), at
load 0 in the same hour: intervals are no wider now, and cover more often. Beside 12 busy processes a kernel on all
threads hardly ever has both cores to itself; its interval then spans time on a core and wall time, says next to
nothing and is marked `disturbed`. All of this was measured before candidates were stopped between calls and timed from
outside; kernels on one thread are timed by their time on a core since then, busy machine or not.
"""

_CHAIN = """#include <cstdint>
__attribute__((noipa)) static void chain(const float* x, float* out, int64_t n) {
    PRAGMA
    for (int64_t i = 0; i < n; ++i) {
        float y = x[i];
        for (int k = 0; k < 400; ++k) y = y * 0.9f + 0.05f;
        out[i] = y;
    }
}
extern "C" void kernel(const float* x, float* out, int64_t n) {
    for (int64_t k = 0; k < TIMES; ++k) chain(x, out, n);
}
"""


def known_ratio(threads: bool) -> tuple[Task, Candidate, float]:
    """A task whose reference does everything twice, a candidate that does it once, and the true speedup."""
    pragma = "#pragma omp parallel for schedule(static)" if threads else ""
    source = _CHAIN.replace("PRAGMA", pragma)
    name = "chain_threads" if threads else "chain"
    task = Task(
        name=name,
        family="benchmark",
        summary="a dependent chain of multiply-adds on each element",
        sizes=("n",),
        inputs=(Tensor("x", "float32", ("n",)),),
        outputs=(Tensor("out", "float32", ("n",)),),
        workloads=(Workload({"n": 2_000 if threads else 1_000}),),
        extra=(Workload({"n": 777}),),
        tolerance=Tolerance(1e-4, 1e-5, "400 rounded multiply-adds, each error shrinking by a tenth"),
        flops=lambda sizes: 800.0 * sizes["n"],
        oracle=lambda arrays, sizes: (_oracle(arrays["x"]),),
        references={"cpp": source.replace("TIMES", "2")},
    )
    return task, Candidate(name, "cpp", source.replace("TIMES", "1"), Origin("person")), 2.0


def _oracle(x: Any) -> Any:
    y = x.astype(np.float64)
    for _ in range(400):
        y = y * 0.9 + 0.05
    return y


def against_itself(name: str) -> tuple[Task, Candidate, float]:
    task = library.get(name)
    task = replace(task, workloads=task.workloads[:1], extra=task.extra[:1])
    return task, reference_candidate(task), 1.0


def cases() -> Iterator[tuple[str, Task, Candidate, float]]:
    """Blocks of one bench's measurements, for ever: itself, known ratio, itself, ..."""
    for block in itertools.count():
        yield "itself", *against_itself(LIBRARY_TASKS[block % len(LIBRARY_TASKS)])
        yield "known", *known_ratio(threads=block % 2 == 1)


@contextmanager
def busy(count: int) -> Iterator[None]:
    """That many other processes that never sleep."""
    with others([SPIN if i % 2 == 0 else COPY for i in range(count)]):
        time.sleep(2.0 if count else 0.0)
        yield


def measure(path: Path, runs: int, deadline: float) -> None:
    """Append measurements to `path` until each kind has `runs` or time is up."""
    done = {"itself": 0, "known": 0}
    for kind, task, candidate, truth in cases():
        if min(done.values()) >= runs or time.monotonic() > deadline:
            return
        if done[kind] >= runs:
            continue
        bench = CpuBench()
        try:
            for _ in range(MEASUREMENTS_PER_BENCH):
                started = time.perf_counter()
                [(_, outcome)] = bench.measure(task, [candidate])
                row = {
                    "kind": kind,
                    "task": task.name,
                    "truth": truth,
                    "status": outcome.status.value,
                    "message": outcome.message,
                    "speedup": outcome.speedup,
                    "low": outcome.low,
                    "high": outcome.high,
                    "wall_s": time.perf_counter() - started,
                    "conditions": dict(outcome.conditions),
                }
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                done[kind] += 1
        finally:
            bench.close()


def demo(path: Path, runs: int) -> None:
    """The search of `make demo`, with nothing known beforehand, and its winner measured by itself."""
    for run in range(runs):
        with tempfile.TemporaryDirectory() as place:
            environment = {**os.environ, "FORETELL_CACHE": f"{place}/cache"}
            command = [sys.executable, "-m", "foretell.cli", "search", "softmax", "--profile", "quick", "--json"]
            command += ["--run", f"{place}/run", "--no-report", "--seed", str(run)]
            started = time.perf_counter()
            finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            row = {"kind": "demo", "wall_s": time.perf_counter() - started, "returncode": finished.returncode}
            row["machine"] = describe()["device"]
            if finished.returncode == 0:
                summary = json.loads(finished.stdout)
                best = summary["best"]
                row |= {key: best[key] for key in ("speedup", "low", "high", "shown_faster", "verified")}
                row |= {"source": Path(best["file"]).read_text(), "failures": summary["failures"]}
                row |= {"contention": summary["contention"]}
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    ok = [row for row in rows if row["status"] == Status.OK]
    covered = [row["low"] <= row["truth"] <= row["high"] for row in ok]
    half = [(row["high"] / row["low"]) ** 0.5 - 1 for row in ok]
    error = [abs(row["speedup"] / row["truth"] - 1) for row in ok]
    statuses = [row["status"] for row in rows]
    return {
        "runs": len(rows),
        "statuses": {status: statuses.count(status) for status in sorted(set(statuses))},
        "covered": float(np.mean(covered)),
        "median_half_width": float(np.median(half)),
        "half_width_90th_percentile": float(np.percentile(half, 90)),
        "median_error": float(np.median(error)),
        "disturbed": float(np.mean([bool(row["conditions"].get("disturbed")) for row in ok])),
        "others_median": float(np.median([row["conditions"].get("others", 0.0) for row in ok])),
        "wall_s_median": float(np.median([row["wall_s"] for row in rows])),
    }


def summary(folder: Path, output: Path) -> None:
    """Figures of every condition as JSON, and docs/results/busy.md from them; those without new rows are kept."""
    result: dict[str, Any] = {"machine": describe(), "conditions": {}}
    if output.exists():
        result = json.loads(output.read_text())
    kept = result["conditions"]
    rows: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        rows.setdefault(path.stem.partition("-")[0], []).extend(map(json.loads, path.read_text().splitlines()))
    if any(row["kind"] != "demo" for mine in rows.values() for row in mine):
        result["machine"] = describe()
    for name, mine in rows.items():
        figures: dict[str, Any] = {}
        for kind in ("itself", "known"):
            if chosen := [row for row in mine if row["kind"] == kind]:
                figures[kind] = summarise(chosen)
                figures[kind]["tasks"] = {
                    task: summarise([row for row in chosen if row["task"] == task])
                    for task in sorted({row["task"] for row in chosen})
                }
        demos = [{k: v for k, v in row.items() if k != "source"} for row in mine if row["kind"] == "demo"]
        result["conditions"][name] = kept.get(name, {}) | figures | ({"demo": demos} if demos else {})
    output.write_text(json.dumps(result, indent=2) + "\n")
    PAGE.write_text(page(result))


def page(result: dict[str, Any]) -> str:
    """docs/results/busy.md."""
    lines = [
        HEAD.replace("DEVICE", result["machine"]["device"]),
        "| condition | what | runs | 95 % interval covers | median width | 90th percentile | median error "
        "| disturbed | wall time | statuses |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, figures in result["conditions"].items():
        for kind in ("itself", "known"):
            rows = {kind: figures[kind]} | figures[kind]["tasks"] if kind in figures else {}
            for what, f in rows.items():
                if what != kind and kind == "itself":
                    continue
                statuses = ", ".join(f"{count} {status}" for status, count in f["statuses"].items())
                lines.append(
                    f"| {name} | {what} | {f['runs']} | {f['covered']:.1%} | ±{f['median_half_width']:.1%} "
                    f"| ±{f['half_width_90th_percentile']:.1%} | {f['median_error']:.1%} | {f['disturbed']:.0%} "
                    f"| {f['wall_s_median']:.1f} s | {statuses} |"
                )
    if not any(figures.get("demo") for figures in result["conditions"].values()):
        return "\n".join(lines) + "\n"
    lines += [
        "",
        "## The demo's headline",
        "",
        "| condition | machine | headline | interval | shown to be faster | wall time |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, figures in result["conditions"].items():
        for demo_run in figures.get("demo", ()):
            start, wall = f"| {name} | {demo_run.get('machine', result['machine']['device'])}", demo_run["wall_s"]
            if demo_run.get("speedup") is None:
                lines.append(f"{start} | none (exit code {demo_run['returncode']}) | | | {wall:.0f} s |")
                continue
            lines.append(
                f"{start} | {demo_run['speedup']:.1f}x | {demo_run['low']:.1f} to {demo_run['high']:.1f} "
                f"| {'yes' if demo_run['shown_faster'] else 'no'} | {wall:.0f} s |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "demo", "summary"))
    parser.add_argument("condition", nargs="?", choices=tuple(CONDITIONS), default="load0")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=3000.0)
    parser.add_argument("--rows", type=Path, default=Path("runs/busy"))
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/busy.json"))
    arguments = parser.parse_args()
    arguments.rows.mkdir(parents=True, exist_ok=True)
    if arguments.what == "summary":
        return summary(arguments.rows, arguments.output)
    path = arguments.rows / f"{arguments.condition}.jsonl"
    with busy(CONDITIONS[arguments.condition]):
        if arguments.what == "demo":
            return demo(path, arguments.runs)
        deadline = time.monotonic() + arguments.seconds
        benches = 3 if arguments.condition == "three" else 1
        context = multiprocessing.get_context("spawn")
        processes = [
            context.Process(
                target=measure, args=(path.with_name(f"{path.stem}-{i}.jsonl"), -(-arguments.runs // benches), deadline)
            )
            for i in range(benches)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    return None


if __name__ == "__main__":
    main()
