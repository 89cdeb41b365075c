"""Tuning given kernels: the proposer `knobs` against random choice among the same variations, on a GPU.

    python -m benchmarks.start run OUT.json --seconds 380      # one GPU, 16 cores; may be repeated: it goes on
    python -m benchmarks.start page                            # docs/results/start.md

The kernels in `benchmarks/start/` were written by a language model that had not seen this project's code, and frozen
before anything was measured. Each arm is a whole search with 40 measurements; arms of one kernel share measurements, so
that no variation is measured twice. Then each arm's winner and the given kernel are measured again, in turns. Several
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
LANES = 7
BUILDERS = 3
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

    def __init__(self, until: float, lock: Path) -> None:
        from foretell.kernels.bench.gpu.bench import GpuBench

        self._bench = GpuBench(builders=BUILDERS)
        self.device = self._bench.device
        self._until, self._lock = until, lock
        self.kept: dict[str, Any] = {}

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


def lane(names: Sequence[str], out: Path, until: float, lock: Path) -> None:
    """Search some kernels one after the other, seed after seed, and write what came out after each seed."""
    import foretell as ft
    from foretell.inputs import start_of
    from foretell.kernels.search import BenchBroken
    from foretell.kernels.tasks import BadTask

    results = json.loads(out.read_text()) if out.exists() else {}
    bench = SharedBench(until, lock)
    try:
        for seed in range(SEEDS):
            for name in names:
                mine = results.setdefault(name, {"kept": {}, "runs": [], "finals": {}})
                if any(run["seed"] == seed for run in mine["runs"]) or time.time() > until:
                    continue
                task = ft.task(FOLDER / name / "problem.py", "gpu")
                try:
                    _one_seed(task, start_of(task, FOLDER / name / "kernel.py"), bench, seed, mine)
                except (BadTask, BenchBroken) as error:
                    mine["trouble"] = str(error)
                out.write_text(json.dumps(results))
    except OutOfTime:
        pass
    finally:
        out.write_text(json.dumps(results))
        bench.close()


def _one_seed(task: Any, start: Any, bench: SharedBench, seed: int, mine: dict[str, Any]) -> None:
    bench.kept = mine["kept"]
    mine |= {"start": start.id, "language": start.language, "device": bench.device.id}
    started = time.time()
    pairs = [searched(task, start, bench, arm, seed) for arm in ARMS]
    winners = {one.id: one for _, one in pairs if one is not None}
    mine["finals"][str(seed)] = finals(task, bench, list({start.id: start, **winners}.values()))
    mine["runs"] += [run for run, _ in pairs]
    mine["seconds"] = mine.get("seconds", 0.0) + time.time() - started


def run(out: Path, seconds: float, only: Sequence[str]) -> None:
    """All kernels in parallel lanes within a time limit; goes on where `out` ends."""
    started = time.time()
    names = [path.parent.name for path in sorted(FOLDER.glob("*/kernel.py")) if not only or path.parent.name in only]
    known = json.loads(out.read_text()) if out.exists() else {}
    lanes = min(LANES, len(names))
    parts = [out.with_suffix(f".{number}.json") for number in range(lanes)]
    (out.parent / "lock").mkdir(parents=True, exist_ok=True)
    processes = []
    for number, part in enumerate(parts):
        mine = names[number::lanes]
        part.write_text(json.dumps({name: known[name] for name in mine if name in known}))
        command = [sys.executable, "-m", "benchmarks.start", "lane", str(part), "--until", str(started + seconds)]
        log = part.with_suffix(".log").open("w")
        processes.append(subprocess.Popen([*command, "--only", *mine], stdout=log, stderr=log))
    for process in processes:
        try:
            process.wait(max(1.0, started + seconds + 30 - time.time()))
        except subprocess.TimeoutExpired:
            process.kill()
    for part in parts:
        known |= json.loads(part.read_text() or "{}")
        part.unlink()
        log_file = part.with_suffix(".log")
        tail = log_file.read_text()[-1500:].strip()
        if tail:
            print(f"{log_file.name}: {tail}")
        log_file.unlink()
    out.write_text(json.dumps(known, indent=1))
    for name in names:
        print(name, figures_of(known.get(name, {})))
    shutil.rmtree(out.parent / "lock")


def figures_of(found: dict[str, Any]) -> dict[str, Any] | None:
    """Speedups over the given kernel by arm, the mean over seeds in log; None if there is none yet."""
    logs: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for one in found.get("runs", ()):
        again = found["finals"][str(one["seed"])]
        start = again.get(found["start"])
        winner = again.get(one["best"]) if one["best"] else None
        if start and winner:
            logs[one["arm"]].append(math.log(median(winner) / median(start)))
    if not all(logs.values()):
        return None
    return {arm: math.exp(fmean(values)) for arm, values in logs.items()} | {"seeds": len(logs["knobs"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("run", "lane", "page"))
    parser.add_argument("out", type=Path, nargs="?", default=RESULT)
    parser.add_argument("--seconds", type=float, default=380.0)
    parser.add_argument("--until", type=float, default=0.0)
    parser.add_argument("--only", nargs="*", default=())
    arguments = parser.parse_args()
    if arguments.verb == "run":
        run(arguments.out, arguments.seconds, arguments.only)
    elif arguments.verb == "lane":
        lane(arguments.only, arguments.out, arguments.until, arguments.out.parent / "lock")
    else:
        from benchmarks.start_page import write

        write(arguments.out, PAGE)


if __name__ == "__main__":
    main()
