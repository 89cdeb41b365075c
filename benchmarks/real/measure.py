"""Measure the kernels of data/real_kernels.parquet that have no label yet, on this machine's GPU.

    python -m benchmarks.real.measure FOLDER [--seconds 500] [--benches 4] [--problems NAME ...]    # on the GPU machine
    python -m benchmarks.real.measure FOLDER --steps [--seconds 300]                                # then: step times
    python -m benchmarks.real.measure FOLDER --add                          # anywhere: into data/real_labels.parquet

FOLDER gets catalogue.sqlite and steps.jsonl, which grow as the work goes on: stop it at any time, and the same command
resumes. What data/real_labels.parquet holds for this device and toolchain is not measured again. Several benches share
one GPU in turns, each being alone while it times. Kernels of held-out problems are measured like all others; nothing of
them is shown.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.real.turns import InTurns, TimedAlone, Turns
from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.bench.gpu.builders import prepare_extensions
from foretell.kernels.corpus import labels, real
from foretell.kernels.corpus.collect import Tally, collect
from foretell.kernels.corpus.plan import Item, foreign_items
from foretell.kernels.corpus.table import FOLDER as DATA
from foretell.kernels.device import Device
from foretell.kernels.profiles import GPU_BENCH
from foretell.kernels.store import Catalogue
from foretell.kernels.tasks import kernelbench

CATALOGUE, STEPS, LOCK = "catalogue.sqlite", "steps.jsonl", "turns.lock"
SEED = 25


def plan(kernels: Sequence[Mapping[str, Any]], number: int = 0, benches: int = 1) -> list[Item]:
    """All kernels, problem by problem: a bench's own share of the problems first, then the end of the others'.

    So benches build and measure different kernels until one has nothing left of its own.
    """
    by_problem: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for kernel in kernels:
        by_problem[kernel["problem"]].append(kernel)
    names = random.Random(SEED).sample(sorted(by_problem), len(by_problem))
    own = names[number::benches]
    items = []
    for name in (*own, *(name for name in reversed(names) if name not in own)):
        members = by_problem[name]
        task = kernelbench.from_text(members[0]["reference"], name)
        items += foreign_items(task, [real.candidate_of(kernel) for kernel in members])
    return items


def labelled(known: Sequence[Mapping[str, Any]], device: Device) -> set[str]:
    """Kernels that have a label for this device and toolchain."""
    here = (device.name, device.toolchain)
    return {label["id"] for label in known if (label["device"], label["toolchain"]) == here}


def gpu_bench(turns: Turns, benches: int) -> GpuBench:
    """A bench on this process's GPU, one of so many, which times only when it is alone."""
    builders = max(1, (os.cpu_count() or 2) // benches)
    return GpuBench(replace(GPU_BENCH, method="worker"), builders, worker=TimedAlone(turns))


def measure(
    folder: Path,
    kernels: Sequence[Mapping[str, Any]],
    known: Sequence[Mapping[str, Any]],
    seconds: float,
    number: int = 0,
    benches: int = 1,
    make: Callable[[Turns, int], GpuBench] = gpu_bench,
) -> Tally:
    """One bench's share of the work: whatever no other bench is measuring and has no label in `known`."""
    turns = Turns(folder / LOCK)
    held_out = {kernel["problem"] for kernel in kernels if kernel["split"] != "development"}
    counts: Counter[str] = Counter()

    def report(name: str, tally: Tally) -> None:
        done = {status: n - counts[status] for status, n in tally.statuses.items() if n > counts[status]}
        counts.update(done)
        shown = sum(done.values()) if name in held_out else done
        print(f"{tally.seconds:7.1f} s, bench {number}: {tally.measured} measured; {name}: {shown}", flush=True)

    with closing(InTurns(make(turns, benches), turns)) as bench:
        catalogue = Catalogue(folder / CATALOGUE, fsync=False)
        items = plan(kernels, number, benches)
        return collect(items, "gpu", bench, catalogue, labelled(known, bench.device), seconds, report=report)


def measure_together(
    folder: Path,
    kernels: Sequence[Mapping[str, Any]],
    known: Sequence[Mapping[str, Any]],
    seconds: float,
    benches: int,
) -> None:
    """Several benches, each a process. Raises SystemExit if one of them failed; what was measured is kept."""
    prepare_extensions("cuda")  # once, before several benches ask for it
    context = multiprocessing.get_context("spawn")
    arguments = [(folder, kernels, known, seconds, number, benches) for number in range(benches)]
    processes = [context.Process(target=measure, args=each) for each in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    failed = sum(process.exitcode != 0 for process in processes)
    if failed:
        raise SystemExit(f"{failed} of {benches} benches failed; run the same command to resume")


def add(folder: Path, data: Path) -> tuple[int, int]:
    """Add what was measured to the committed tables."""
    found = labels.of_catalogue(folder / CATALOGUE) if (folder / CATALOGUE).exists() else iter(())
    return labels.add(data, found, step_rows(folder / STEPS))


def step_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of step times, from lines of `benchmarks.real.steps`."""
    for line in path.read_text().splitlines() if path.exists() else ():
        timed = json.loads(line)
        about = {name: timed[name] for name in ("program", "device", "toolchain")}
        for number, (what, us) in enumerate(timed["steps"]):
            yield about | {"step": number, "what": what, "us": us}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no measurement after that time")
    parser.add_argument("--benches", type=int, default=4)
    parser.add_argument("--problems", nargs="*", default=[], help="default: all")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--steps", action="store_true", help="time the steps of what was measured and is correct")
    action.add_argument("--add", action="store_true", help="add what is in FOLDER to the committed tables")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    if arguments.add:
        print("{} labels, {} steps".format(*add(arguments.folder, arguments.data)))
    elif arguments.steps:
        from benchmarks.real.steps import time_all

        time_all(arguments.folder, arguments.data, arguments.seconds)
    else:
        kernels = [k for k in real.read(arguments.data) if not arguments.problems or k["problem"] in arguments.problems]
        known = labels.read(arguments.data)
        measure_together(arguments.folder, kernels, known, arguments.seconds, arguments.benches)
    print(f"{time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
