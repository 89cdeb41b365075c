"""Programs of the shared table's rows, reference and candidate, for the GPU that each row was timed on.

    python -m benchmarks.programs.record TABLE.parquet CACHE [--part development --part held_out] [--processes 16]

No GPU is needed. Each recording has a sandboxed process of its own, since the code is foreign; what is in CACHE
already (`<key>.json.gz`, an answer of `record.job.encoded`) is skipped, so the command can be stopped and resumed.
Cells with several timed candidates come first. Of held-out rows nothing is shown but keys, seconds and outcomes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
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
from foretell.kernels.device import Device
from foretell.kernels.task import Task

SEED = 5
MOST_OF_A_CELL = 12
# What stands for a reference where the table gives sizes alone.
_PRODUCT = """import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn({m}, {k}, dtype=torch.{dtype}), torch.randn({k}, {n}, dtype=torch.{dtype})]


def get_init_inputs():
    return []
"""
_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}


def reference_text(row: Mapping[str, Any]) -> str | None:
    """The reference program of a row; a product's is written from its sizes; None if nothing is known."""
    if row["reference_code"]:
        return str(row["reference_code"])
    shapes = json.loads(row["shapes_json"] or "{}")
    if not isinstance(shapes, dict):
        return None
    if isinstance(shapes.get("N"), int):
        shapes = shapes | dict.fromkeys(("m", "n", "k"), shapes["N"])
    if not all(isinstance(shapes.get(name), int) for name in ("m", "n", "k")):
        return None
    return _PRODUCT.format(**{n: shapes[n] for n in "mnk"}, dtype=_DTYPES.get(shapes.get("dtype", "fp32"), "float32"))


def key_of(reference: str, candidate: str | None, architecture: str) -> str:
    """Name of a recording in the cache."""
    digest = hashlib.sha256("\0".join((reference, candidate or "", architecture)).encode())
    return digest.hexdigest()[:32]


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

    key: str
    task: Callable[[], Task]
    workload: str | None
    source: str | None
    language: str
    device: Device


def jobs(rows: list[dict[str, Any]]) -> Iterator[Job]:
    """The recordings that rows of the shared table need, once each."""
    from foretell.kernels.evaluate.foreign import foreign_device
    from foretell.kernels.languages.python_source import language_of
    from foretell.kernels.tasks import kernelbench

    seen: set[str] = set()
    for row in rows:
        reference = reference_text(row)
        if reference is None:
            continue
        device, source = foreign_device(row["gpu"]), str(row["candidate_code"])
        task = partial(kernelbench.from_text, reference, "problem")
        for job in (
            Job(key_of(reference, None, ""), task, None, None, "torch", device),
            Job(key_of(reference, source, device.toolchain), task, None, source, language_of(source), device),
        ):
            if job.key not in seen:
                seen.add(job.key)
                yield job


def record_all(todo: Iterable[Job], cache: Path, processes: int, seconds: float) -> None:
    """Record what is not in the cache yet, each in a sandboxed process of its own; none is begun after `seconds`."""
    from foretell.kernels.bench.gpu.builders import prepare_extensions
    from foretell.kernels.record.apart import record_apart
    from foretell.kernels.record.job import encoded
    from foretell.kernels.tasks import BadTask

    cache.mkdir(parents=True, exist_ok=True)
    prepare_extensions("cuda")  # once, before many threads ask for it
    deadline = time.monotonic() + seconds

    def one(job: Job) -> str:
        path = cache / f"{job.key}.json.gz"
        if path.exists():
            return "recorded before"
        if time.monotonic() > deadline:
            return "not begun"
        started = time.perf_counter()
        try:
            task = job.task()
            workload = next(each for each in task.workloads if job.workload in (None, each.name))
            recording = record_apart(task, workload, job.source, job.language, job.device)
            answer, outcome = encoded(recording), str(recording.refusal.reason) if recording.refusal else "recorded"
        except BadTask as error:
            answer, outcome = json.dumps({"programs": [], "failure": str(error)[:600]}).encode(), "bad task"
        unfinished = path.with_suffix(".partial")
        unfinished.write_bytes(gzip.compress(answer, 6))
        unfinished.replace(path)
        kind = "candidate" if job.source else "reference"
        print(f"{job.key} {kind} {time.perf_counter() - started:.1f} s, {outcome}", flush=True)
        return outcome

    with ThreadPoolExecutor(processes) as pool:
        print(dict(Counter(pool.map(one, todo))), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("cache", type=Path)
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
    record_all(todo, arguments.cache, arguments.processes, arguments.seconds)


if __name__ == "__main__":
    main()
