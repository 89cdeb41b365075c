"""The walls around the GPU bench, on a machine with a GPU: what gets out, what still works, and what they cost.

    python -m benchmarks.walls.measure [PART] [--output DIR]

Writes walls.json (into benchmarks/results by default), of which it leaves other parts as they are. All of it takes
about three minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import foretell as ft
from benchmarks.walls.problems import HONEST
from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.candidate import Candidate
from foretell.kernels.corpus.plan import templates
from foretell.kernels.library import get
from foretell.kernels.sandbox import available
from foretell.kernels.task import Task

RESULTS = Path("benchmarks/results")
NAMES = ("softmax", "layernorm", "row_sum", "swiglu")
EACH = 24  # candidates per task and language
PARTS = ("probes", "honest", "speed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=["all", "run", *PARTS], default="all")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.part == "run":
        print(json.dumps(one_run()))
        return
    place = arguments.output / "walls.json"
    found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    found["kind"] = str(available(server=True, gpu=True))
    functions: dict[str, Callable[[], Any]] = {"probes": probes, "honest": honest, "speed": speed}
    for name in PARTS if arguments.part == "all" else (arguments.part,):
        try:
            found[name] = functions[name]()
        except Exception as error:  # the other parts are still worth having
            traceback.print_exc()
            found[name] = {"failed": f"{type(error).__name__}: {error}"}
        print(f"{name}: {json.dumps(found[name], indent=1)}", flush=True)
        arguments.output.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(found, indent=1) + "\n")


def probes() -> dict[str, Any]:
    """Everything that `foretell doctor` tries in the sandbox that has the GPUs, in a worker and in a judge."""
    from foretell.kernels.bench.gpu.doctor import sandbox_checks

    return {check.name: [check.ok, check.detail] for check in sandbox_checks()}


def honest() -> list[dict[str, Any]]:
    """Problems and candidates that mean no harm, through the public API."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (problem, candidates) in HONEST.items():
            place = Path(folder) / f"{name}.py"
            place.write_text(problem)
            paths = []
            for form, source in candidates.items():
                paths.append(Path(folder) / f"{name}_{form}.py")
                paths[-1].write_text(source)
            started = time.perf_counter()
            outcomes = ft.measure(ft.task(place), paths)
            seconds = time.perf_counter() - started
            for form, outcome in zip(candidates, outcomes, strict=True):
                seen = outcome.measurement
                rows.append({"problem": name, "form": form, "status": seen.status, "speedup": seen.speedup,
                             "message": seen.message[:300], "timed": seen.conditions.get("timed"),
                             "wall_s": round(seen.cost.wall_s, 3), "seconds_of_all": round(seconds, 2)})  # fmt: skip
                print(rows[-1], flush=True)
    return rows


def speed() -> dict[str, Any]:
    """The same candidates with and without walls, each in a process with caches of its own."""
    found = {}
    for name, settings in (("walls", {}), ("none", {"FORETELL_UNSAFE": "1", "FORETELL_SANDBOX": "none"})):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, **settings, "FORETELL_CACHE": cache}
            command = [sys.executable, "-m", "benchmarks.walls.measure", "run"]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)
        lines = done.stdout.splitlines()
        found[name] = json.loads(lines[-1]) if done.returncode == 0 else {"failed": done.stderr[-2000:]}
    return found


def one_run() -> dict[str, Any]:
    """Candidates of the library, whose judge is this process, and of a problem, whose judge is apart."""
    bench = GpuBench()
    started = time.perf_counter()
    bench.warm_up()
    found: dict[str, Any] = {"start_s": round(time.perf_counter() - started, 2)}
    for language in ("triton", "cuda"):
        batches = [(get(name, "gpu"), _library(name, language)) for name in NAMES]
        found[language] = _rate(bench, batches)
    task, candidates = _foreign()
    found["problem"] = _rate(bench, [(task, candidates)])
    bench.close()
    return found


def _rate(bench: GpuBench, batches: list[tuple[Task, list[Candidate]]]) -> dict[str, Any]:
    for task, candidates in batches:
        bench.build(task, candidates)
    statuses: Counter[str] = Counter()
    opening_s = measuring_s = 0.0
    for task, candidates in batches:
        started = time.perf_counter()
        bench.prepare(task)
        opened = time.perf_counter()
        for _, outcome in bench.measure(task, candidates):
            statuses[outcome.status] += 1
        opening_s += opened - started
        measuring_s += time.perf_counter() - opened
    count = sum(statuses.values())
    return {"candidates": count, "statuses": dict(statuses), "opening_s": round(opening_s / len(batches), 3),
            "per_second": round(count / measuring_s, 2)}  # fmt: skip


def _library(name: str, language: str) -> list[Candidate]:
    template = templates(language)[name]
    settings = template.settings()
    return [template.candidate(each) for each in settings[:: max(1, len(settings) // EACH)][:EACH]]


def _foreign() -> tuple[Task, list[Candidate]]:
    from foretell.kernels.tasks import kernelbench

    problem, sources = HONEST["scaled_tanh"]
    task = kernelbench.from_text(problem, "scaled_tanh")
    texts = [f"{sources['triton']}# {number}\n" for number in range(EACH)]
    return task, [Candidate(task.key, "triton", text) for text in texts]


if __name__ == "__main__":
    main()
