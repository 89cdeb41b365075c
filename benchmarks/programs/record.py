"""Programs of the shared table's rows, reference and candidate, for the GPU that each row was timed on.

    python -m benchmarks.programs.record TABLE.parquet [--part development --part held_out] [--processes 16]

No GPU is needed. Each recording has a sandboxed process of its own, since the code is foreign; recordings go to the
user's cache (`FORETELL_CACHE`), where `foretell eval` finds them, and what is there already is skipped, so the command
can be stopped and resumed. Cells with several timed candidates come first. Of held-out rows nothing is shown but
seconds and outcomes.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.programs.split import committed, family_of, rows_of
from foretell.kernels.bench.gpu.builders import prepare_extensions
from foretell.kernels.cost.recordings import recording_of
from foretell.kernels.device import Device
from foretell.kernels.evaluate.foreign import foreign_device, reference_text, subject_of
from foretell.kernels.forecast.program import PROBLEM
from foretell.kernels.record.refusal import Recording
from foretell.kernels.task import Task
from foretell.kernels.tasks import BadTask, kernelbench

SEED = 5
MOST_OF_A_CELL = 12


def is_timed(row: Mapping[str, Any]) -> bool:
    return bool(row["status"] == "ok" and row["clean"] and row["candidate_ms"])


def is_evaluated(row: Mapping[str, Any]) -> bool:
    """Whether a row is correct and its time or its speedup was measured."""
    return bool(row["status"] == "ok" and row["clean"] and (row["candidate_ms"] or row["speedup"]))


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that are evaluated: whole cells that can be ranked first, plain matrix products by shape last.

    Cells are in a random but fixed order. Of a large cell the first `MOST_OF_A_CELL` come with the other cells.
    """
    draw = random.Random(SEED)
    cells: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if is_evaluated(row):
            cells[row["cell_id"]].append(row)
    groups: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for name in draw.sample(sorted(cells), len(cells)):
        members = draw.sample(cells[name], len(cells[name]))
        if family_of(members[0]["split_group"]) == "hgemm":
            groups[3] += members
        elif sum(is_timed(row) for row in members) > 1:
            groups[0] += members[:MOST_OF_A_CELL]
            groups[2] += members[MOST_OF_A_CELL:]
        else:
            groups[1] += members
    return [row for number in sorted(groups) for row in groups[number]]


@dataclass(frozen=True)
class Job:
    """A recording to be made: of a candidate, or of the task's reference if there is no source."""

    task: Callable[[], Task]
    workload: str | None
    source: str | None
    language: str
    device: Device

    def recording(self) -> Recording:
        """The recording, made now unless it was before. Raises BadTask if the task's text is not a problem."""
        task = self.task()
        workload = next(each for each in task.workloads if self.workload in (None, each.name))
        return recording_of(task, workload, self.source, self.language, self.device)


def jobs(rows: list[dict[str, Any]]) -> Iterator[Job]:
    """The recordings that rows of the shared table need, once each."""
    seen: set[tuple[str, str | None, str]] = set()
    for row in rows:
        reference, device = reference_text(row), foreign_device(row["gpu"])
        task = partial(kernelbench.from_text, reference, PROBLEM)
        subject = subject_of(row)
        for source, language in ((None, "torch"), (subject.executed, subject.candidate.language)):
            if reference and (reference, source, device.name) not in seen:
                seen.add((reference, source, device.name))
                yield Job(task, None, source, language, device)


def record_all(todo: Iterable[Job], processes: int, seconds: float) -> None:
    """Record what is not in the cache yet, each in a sandboxed process of its own; none is begun after `seconds`."""
    prepare_extensions("cuda")  # once, before many threads ask for it
    deadline = time.monotonic() + seconds

    def one(job: Job) -> str:
        if time.monotonic() > deadline:
            return "not begun"
        started = time.perf_counter()
        try:
            recording = job.recording()
            outcome = str(recording.refusal.reason) if recording.refusal else "recorded"
        except BadTask:
            outcome = "bad task"
        kind = "extension" if "__global__" in (job.source or "") else "candidate" if job.source else "reference"
        print(f"{kind} {time.perf_counter() - started:.1f} s, {outcome}", flush=True)
        return outcome

    with ThreadPoolExecutor(processes) as pool:
        print(dict(Counter(pool.map(one, todo))), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--rows", type=int, help="the first so many rows of the order; default: all")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no recording after that time")
    parser.add_argument("--part", choices=tuple(committed()), action="append", help="default: development")
    arguments = parser.parse_args()
    parts = arguments.part or ["development"]
    rows = ordered([row for part in parts for row in rows_of(arguments.table, part)])[: arguments.rows]
    todo = list(jobs(rows))
    groups = {row["split_group"] for row in rows}
    print(f"{len(rows)} rows of {len(groups)} problems, {len(todo)} recordings", flush=True)
    record_all(todo, arguments.processes, arguments.seconds)


if __name__ == "__main__":
    main()
