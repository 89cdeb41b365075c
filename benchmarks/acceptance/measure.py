"""The acceptance set by our GPU bench: status, speedup and how it was timed.

    python -m benchmarks.acceptance.measure SET.json OUTPUT.jsonl [--seconds 500]

Rows of one problem are measured together, builds of later problems run meanwhile; rows that are already in OUTPUT are
skipped.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.languages.python_source import language_of
from foretell.kernels.task import Task
from foretell.kernels.tasks import kernelbench

AHEAD = 64  # candidates that the builders are given before their turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seconds", type=float, default=500.0, help="start no further candidate after that long")
    arguments = parser.parse_args()
    done = set()
    if arguments.output.exists():
        done = {json.loads(line)["id"] for line in arguments.output.read_text().splitlines()}
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in json.loads(arguments.set.read_text()):
        if row["id"] not in done:
            groups[row["reference"]].append(row)
    measure(list(groups.values()), arguments.output, arguments.seconds)
    rows = [json.loads(line) for line in arguments.output.read_text().splitlines()]
    print(len(rows), dict(Counter(row["status"] for row in rows)))


def measure(groups: list[list[dict[str, Any]]], output: Path, limit_s: float) -> None:
    bench = GpuBench()
    bench.warm_up()
    deadline = time.monotonic() + limit_s
    jobs = [job(rows) for rows in groups]
    queued = 0
    for number, (task, candidates, ids) in enumerate(jobs):
        while queued < len(jobs) and (queued <= number or sum(len(c) for _, c, _ in jobs[number:queued]) < AHEAD):
            bench.expect(jobs[queued][0], jobs[queued][1])
            queued += 1
        if time.monotonic() > deadline:
            break
        for candidate, outcome in bench.measure(task, candidates):
            timing = outcome.timings[0] if outcome.timings else None
            line = {
                "status": outcome.status.value,
                "message": outcome.message[:600],
                "speedup": outcome.speedup,
                "low": outcome.low,
                "high": outcome.high,
                "timed": outcome.conditions.get("timed"),
                "reference_us": statistics.median(timing.reference_us) if timing else None,
                "candidate_us": statistics.median(timing.candidate_us) if timing else None,
                "build_s": outcome.cost.build_s,
                "device": outcome.device,
            }
            with output.open("a") as file:
                for row_id in ids[candidate.id]:
                    file.write(json.dumps({"id": row_id} | line) + "\n")
    bench.close()


def job(rows: list[dict[str, Any]]) -> tuple[Task, list[Candidate], dict[str, list[str]]]:
    """One problem, its candidates, and by candidate the ids of the rows that hold it (a text may occur twice)."""
    task = kernelbench.from_text(rows[0]["reference"], rows[0]["problem"].replace("/", "_"))
    candidates: dict[str, Candidate] = {}
    ids: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        text = row["candidate"]
        candidate = Candidate(task.key, language_of(text), text, Origin("language model", {}))
        candidates.setdefault(candidate.id, candidate)
        ids[candidate.id].append(row["id"])
    return task, list(candidates.values()), ids


if __name__ == "__main__":
    main()
