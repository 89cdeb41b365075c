"""`torch.compile` as a baseline: how much faster it makes the reference of each problem, on this machine's GPU.

    python -m benchmarks.real.compiled OUT.jsonl [--seconds 110] [--processes 8]     # on the GPU machine; resumable
    python -m benchmarks.real.compiled OUT.jsonl --add           # anywhere: benchmarks/results/real_compiled.json

References are compiled side by side, with inductor's usual settings and fixed shapes. One is timed at a time; only the
first runs of others, which come with compiling, may fall into it. Both programs are captured into CUDA graphs and timed
by events in turns, the L2 flushed before each run; medians. `difference` is the largest difference of outputs beside
the largest expected value. A problem that cannot be compiled or captured has a message and no speedup.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import time
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from benchmarks.real.listing import problem_files
from benchmarks.real.turns import Turns
from foretell.kernels.corpus import labels, real
from foretell.kernels.corpus.table import FOLDER as DATA
from foretell.kernels.measurement import Status
from foretell.kernels.tasks import kernelbench
from foretell.kernels.tasks.runtime import runtime_of
from foretell.kernels.tasks.trees import leaves

RESULTS = Path("benchmarks/results/real_compiled.json")
SEED = 25
MESSAGE_CHARACTERS = 200
WITHIN = 0.05  # as fast as the compiled one: within 5 %


def compiled_row(name: str, path: Path, turns: Turns) -> dict[str, Any]:
    """Times of one problem's reference as it is and compiled."""
    import torch

    from benchmarks.torch_baselines import timed_us

    task = kernelbench.from_text(path.read_text(encoding="utf-8"), name)
    runtime = runtime_of(task)
    inputs = runtime.inputs(task.workloads[0], 0, "cuda")
    plain = runtime.reference("cuda")
    began = time.monotonic()
    compiled = torch.compile(plain, dynamic=False)
    try:
        with torch.no_grad():
            expected, found = leaves(plain(*inputs)), leaves(compiled(*inputs))
            compile_s = time.monotonic() - began
            worst = max(_difference(*pair) for pair in zip(expected, found, strict=True))
            with turns.together():
                turns.alone()
                eager_us, compiled_us = timed_us([partial(plain, *inputs), partial(compiled, *inputs)])
    except Exception as error:  # whatever one problem's code raises must not lose the others
        return {"problem": name, "speedup": None, "message": f"{type(error).__name__}: {error}"[:MESSAGE_CHARACTERS]}
    figures = {"reference_us": eager_us, "compiled_us": compiled_us, "speedup": eager_us / compiled_us}
    return {"problem": name, **figures, "compile_s": compile_s, "difference": worst, "message": ""}


def _difference(expected: Any, found: Any) -> float:
    """The largest difference of two outputs beside the largest expected value."""
    import torch

    if not isinstance(expected, torch.Tensor) or not expected.numel():
        return 0.0
    scale = float(expected.double().abs().max()) or 1.0
    return float((expected.double() - found.double()).abs().max()) / scale


def share(output: Path, seconds: float, number: int, processes: int) -> None:
    """One process's part of the problems; lines are added to the output as they come."""
    import torch

    deadline, turns = time.monotonic() + seconds, Turns(output.with_suffix(".lock"))
    names = random.Random(SEED).sample(sorted(problem_files()), len(problem_files()))
    done = {json.loads(line)["problem"] for line in output.read_text().splitlines()} if output.exists() else set()
    for name in names[number::processes]:
        if time.monotonic() > deadline:
            return
        if name not in done:
            row = compiled_row(name, problem_files()[name], turns)
            with output.open("a") as file:
                file.write(json.dumps(row) + "\n")
            torch.compiler.reset()
            torch.cuda.empty_cache()


def summary(rows: list[dict[str, Any]], data: Path) -> dict[str, Any]:
    """What compiling gains, beside the best measured kernel of each problem; held-out problems in figures alone."""
    best: dict[str, float] = {}
    problem = {kernel["id"]: kernel["problem"] for kernel in real.read(data)}
    for label in labels.read(data):
        if label["status"] == Status.OK and label["id"] in problem:
            name = problem[label["id"]]
            best[name] = max(best.get(name, 0.0), label["speedup"])
    found: dict[str, Any] = {}
    for part in ("development", "held_out"):
        own = [row for row in rows if real.split_of(row["problem"]) == part]
        fast = [row for row in own if row["speedup"]]
        both = [(best[row["problem"]], row["speedup"]) for row in fast if row["problem"] in best]
        found[part] = {
            "problems": len(own),
            "compiled": len(fast),
            "compiled_geometric_mean": geometric_mean([row["speedup"] for row in fast]) if fast else None,
            "with_kernels": len(both),
            "best_kernel_geometric_mean": geometric_mean([b for b, _ in both]) if both else None,
            "compiled_beside_geometric_mean": geometric_mean([c for _, c in both]) if both else None,
            "best_kernel_faster": sum(b > c * (1 + WITHIN) for b, c in both),
            "compiled_faster": sum(c > b * (1 + WITHIN) for b, c in both),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no problem after that time")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--add", action="store_true", help="make the committed results from the output")
    arguments = parser.parse_args()
    if arguments.add:
        rows = sorted(map(json.loads, arguments.output.read_text().splitlines()), key=lambda row: row["problem"])
        report = {"summary": summary(rows, arguments.data), "rows": rows}
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")
        print(json.dumps(report["summary"], indent=1))
        return
    context = multiprocessing.get_context("spawn")
    every = [(arguments.output, arguments.seconds, i, arguments.processes) for i in range(arguments.processes)]
    processes = [context.Process(target=share, args=each) for each in every]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
