"""Test-retest of the CPU bench: the same candidates measured twice, in separate passes with fresh workers and inputs.

    python -m benchmarks.retest [--count 48] [--output benchmarks/results/retest.json]

Candidates are drawn at random over all tasks; only those correct in both passes are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from benchmarks.machine import describe
from foretell.belief import spearman
from foretell.kernels.bench.cpu import CpuBench
from foretell.kernels.candidate import Candidate
from foretell.kernels.library import tasks
from foretell.kernels.measurement import Measurement
from foretell.kernels.propose.cpp import templates


def draw(count: int, seed: int) -> list[Candidate]:
    rng = np.random.default_rng(seed)
    names = list(templates())
    chosen: dict[str, Candidate] = {}
    while len(chosen) < count:
        template = templates()[names[len(chosen) % len(names)]]
        settings = template.settings()
        candidate = template.candidate(settings[int(rng.integers(len(settings)))])
        chosen.setdefault(candidate.id, candidate)
    return sorted(chosen.values(), key=lambda candidate: candidate.task)


def one_pass(candidates: list[Candidate]) -> dict[str, Measurement]:
    bench = CpuBench()
    results = {}
    for candidate in candidates:
        [(_, results[candidate.id])] = bench.measure(tasks()[candidate.task], [candidate])
    bench.close()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/retest.json"))
    arguments = parser.parse_args()
    candidates = draw(arguments.count, seed=0)
    bench = CpuBench()
    for candidate in candidates:
        bench.build(tasks()[candidate.task], [candidate])
    bench.close()
    load = os.getloadavg()[0]
    started = time.perf_counter()
    passes = [one_pass(candidates), one_pass(candidates)]
    seconds = time.perf_counter() - started
    both = [c for c in candidates if all(p[c.id].ok for p in passes)]
    pairs = np.array([[p[c.id].speedup for p in passes] for c in both], dtype=float)
    difference = np.abs(pairs[:, 0] / pairs[:, 1] - 1)
    inside = [
        max(p.low or 0, q.low or 0) <= min(p.high or 0, q.high or 0)
        for p, q in ((passes[0][c.id], passes[1][c.id]) for c in both)
    ]
    within = [
        spearman(pairs[rows, 0], pairs[rows, 1])
        for name in tasks()
        if (rows := np.array([c.task == name for c in both])).sum() >= 5
    ]
    result = {
        "machine": describe(),
        "load_before": load,
        "candidates": len(candidates),
        "correct_in_both": len(both),
        "same_status": sum(passes[0][c.id].status is passes[1][c.id].status for c in candidates),
        "median_difference": float(np.median(difference)),
        "p90_difference": float(np.quantile(difference, 0.9)),
        "worst_difference": float(difference.max()),
        "spearman": spearman(pairs[:, 0], pairs[:, 1]),
        "mean_spearman_within_task": float(np.mean(within)) if within else None,
        "intervals_overlap": float(np.mean(inside)),
        "seconds_per_measurement": seconds / (2 * len(candidates)),
        "rows": [
            {"task": c.task, "id": c.id, "first": passes[0][c.id].speedup, "second": passes[1][c.id].speedup}
            for c in both
        ],
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    for key in list(result)[1:-1]:
        print(f"{key:28} {result[key]}")


if __name__ == "__main__":
    main()
