"""Tuning given kernels: the proposer `knobs` against random choice among the same variations, on a GPU.

    python -m benchmarks.start run OUT.json --seconds 380      # one GPU, 16 cores; may be repeated: it goes on
    python -m benchmarks.start page                            # docs/results/start.md

The kernels in `benchmarks/start/` were written by a language model that had not seen this project's code, and frozen
before anything was measured. Each arm is a whole search with 40 measurements; arms of one kernel share measurements, so
that no variation is measured twice. After each arm its winner and the given kernel are measured again, in turns.
Several kernels are searched at a time, each by a process of its own; one of them has the device at a time.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

FOLDER = Path(__file__).parent / "start"
RESULT = Path(__file__).parent / "results" / "start.json"
PAGE = Path(__file__).parents[1] / "docs" / "results" / "start.md"
BUILDERS = 4
TOGETHER = 4  # kernels at a time: the data of all 14 do not fit into the memory of an H200
MEASUREMENTS = 40
CANDIDATES = 600  # builds that fail count here and not among the measurements
SEEDS = 3
FINAL = 2  # measurements of each winner and the start, in turns
ARMS = ("knobs", "random")


class OutOfTime(Exception):
    """The time that a call may take is spent; what was measured is kept."""


class SharedBench:
    """A GPU bench for one of several processes: one candidate at a time has the device, and none is timed twice.

    `kept` has the outcomes so far by candidate. A search verifies its winners without `hopeless_below`: those
    measurements are always made.
    """

    def __init__(self, until: float, lock: Path) -> None:
        from foretell.kernels.bench.gpu.bench import GpuBench

        self._bench = GpuBench(builders=BUILDERS)
        self.device = self._bench.device
        self._until, self._lock = until, lock
        self.kept: dict[str, Any] = {}
        self.prepare = self._bench.prepare

    def build(self, task: Any, candidates: Sequence[Any]) -> list[Any]:
        from foretell.kernels.measurement import Status
        from foretell.kernels.protocols import Build

        new = [candidate for candidate in candidates if candidate.id not in self.kept]
        builds = dict(zip((one.id for one in new), self._bench.build(task, new), strict=True))
        return [builds.get(candidate.id) or Build(Status.OK) for candidate in candidates]

    def measure(
        self, task: Any, candidates: Sequence[Any], hopeless_below: float | None = None
    ) -> Iterator[tuple[Any, Any]]:
        from foretell.kernels.bench.timing_lock import timing_lock
        from foretell.kernels.measurement import Measurement, Status

        self._bench.build(task, [one for one in candidates if hopeless_below is None or one.id not in self.kept])
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
    profile = replace(profiles.get("standard"), budgets=budgets, verify_count=2)
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


def lane(names: Sequence[str], shared: Path, until: float, seeds: int) -> None:
    """Search some kernels one after the other: both arms with each seed; what came out is written after each arm."""
    bench = SharedBench(until, shared)
    try:
        for name in names:
            out = shared / f"{name}.json"
            mine = json.loads(out.read_text() or "{}") or {"kept": {}, "runs": []}
            # A kernel that could not be launched may have found the memory full.
            mine["kept"] = {key: kept for key, kept in mine["kept"].items() if kept[0] in ("ok", "wrong")}
            mine["retried"] = True
            try:
                one_kernel(name, bench, mine, seeds, lambda mine=mine, out=out: out.write_text(json.dumps(mine)))  # type: ignore[misc]
            except OutOfTime:
                return
            except Exception as error:
                mine["trouble"] = f"{type(error).__name__}: {error}"
            finally:
                out.write_text(json.dumps(mine))
    finally:
        bench.close()


def one_kernel(name: str, bench: SharedBench, mine: dict[str, Any], seeds: int, save: Callable[[], object]) -> None:
    """Search one kernel by all arms and seeds that it was not searched by yet."""
    import foretell as ft
    from foretell.inputs import start_of

    task = ft.task(FOLDER / name / "problem.py", "gpu")
    start = start_of(task, FOLDER / name / "kernel.py")
    bench.kept = mine["kept"]
    mine |= {"start": start.id, "language": start.language, "device": bench.device.id}
    mine.pop("trouble", None)
    bench.prepare(task)
    [(_, first)] = bench.measure(task, [start], 0.0)
    if not first.ok:
        mine["trouble"] = f"the given kernel does not work: {first.status.value} {first.message}"
        return
    for seed in range(seeds):
        for arm in ARMS:
            if all((run["arm"], run["seed"]) != (arm, seed) for run in mine["runs"]):
                began = time.time()
                found, winner = searched(task, start, bench, arm, seed)
                again = finals(task, bench, [start] if winner is None or winner.id == start.id else [start, winner])
                mine["runs"].append({**found, "finals": again, "seconds": time.time() - began})
                save()


def run(out: Path, seconds: float, together: int, seeds: int, only: Sequence[str]) -> None:
    """All kernels, in several processes, within a time limit; goes on where `out` ends."""
    started = time.time()
    names = [path.parent.name for path in sorted(FOLDER.glob("*/kernel.py")) if not only or path.parent.name in only]
    known = json.loads(out.read_text()) if out.exists() else {}
    names.sort(key=lambda name: len(known.get(name, {}).get("runs", ())))  # those without any come first
    shared = out.parent / "shared"
    shutil.rmtree(shared, ignore_errors=True)
    shared.mkdir(parents=True)
    processes = []
    for name in names:
        (shared / f"{name}.json").write_text(json.dumps(known.get(name, {})))
    for number in range(min(together, len(names))):
        command = [sys.executable, "-m", "benchmarks.start", "lane", str(shared), "--until", str(started + seconds)]
        command += ["--seeds", str(seeds)]
        log = (shared / f"{number}.log").open("w")
        processes.append(subprocess.Popen([*command, "--only", *names[number::together]], stdout=log, stderr=log))
    for number, process in enumerate(processes):
        try:
            process.wait(max(1.0, started + seconds + 25 - time.time()))
        except subprocess.TimeoutExpired:
            process.kill()
        if tail := (shared / f"{number}.log").read_text()[-800:].strip():
            print(f"{number}: {tail}")
    known |= {name: json.loads((shared / f"{name}.json").read_text() or "{}") for name in names}
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
    parser.add_argument("--together", type=int, default=TOGETHER)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="searches by each arm")
    parser.add_argument("--until", type=float, default=0.0)
    parser.add_argument("--only", nargs="*", default=())
    arguments = parser.parse_args()
    if arguments.verb == "run":
        run(arguments.out, arguments.seconds, arguments.together, arguments.seeds, arguments.only)
    elif arguments.verb == "lane":
        lane(arguments.only, arguments.out, arguments.until, arguments.seeds)
    else:
        from benchmarks.start_page import write

        write(arguments.out, PAGE)


if __name__ == "__main__":
    main()
