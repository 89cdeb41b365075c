"""Programs of the shared table's development rows, reference and candidate, for the GPU that each row was timed on.

    python -m benchmarks.programs.record TABLE.parquet CACHE [--problems 60] [--rows 300] [--processes 1]

No GPU is needed. Each recording has a sandboxed process of its own, since the code is foreign; what is in CACHE
already (`<key>.json.gz`, an answer of `record.job.encoded`) is skipped, so the command can be stopped and resumed. The
first `--rows` are drawn over the problems in turn, rows of cells with several timed candidates first.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.programs.split import committed, family_of, rows_of

SEED = 5
MOST_OF_A_CELL = 6
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


def chosen(rows: list[dict[str, Any]], problems: int, count: int) -> list[dict[str, Any]]:
    """A seeded sample of problems, then their rows in turn, those of cells that can be ranked first."""
    draw = random.Random(SEED)
    groups = sorted({row["split_group"] for row in rows if family_of(row["split_group"]) != "hgemm"})
    draw.shuffle(groups)
    cells: Counter[str] = Counter(row["cell_id"] for row in rows if is_timed(row))
    queues: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["split_group"] in groups[:problems] and row["status"] == "ok" and row["clean"]:
            queues[row["split_group"]].append(row)
    taken: Counter[str] = Counter()
    order: list[dict[str, Any]] = []
    for members in queues.values():
        draw.shuffle(members)
        members.sort(key=lambda row: (not (is_timed(row) and cells[row["cell_id"]] > 1), row["cell_id"]))
    while any(queues.values()) and len(order) < count:
        for group in sorted(queues):
            cell = queues[group][0]["cell_id"] if queues[group] else None
            while queues[group] and queues[group][0]["cell_id"] == cell:
                row = queues[group].pop(0)
                taken[row["cell_id"]] += 1
                if taken[row["cell_id"]] <= MOST_OF_A_CELL:
                    order.append(row)
    return order[:count]


def extremes(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The fastest and slowest candidate of cells whose times differ by more than 10 %; data sets take turns."""
    draw = random.Random(SEED)
    cells: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if is_timed(row) and row["reference_code"]:
            cells[row["cell_id"]].append(row)
    queues: dict[str, list[list[dict[str, Any]]]] = defaultdict(list)
    for name in draw.sample(sorted(cells), len(cells)):
        members = sorted(cells[name], key=lambda row: float(row["candidate_ms"]))
        if members[-1]["candidate_ms"] > 1.1 * members[0]["candidate_ms"]:
            queues[members[0]["dataset"]].append([members[0], members[-1]])
    order: list[dict[str, Any]] = []
    while any(queues.values()) and len(order) < count:
        for queue in queues.values():
            order += queue.pop(0) if queue else []
    return order[:count]


def jobs(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, str | None, str]]:
    """Key, reference, candidate (None: the reference itself) and GPU of each recording, once each."""
    from foretell.kernels.evaluate.foreign import foreign_device

    seen: set[str] = set()
    for row in rows:
        reference = reference_text(row)
        if reference is None:
            continue
        device = foreign_device(row["gpu"])
        for candidate, architecture in ((None, ""), (row["candidate_code"], device.toolchain)):
            key = key_of(reference, candidate, architecture)
            if key not in seen:
                seen.add(key)
                yield key, reference, candidate, row["gpu"]


def record_all(todo: list[tuple[str, str, str | None, str]], cache: Path, processes: int) -> None:
    """Record what is not in the cache yet, each in a sandboxed process of its own."""
    from foretell.kernels.evaluate.foreign import foreign_device
    from foretell.kernels.languages.python_source import language_of
    from foretell.kernels.record.apart import record_apart
    from foretell.kernels.record.job import encoded
    from foretell.kernels.tasks import BadTask, kernelbench

    cache.mkdir(parents=True, exist_ok=True)

    def one(job: tuple[str, str, str | None, str]) -> None:
        key, reference, candidate, gpu = job
        path = cache / f"{key}.json.gz"
        if path.exists():
            return
        started = time.perf_counter()
        try:
            task = kernelbench.from_text(reference, "problem")
            language = "torch" if candidate is None else language_of(candidate)
            answer = encoded(record_apart(task, task.workloads[0], candidate, language, foreign_device(gpu)))
        except BadTask as error:
            answer = json.dumps({"programs": [], "failure": str(error)[:600]}).encode()
        partial = path.with_suffix(".partial")
        partial.write_bytes(gzip.compress(answer, 6))
        partial.replace(path)
        print(f"{key} {'candidate' if candidate else 'reference'} {time.perf_counter() - started:.1f} s", flush=True)

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(one, todo))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--extremes", action="store_true", help="only the fastest and slowest of each cell")
    parser.add_argument("--part", choices=tuple(committed()), default="development")
    arguments = parser.parse_args()
    every = rows_of(arguments.table, arguments.part)
    count = arguments.rows
    rows = extremes(every, count) if arguments.extremes else chosen(every, arguments.problems, count)
    todo = list(jobs(rows))
    groups = {row["split_group"] for row in rows}
    print(f"{len(rows)} rows of {len(groups)} problems, {len(todo)} recordings", flush=True)
    record_all(todo, arguments.cache, arguments.processes)


if __name__ == "__main__":
    main()
