"""Record and dry-run a stratified sample of the corpus's built rows, for a model to learn from their step times.

    python -m benchmarks.programs.collect FOLDER [--processes 16] [--seconds 230] [--rows 4000]

Operations take turns, kernels that no template made first, so that a collection that was cut short has about equally
many rows of each operation. Rows that turned out wrong are among them: what is missing must not tell how a row turned
out. Each process writes a file of its own (`part-*.pickle`, one compressed record after the other); rows that are there
already are skipped. No GPU is needed.
"""

from __future__ import annotations

import argparse
import io
import math
import multiprocessing
import os
import pickle
import random
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.programs.corpus import job_of
from foretell.kernels.corpus import table
from foretell.kernels.cost import launches
from foretell.kernels.languages import dry
from foretell.kernels.program import Launch, Program

COLUMNS = ("id", "kind", "task", "family", "language", "origin", "split", "device", "features", "speedup", "workloads",
           "source")  # fmt: skip
SEED = 7
_SIZE_BYTES = 4


@dataclass(frozen=True)
class Collected:
    """One row's Program without its images; for each launch of its run, what was read off the machine code and what the
    dry run saw (or why it could not be followed). `ptx` is by the image's hash; `seconds` are those of recording and
    those of the dry runs."""

    id: str
    refusal: str
    program: Program | None
    ptx: Mapping[str, str]
    resources: tuple[launches.Resources | None, ...]
    observations: tuple[dry.Observation | str | None, ...]
    seconds: tuple[float, float]


class _Unpickler(pickle.Unpickler):
    """Finds the class of this module that a process wrote of which it was the main one."""

    def find_class(self, module: str, name: str) -> Any:
        return Collected if name == "Collected" else super().find_class(module, name)


def stratified(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in a fixed order in which operations take turns; of each, those that no template made come first."""
    draw = random.Random(SEED)
    tasks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        tasks[row["task"]].append(row)
    orders = []
    for _, members in sorted(tasks.items()):
        shuffled = draw.sample(sorted(members, key=lambda row: str(row["id"])), len(members))
        orders.append(sorted(shuffled, key=lambda row: row["origin"] == "template"))
    longest = max(map(len, orders))
    return [order[number] for number in range(longest) for order in orders if number < len(order)]


def built_rows() -> list[dict[str, Any]]:
    """GPU rows of the corpus that were built and measured, working or not."""
    return [row for row in table.read(columns=COLUMNS) if row["kind"] == "gpu" and row["features"]]


def collected(folder: Path) -> Iterator[Collected]:
    """What a folder holds; a record that was torn by a kill is left out."""
    for path in sorted(folder.glob("part-*.pickle")):
        data = path.read_bytes()
        at = 0
        while at + _SIZE_BYTES <= len(data):
            size = int.from_bytes(data[at : at + _SIZE_BYTES], "little")
            at += _SIZE_BYTES + size
            if at <= len(data):
                yield _Unpickler(io.BytesIO(zlib.decompress(data[at - size : at]))).load()


def collect(row: dict[str, Any]) -> Collected:
    """Record a row's first workload and follow its launches."""
    started = time.perf_counter()
    if not row["workloads"]:
        row = row | {"workloads": [{"name": None}]}
    recording = job_of(row).recording()
    recorded = time.perf_counter() - started
    program = recording.program
    if program is None:
        return Collected(row["id"], str(recording.refusal), None, {}, (), (), (recorded, 0.0))
    resources: list[launches.Resources | None] = []
    observations: list[dry.Observation | str | None] = []
    for step in program.run:
        if not isinstance(step, Launch):
            resources.append(None)
            observations.append(None)
            continue
        image = program.image(step.image)
        resources.append(launches.resources(image, step))
        try:
            observations.append(launches.observed(step, image))
        except launches.NotFollowed as error:
            observations.append(str(error))
    ptx = {image.hash: image.ptx for image in program.images}
    followed = time.perf_counter() - started - recorded
    return Collected(
        row["id"], "", replace(program, images=()), ptx, tuple(resources), tuple(observations), (recorded, followed)
    )


def write(folder: Path, one: Collected) -> None:
    """Append a record to this process's file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = zlib.compress(pickle.dumps(one), 6)
    with (folder / f"part-{os.getpid()}.pickle").open("ab") as file:
        file.write(len(data).to_bytes(_SIZE_BYTES, "little") + data)


def _collect_into(folder: Path, deadline: float, row: dict[str, Any]) -> str:
    if time.time() > deadline:
        return "not begun"
    one = collect(row)
    write(folder, one)
    return "recorded" if one.program is not None else f"{row['language']}: {one.refusal[:300]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, help="so many rows of the order at most")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first so many rows of the order")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no row after that time")
    arguments = parser.parse_args()
    deadline = time.time() + arguments.seconds
    done = {one.id for one in collected(arguments.folder)}
    rows = [row for row in stratified(built_rows())[arguments.skip : arguments.rows] if row["id"] not in done]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.processes, context) as pool:
        outcomes = Counter(pool.map(partial(_collect_into, arguments.folder, deadline), rows))
    for outcome, count in outcomes.most_common(12):
        print(f"{count} {outcome}")
    seconds = [one.seconds for one in collected(arguments.folder)]
    print(f"{len(seconds)} rows; mean seconds: record {sum(s[0] for s in seconds) / max(1, len(seconds)):.2f}, "
          f"dry run {sum(s[1] for s in seconds) / max(1, len(seconds)):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
