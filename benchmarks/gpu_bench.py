"""The method `worker` of the GPU bench on one GPU: throughput, test-retest, exploits and controls, faults.

    python -m benchmarks.gpu_bench throughput --language triton --count 2000
    python -m benchmarks.gpu_bench retest --count 300
    python -m benchmarks.gpu_bench compare FIRST.json SECOND.json
    python -m benchmarks.gpu_bench guards
    python -m benchmarks.gpu_bench faults

Each part writes benchmarks/results/gpu_PART.json (or into --output); `page` writes docs/results/gpu_bench.md from them.
Runs from a bare PyTorch image with PYTHONPATH=src and nothing installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from foretell.belief import spearman
from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.candidate import Candidate
from foretell.kernels.corpus.plan import templates
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement
from foretell.kernels.profiles import GPU_BENCH

RESULTS = Path("benchmarks/results")
WORKER = replace(GPU_BENCH, method="worker")  # the default is measured by benchmarks.trust


def draw(language: str, count: int, seed: int) -> dict[str, list[Candidate]]:
    """About `count` distinct candidates spread evenly over all tasks that have a template."""
    rng = np.random.default_rng(seed)
    drawn = {}
    found = templates(language)
    share = -(-count // len(found))
    for name, template in found.items():
        settings = template.settings()
        distinct: dict[str, Candidate] = {}
        for index in rng.permutation(len(settings)):
            candidate = template.candidate(settings[int(index)])
            distinct.setdefault(candidate.id, candidate)
            if len(distinct) == share:
                break
        drawn[name] = list(distinct.values())
    return drawn


def measure_all(bench: GpuBench, drawn: dict[str, list[Candidate]], limit_s: float) -> dict[str, Any]:
    """Measure everything, builds of later tasks running while earlier ones are on the device.

    The clock starts when the worker stands: importing torch and making a context is paid once, not per candidate.
    """
    began = time.perf_counter()
    bench.warm_up()
    started = time.perf_counter()
    tasks = {name: get(name, "gpu") for name in drawn}
    for name, candidates in drawn.items():
        bench.expect(tasks[name], candidates)
    rows: list[dict[str, Any]] = []
    opening_s = 0.0
    for name, candidates in drawn.items():
        if time.perf_counter() - started > limit_s:
            break
        opened = time.perf_counter()
        bench.prepare(tasks[name])
        opening_s += time.perf_counter() - opened
        for candidate, outcome in bench.measure(tasks[name], candidates):
            rows.append(row(name, candidate, outcome))
        done = [r for r in rows if r["task"] == name]
        counts = Counter(r["status"] for r in done)
        print(f"[{time.perf_counter() - started:6.1f}] {name:22} {len(done):4} {dict(counts)}", flush=True)
    seconds = time.perf_counter() - started
    judged = [r["wall_s"] for r in rows if r["wall_s"] > 0]
    return {
        "device": bench.device.to_dict(),
        "candidates": len(rows),
        "tasks": len({r["task"] for r in rows}),
        "seconds": seconds,
        "per_second": len(rows) / seconds,
        "judging_s": sum(judged),
        "kernel_s": sum(r["kernel_s"] for r in rows),
        "waiting_for_builds_s": bench.waited_for_build_s,
        "opening_s": opening_s,
        "starting_s": started - began,
        "build_core_s": sum(r["build_s"] for r in rows),
        "worker_starts": bench.worker_starts,
        "statuses": dict(Counter(r["status"] for r in rows)),
        "rows": rows,
    }


def row(task: str, candidate: Candidate, outcome: Measurement) -> dict[str, Any]:
    kernel_us = sum(sum(t.reference_us) + sum(t.candidate_us) for t in outcome.timings)
    return {
        "task": task,
        "id": candidate.id,
        "status": outcome.status.value,
        "message": outcome.message[:160],
        "speedup": outcome.speedup,
        "low": outcome.low,
        "high": outcome.high,
        "build_s": round(outcome.cost.build_s, 3),
        "wall_s": round(outcome.cost.wall_s, 4),
        "kernel_s": round(kernel_us * 1e-6, 5),
        "pairs": sum(len(t.candidate_us) for t in outcome.timings),
        "graph": "graph" in outcome.method,
    }


def throughput(arguments: argparse.Namespace) -> dict[str, Any]:
    drawn = draw(arguments.language, arguments.count, seed=0)
    bench = GpuBench(WORKER)
    result = measure_all(bench, drawn, arguments.limit)
    bench.close()
    return result | {"spent_s": {name: round(value, 2) for name, value in bench.spent_s.items()}}


def retest(arguments: argparse.Namespace) -> dict[str, Any]:
    """Two passes, each a whole process of its own with fresh inputs."""
    passes = []
    for number in range(2):
        file = Path(arguments.output) / f"retest_pass_{number}.json"
        command = [sys.executable, "-m", "benchmarks.gpu_bench", "pass", "--count", str(arguments.count)]
        subprocess.run([*command, "--output", str(file)], check=True)
        passes.append({r["id"]: r for r in json.loads(file.read_text())["rows"]})
        file.unlink()
    return agreement(passes)


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Two results of `throughput` with the same candidates, taken on different days or machines."""
    return agreement([{r["id"]: r for r in json.loads(Path(f).read_text())["rows"]} for f in arguments.files])


