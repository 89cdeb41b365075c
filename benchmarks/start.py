"""Tuning given kernels: the proposer `knobs` against random choice among the same variations, on a GPU.

    python -m benchmarks.start run OUT.json --seconds 380      # one GPU, 16 cores; may be repeated: it goes on
    python -m benchmarks.start page                            # docs/results/start.md

The kernels in `benchmarks/start/` were written by a language model that had not seen this project's code, and frozen
before anything was measured. Each arm is a whole search with 40 measurements; arms of one kernel share measurements, so
that no variation is measured twice. After each arm its winner and the given kernel are measured again, in turns. All
kernels are searched at a time, each by a process of its own; one of them has the device at a time.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

FOLDER = Path(__file__).parent / "start"
RESULT = Path(__file__).parent / "results" / "start.json"
PAGE = Path(__file__).parents[1] / "docs" / "results" / "start.md"
BUILDERS = 4
READY_S = 100.0  # how long processes wait for the data of all problems before anything is timed
MEASUREMENTS = 40
CANDIDATES = 600  # builds that fail count here and not among the measurements
SEEDS = 3
FINAL = 3  # measurements of each winner and the start, in turns
ARMS = ("knobs", "random")


class OutOfTime(Exception):
    """The time that a call may take is spent; what was measured is kept."""


class SharedBench:
    """A GPU bench for one of several processes: one candidate at a time has the device, and none is timed twice.

    `kept` has the outcomes so far by candidate. A search verifies its winners without `hopeless_below`: those
    measurements are always made.
    """

    def __init__(self, until: float, lock: Path, kept: dict[str, Any]) -> None:
        from foretell.kernels.bench.gpu.bench import GpuBench

        self._bench = GpuBench(builders=BUILDERS)
        self.device = self._bench.device
        self._until, self._lock = until, lock
        self.kept = kept
        self.prepare = self._bench.prepare

    def build(self, task: Any, candidates: Sequence[Any]) -> list[Any]:
        return self._bench.build(task, candidates)

    def measure(
        self, task: Any, candidates: Sequence[Any], hopeless_below: float | None = None
    ) -> Iterator[tuple[Any, Any]]:
        from foretell.kernels.bench.timing_lock import timing_lock
        from foretell.kernels.measurement import Measurement, Status

        self._bench.build(task, candidates)
        for candidate in candidates:
            if hopeless_below is not None and candidate.id in self.kept:
                status, speedup, low, high = self.kept[candidate.id]
                yield candidate, Measurement(Status(status), speedup=speedup, low=low, high=high, device=self.device.id)
                continue
            with timing_lock(self._lock):
                if time.time() > self._until:
                    raise OutOfTime
                [(_, found)] = self._bench.measure(task, [candidate], hopeless_below)
            if hopeless_below is not None and found.status is not Status.INFRASTRUCTURE:
                self.kept[candidate.id] = [found.status.value, found.speedup, found.low, found.high]
            yield candidate, found

    def close(self) -> None:
        self._bench.close()


def searched(task: Any, start: Any, bench: SharedBench, arm: str, seed: int) -> tuple[dict[str, Any], Any]:
    """One search by an arm: what it came to, and its winner."""
    from foretell.kernels import profiles
    from foretell.kernels.forecast import RooflineForecaster
    from foretell.kernels.policy import make_policy
    from foretell.kernels.profiles import Budgets
    from foretell.kernels.propose.knobs.proposer import KnobProposer
    from foretell.kernels.search import MemoryJournal, Search, SearchConfig, make_strategy

    budgets = Budgets(MEASUREMENTS, 1e6, CANDIDATES)
    profile = replace(profiles.get("standard"), budgets=budgets)
    proposer = KnobProposer(start, tuned=arm == "knobs")
    config = SearchConfig(start.language, seed, profile, start)
    parts = (RooflineForecaster(), make_strategy("puct", profile), make_policy("all", profile))
    state = Search(task, bench, proposer, *parts, config, MemoryJournal()).run()
    best = state.best
    measured = [
        [node.measurement.status.value, node.measurement.speedup, dict(node.candidate.origin.detail).get("knobs")]
        for node in state.nodes.values()
        if node.measurement is not None
    ]
    found = {
        "arm": arm,
        "seed": seed,
        "measured": state.measured,
        "unbuilt": state.unbuilt,
        "failures": {status.value: count for status, count in state.failures.items()},
        "size": proposer.space.size,
        "base": proposer.space.base,
        "ended": state.finished.reason.value if state.finished else None,
        "best": None if best is None else best.id,
        "knobs": None if best is None else dict(best.candidate.origin.detail).get("knobs"),
        "outcomes": measured,
    }
    return found, None if best is None else best.candidate


def finals(task: Any, bench: SharedBench, candidates: Sequence[Any]) -> dict[str, list[float]]:
    """Speedups over the reference of some candidates, each measured several times, in turns."""
    found: dict[str, list[float]] = {}
    for _ in range(FINAL):
        for candidate, outcome in bench.measure(task, candidates):
            if outcome.ok and outcome.speedup:
                found.setdefault(candidate.id, []).append(outcome.speedup)
    return found


def lane(name: str, out: Path, until: float, shared: Path, count: int) -> None:
    """Search one kernel, arm by arm and seed after seed, and write what came out after each arm.

    Data are made before anything is timed by any of the `count` processes, for that takes the device's time too.
    """
    import foretell as ft
    from foretell.inputs import start_of
    from foretell.kernels.search import BenchBroken
    from foretell.kernels.tasks import BadTask

    mine = json.loads(out.read_text() or "{}") or {"kept": {}, "runs": []}
    task = ft.task(FOLDER / name / "problem.py", "gpu")
    start = start_of(task, FOLDER / name / "kernel.py")
    bench = SharedBench(until, shared, mine["kept"])
    mine |= {"start": start.id, "language": start.language, "device": bench.device.id}
    try:
        bench.prepare(task)
        (shared / f"ready.{name}").touch()
        waited_until = time.time() + READY_S
        while len(list(shared.glob("ready.*"))) < count and time.time() < waited_until:
            time.sleep(0.2)
        for seed in range(SEEDS):
            for arm in ARMS:
                if all((run["arm"], run["seed"]) != (arm, seed) for run in mine["runs"]):
                    began = time.time()
                    found, winner = searched(task, start, bench, arm, seed)
                    again = finals(task, bench, [start] if winner is None or winner.id == start.id else [start, winner])
                    mine["runs"].append({**found, "finals": again, "seconds": time.time() - began})
                    out.write_text(json.dumps(mine))
    except OutOfTime:
        pass
    except (BadTask, BenchBroken) as error:
        mine["trouble"] = str(error)
    finally:
        out.write_text(json.dumps(mine))
        bench.close()


def run(out: Path, seconds: float, only: Sequence[str]) -> None:
    """All kernels, a process each, within a time limit; goes on where `out` ends."""
    started = time.time()
    names = [path.parent.name for path in sorted(FOLDER.glob("*/kernel.py")) if not only or path.parent.name in only]
    known = json.loads(out.read_text()) if out.exists() else {}
    shared = out.parent / "shared"
    shutil.rmtree(shared, ignore_errors=True)
    shared.mkdir(parents=True)
    processes = {}
    for name in names:
        part = shared / f"{name}.json"
        part.write_text(json.dumps(known.get(name, {})))
        command = [sys.executable, "-m", "benchmarks.start", "lane", str(part), "--only", name]
        log = (shared / f"{name}.log").open("w")
        limits = ("--until", str(started + seconds), "--count", str(len(names)))
        processes[name] = subprocess.Popen([*command, *limits], stdout=log, stderr=log)
    for name, process in processes.items():
        try:
            process.wait(max(1.0, started + seconds + 25 - time.time()))
        except subprocess.TimeoutExpired:
            process.kill()
        known[name] = json.loads((shared / f"{name}.json").read_text() or "{}")
        tail = (shared / f"{name}.log").read_text()[-800:].strip()
        if tail:
            print(f"{name}: {tail}")
    shutil.rmtree(shared)
    out.write_text(json.dumps(known))
    for name in names:
        print(name, figures_of(known.get(name, {})))


def figures_of(found: dict[str, Any]) -> dict[str, Any]:
    """Speedups over the given kernel by arm, the mean over seeds in log, as far as there are any."""
    logs: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for one in found.get("runs", ()):
        start = one["finals"].get(found["start"])
        winner = one["finals"].get(one["best"] or found["start"])
        if start and winner:
            logs[one["arm"]].append(math.log(median(winner) / median(start)))
    return {arm: math.exp(fmean(values)) for arm, values in logs.items() if values} | {"seeds": len(logs["random"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("run", "lane", "page"))
    parser.add_argument("out", type=Path, nargs="?", default=RESULT)
    parser.add_argument("--seconds", type=float, default=380.0)
    parser.add_argument("--until", type=float, default=0.0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=())
    arguments = parser.parse_args()
    if arguments.verb == "run":
        run(arguments.out, arguments.seconds, arguments.only)
    elif arguments.verb == "lane":
        lane(arguments.only[0], arguments.out, arguments.until, arguments.out.parent, arguments.count)
    else:
        from benchmarks.start_page import write

        write(arguments.out, PAGE)


if __name__ == "__main__":
    main()
