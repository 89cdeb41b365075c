"""What deciding and journalling cost: milliseconds per candidate in runs of growing length on a synthetic bench.

    python -m benchmarks.overhead                     # 1k, 2k, 5k, 10k candidates; writes results/overhead.json
    python -m benchmarks.overhead --sizes 500 1000    # smaller

Nothing is measured on a device: the bench answers at once, so what is left is the overhead of the search itself.
Proposing, and the fake building and measuring, are timed apart and left out. `decide` is choosing parents, refitting,
forecasting and applying the policy; `journal` is everything else (encoding, writing with fsync, folding the state),
most of it waiting for the disk. `overhead_cpu_ms` leaves that waiting out: it is the one to read growth from. `load_ms`
is what reading the run back costs. All are per candidate.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe
from foretell.kernels import library, profiles
from foretell.kernels.bench.fake import FakeBench, FakeForecaster, FakeProposer
from foretell.kernels.candidate import Candidate
from foretell.kernels.forecast import make
from foretell.kernels.measurement import Measurement
from foretell.kernels.policy import POLICIES, make_policy
from foretell.kernels.protocols import Build, Forecaster
from foretell.kernels.search import Event, FileJournal, Round, RunState, Search, SearchConfig, load_run, make_strategy
from foretell.kernels.task import Task

SIZES = (1000, 2000, 5000, 10000)
POLICY_NAMES = ("selective", "value")
BUDGET_MS = 5.0
COLUMNS = ("candidates", "measured", "decide_ms", "journal_ms", "overhead_ms", "overhead_cpu_ms", "load_ms")
RESULTS = Path(__file__).parent / "results" / "overhead.json"
# The cheap fake, and the forecaster that a search uses.
FORECASTERS: dict[str, Callable[[], Forecaster]] = {"fake": FakeForecaster, "online": lambda: make("online", 0)}


class Stopwatch:
    """Wall-clock and processor seconds, summed over the blocks it was wrapped around."""

    wall_s = 0.0
    cpu_s = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        yield
        self.wall_s += time.perf_counter() - wall_s
        self.cpu_s += time.process_time() - cpu_s


class TimedBench(FakeBench):
    """A fake bench whose own time is counted."""

    def __init__(self, busy: Stopwatch) -> None:
        super().__init__()
        self._busy = busy

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        with self._busy.running():
            return super().build(task, candidates)

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        outcomes = super().measure(task, candidates, hopeless_below)
        while True:
            with self._busy.running():
                outcome = next(outcomes, None)
            if outcome is None:
                return
            yield outcome


class TimedProposer(FakeProposer):
    """A fake proposer whose own time is counted."""

    def __init__(self, task: str, busy: Stopwatch) -> None:
        super().__init__(task)
        self._busy = busy

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        with self._busy.running():
            return super().propose(task, parents, count, rng, known)


def one_run(size: int, forecaster: Forecaster, policy: str, run_dir: Path) -> dict[str, float]:
    """Run once and return milliseconds per candidate by part."""
    task = library.get("softmax")
    profile = replace(profiles.THOROUGH, budgets=profiles.Budgets(size, 1e9, size))
    others, whole, reading = Stopwatch(), Stopwatch(), Stopwatch()
    decide_s = 0.0

    def note(event: Event, _: RunState) -> None:
        nonlocal decide_s
        if isinstance(event, Round):
            decide_s += event.decide_s

    search = Search(
        task,
        TimedBench(others),
        TimedProposer(task.name, others),
        forecaster,
        make_strategy("puct", profile),
        make_policy(policy, profile),
        SearchConfig("cpp", 0, profile),
        FileJournal(run_dir),
        on_event=note,
    )
    with whole.running():
        state = search.run()
    with reading.running():
        load_run(run_dir)
    own_s = whole.wall_s - others.wall_s
    per_ms = 1e3 / state.considered
    return {
        "candidates": state.considered,
        "measured": state.measured,
        "decide_ms": decide_s * per_ms,
        "journal_ms": (own_s - decide_s) * per_ms,
        "overhead_ms": own_s * per_ms,
        "overhead_cpu_ms": (whole.cpu_s - others.cpu_s) * per_ms,
        "load_ms": reading.wall_s * per_ms,
        "journal_bytes": (run_dir / "journal.jsonl").stat().st_size / state.considered,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--forecasters", nargs="+", choices=FORECASTERS, default=list(FORECASTERS))
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=list(POLICY_NAMES))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print(" " * 20 + " ".join(f"{name:>15}" for name in COLUMNS))
    for policy, name, size in product(options.policies, options.forecasters, options.sizes):
        with tempfile.TemporaryDirectory() as folder:
            row = one_run(size, FORECASTERS[name](), policy, Path(folder) / "run")
        rows.append({"policy": policy, "forecaster": name, **row})
        print(f"{policy:>10} {name:>8} " + " ".join(f"{row[column]:>15.4g}" for column in COLUMNS), flush=True)
    result = {
        "command": "python -m benchmarks.overhead",
        "strategy": "puct",
        "bench": "fake",
        "machine": describe(),
        "budget_ms": BUDGET_MS,
        "rows": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    for name in dict.fromkeys((row["policy"], row["forecaster"]) for row in rows):
        short, *_, long = [row for row in rows if (row["policy"], row["forecaster"]) == name] * 2
        verdict = "within" if long["overhead_ms"] <= BUDGET_MS else "OVER"
        took = f"{long['overhead_ms']:.2f} ms per candidate in a run of {long['candidates']}"
        growth = long["overhead_cpu_ms"] / short["overhead_cpu_ms"]
        print(f"{', '.join(name)}: {took}, {verdict} the {BUDGET_MS:g} ms allowed;")
        print(f"  processor time {growth:.2f} times that of a run of {short['candidates']}")


if __name__ == "__main__":
    main()