def agreement(passes: Sequence[dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """How far two passes over the same candidates are apart."""
    both = [i for i in passes[0] if passes[0][i]["speedup"] and passes[1].get(i, {}).get("speedup")]
    first, second = (np.array([p[i]["speedup"] for i in both]) for p in passes)
    difference = np.abs(first / second - 1)
    worst = sorted(zip(difference, both, strict=True), reverse=True)[:10]
    return {
        "candidates": len(passes[0]),
        "ok_in_both": len(both),
        "same_status": sum(passes[0][i]["status"] == passes[1].get(i, {}).get("status") for i in passes[0]),
        "median_difference": float(np.median(difference)),
        "p90_difference": float(np.quantile(difference, 0.9)),
        "worst_difference": float(difference.max()),
        "spearman": spearman(first, second),
        "worst": [{"task": passes[0][i]["task"], "id": i, "difference": float(d)} for d, i in worst],
        "rows": [{"task": passes[0][i]["task"], "id": i, "first": float(a), "second": float(b)}
                 for i, a, b in zip(both, first, second, strict=True)],
    }  # fmt: skip


def one_pass(arguments: argparse.Namespace) -> dict[str, Any]:
    half = arguments.count // 2
    drawn = draw("triton", half, seed=1)
    for name, candidates in draw("cuda", arguments.count - half, seed=1).items():
        drawn.setdefault(name, []).extend(candidates)
    bench = GpuBench(WORKER)
    result = measure_all(bench, drawn, 1e9)
    bench.close()
    return result


def guards(arguments: argparse.Namespace) -> dict[str, Any]:
    """Every exploit must be caught, no control flagged."""
    from tests.kernels.bench.gpu.controls import CONTROLS
    from tests.kernels.bench.gpu.exploits import EXPLOITS

    bench = GpuBench(WORKER)
    task = get("softmax", "gpu")
    rows = []
    for kind, entries in (("control", CONTROLS), ("exploit", EXPLOITS)):
        for entry in entries:
            [(_, outcome)] = bench.measure(task, [Candidate("softmax", entry.language, entry.source)])
            wanted = {"ok"} if kind == "control" else set(entry.statuses)
            right = outcome.status.value in wanted
            rows.append({"kind": kind, "name": entry.name, "status": outcome.status.value, "right": right,
                         "message": outcome.message[:200], "speedup": outcome.speedup})  # fmt: skip
            print(
                f"{'ok ' if right else 'BAD'} {kind} {entry.name}: {outcome.status.value} {outcome.message[:110]}",
                flush=True,
            )
    bench.close()
    counts = {kind: [r["right"] for r in rows if r["kind"] == kind] for kind in ("exploit", "control")}
    return {
        "exploits": len(counts["exploit"]),
        "caught": sum(counts["exploit"]),
        "controls": len(counts["control"]),
        "passed": sum(counts["control"]),
        "rows": rows,
    }


def faults(arguments: argparse.Namespace) -> dict[str, Any]:
    """160 honest candidates, once alone and once with 40 hostile ones among them."""
    from tests.kernels.bench.gpu.faults import FAULTS

    names = ["softmax", "layernorm", "row_sum", "swiglu"]
    drawn = draw("triton", 40 * len(templates("triton")), seed=2)
    honest = [c for name in names for c in drawn[name][:40]]
    runs: list[dict[str, Any]] = []
    for hostile in (False, True):
        bench = GpuBench(WORKER)
        tasks = {name: get(name, "gpu") for name in names}
        outcomes: dict[str, Measurement] = {}
        seconds = 0.0
        for name in names:
            batch = [c for c in honest if c.task == name]
            if hostile:
                added = [Candidate(name, f.language, f.source + f"\n# {name} {k}\nMARK_{name}_{k} = {k}\n")
                         for k, f in enumerate((FAULTS * 10)[:10])]  # fmt: skip
                mixed: list[Candidate] = []
                for k, candidate in enumerate(batch):
                    mixed.append(candidate)
                    if k % 4 == 3:
                        mixed.append(added[k // 4])
                batch = mixed
            bench.expect(tasks[name], batch)
            for candidate in batch:
                bench.build(tasks[name], [candidate])
            bench.prepare(tasks[name])
            started = time.perf_counter()
            for candidate in batch:
                [(_, outcome)] = bench.measure(tasks[name], [candidate])
                outcomes[candidate.id] = outcome
                if outcome.cost.wall_s > 1:
                    print(f"{outcome.cost.wall_s:.2f} s: {outcome.status.value} {outcome.message[:80]}", flush=True)
            seconds += time.perf_counter() - started
            print(f"{'mixed' if hostile else 'clean'} {name}: {time.perf_counter() - started:.1f} s", flush=True)
        runs.append({"outcomes": outcomes, "seconds": seconds, "starts": bench.worker_starts})
        bench.close()
    clean, mixed_run = runs
    same = sum(clean["outcomes"][c.id].status is mixed_run["outcomes"][c.id].status for c in honest)
    strange = {i: m for i, m in mixed_run["outcomes"].items() if i not in clean["outcomes"]}
    return {
        "honest": len(honest),
        "same_status": same,
        "hostile": len(strange),
        "hostile_statuses": dict(Counter(m.status.value for m in strange.values())),
        "hostile_passed": sum(m.ok for m in strange.values()),
        "clean_s": clean["seconds"],
        "mixed_s": mixed_run["seconds"],
        "lost_s_per_hostile": (mixed_run["seconds"] - clean["seconds"]) / max(1, len(strange)),
        "worst_hostile_s": max(m.cost.wall_s for m in strange.values()),
        "worker_starts": mixed_run["starts"],
        "messages": sorted({f"{m.status.value}: {m.message[:120]}" for m in strange.values()}),
    }


PARTS = {
    "throughput": throughput,
    "retest": retest,
    "compare": compare,
    "pass": one_pass,
    "guards": guards,
    "faults": faults,
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "page"])
    parser.add_argument("files", nargs="*", help="for `compare`: two results of `throughput`")
    parser.add_argument("--language", default="triton")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no further task is begun")
    parser.add_argument("--output", default=str(RESULTS))
    arguments = parser.parse_args(argv)
    if arguments.part == "page":
        from benchmarks.gpu_page import write_page

        write_page(RESULTS)
        return
    result = PARTS[arguments.part](arguments)
    output = Path(arguments.output)
    if output.suffix != ".json":
        output.mkdir(parents=True, exist_ok=True)
        suffix = f"_{arguments.language}" if arguments.part == "throughput" else ""
        output = output / f"gpu_{arguments.part}{suffix}.json"
    output.write_text(json.dumps(result, separators=(",", ":")) + "\n")
    print({key: value for key, value in result.items() if key not in ("rows", "device", "worst")}, flush=True)


if __name__ == "__main__":
    main()
