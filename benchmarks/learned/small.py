"""Run measured kernels of development problems at small sizes on the CPU: what the failure chances are learnt from.

    python -m benchmarks.learned.small [--seconds 600] [--processes 1]

Kernels of problems with failures come first, then those of other problems in random order; none is begun after
`--seconds`, and what was run before is not run again. Outcomes go to benchmarks/results/learned_small.json, which
`benchmarks.learned.train` reads. Held-out problems are never run here.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.learned.examples import H200, Known
from foretell.kernels.corpus import labels, real
from foretell.kernels.corpus.table import FOLDER as DATA
from foretell.kernels.evaluate.data import DEVELOPMENT
from foretell.kernels.forecast.evidence import small_evidence
from foretell.kernels.languages.python_source import language_of
from foretell.kernels.small.apart import SmallRun, run_small
from foretell.kernels.small.outcome import NOT_RUN, Outcome
from foretell.kernels.small.sensitive import Sensitivity
from foretell.kernels.tasks import kernelbench

SEED = 25
RESULTS = Path("benchmarks/results/learned_small.json")
_OK = "ok"
_AT_ONCE = 8  # kernels between two writes of the results


def ordered(kernels: Sequence[Mapping[str, Any]], status: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Kernels of problems with failures first, then the others, each in a fixed random order of problems."""
    failing = {each["problem"] for each in kernels if status[each["id"]] != _OK}
    names = sorted({each["problem"] for each in kernels})
    places = dict(zip(names, random.Random(SEED).sample(range(len(names)), len(names)), strict=True))
    return sorted(kernels, key=lambda each: (each["problem"] not in failing, places[each["problem"]]))


def outcome(kernel: Mapping[str, Any]) -> dict[str, Any]:
    """What a small run of a kernel shows, as plain data, with the seconds that it took."""
    start = time.monotonic()
    task = kernelbench.from_text(kernel["reference"], kernel["problem"])
    run = run_small(task, kernel["source"], language_of(kernel["source"]))
    found = {"outcome": run.outcome and asdict(run.outcome), "sensitivity": run.sensitivity and asdict(run.sensitivity)}
    return found | {"seconds": round(time.monotonic() - start, 2)}


def small_run(plain: Mapping[str, Any]) -> SmallRun:
    """The opposite of `outcome`."""
    run, moved = plain["outcome"], plain["sensitivity"]
    return SmallRun(Outcome(**run) if run else None, Sensitivity(**moved) if moved else None)


def with_small_runs(found: Iterable[Known], outcomes: Mapping[str, Mapping[str, Any]]) -> list[Known]:
    """Pools with the evidence of small runs, for kernels that were run and have an estimate, as the forecaster asks."""
    return [
        replace(
            each,
            rows=tuple(
                {**row, **small_evidence(small_run(outcomes[name]))} if name in outcomes and row["recorded"] else row
                for name, row in zip(each.pool.ids, each.rows, strict=True)
            ),
        )
        for each in found
    ]


def read(path: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Outcomes by the kernels' ids; none if nothing was run yet."""
    return json.loads(path.read_text())["outcomes"] if path.exists() else {}


def summary(outcomes: Mapping[str, Mapping[str, Any]], kernels: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Verdicts by what measuring said, and seconds of those that ran."""
    counts: Counter[str] = Counter()
    for name, plain in outcomes.items():
        run = plain["outcome"]
        verdict = NOT_RUN if run is None else run["verdict"]
        if run is not None and verdict == "agrees":
            verdict = "agrees exactly" if run["exact"] == 1.0 else "agrees within tolerance"
        counts[f"{kernels[name]['status']}, {verdict}"] += 1
    seconds = sorted(plain["seconds"] for plain in outcomes.values() if plain["outcome"])
    return {"counts": dict(sorted(counts.items())), "median_s": seconds[len(seconds) // 2] if seconds else None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="begin no further runs after that time")
    parser.add_argument("--processes", type=int, default=1, help="runs at a time")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of our own kernels and their labels")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    status = {each["id"]: each["status"] for each in labels.read(arguments.data) if each["device"] == H200}
    kernels = [each for each in real.read(arguments.data) if each["split"] == DEVELOPMENT and each["id"] in status]
    outcomes = read(arguments.output)
    deadline = time.monotonic() + arguments.seconds
    by_id = {each["id"]: {**each, "status": status[each["id"]]} for each in kernels}
    waiting = [kernel for kernel in ordered(kernels, status) if kernel["id"] not in outcomes]
    with ThreadPoolExecutor(arguments.processes) as pool:
        for start in range(0, len(waiting), _AT_ONCE):
            if time.monotonic() > deadline:
                break
            part = waiting[start : start + _AT_ONCE]
            outcomes |= {each["id"]: found for each, found in zip(part, pool.map(outcome, part), strict=True)}
            report = {"summary": summary(outcomes, by_id), "outcomes": dict(sorted(outcomes.items()))}
            arguments.output.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(summary(outcomes, by_id), indent=1))


if __name__ == "__main__":
    main()
