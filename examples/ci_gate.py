"""A gate for continuous integration: fails if a kernel is slower than last week, or no longer right.

    python examples/ci_gate.py softmax kernel.cpp --baseline speed.json            # in every build
    python examples/ci_gate.py softmax kernel.cpp --baseline speed.json --accept   # to set, or move, the mark

The mark is a speedup over the task's reference, measured in the same minute on the same machine, so that it means the
same on a runner that is slower today. Exit codes: 0 it holds, 1 it is slower or fails, 2 there is no mark yet, 3 the
machine was at fault, or too busy to tell.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import foretell as ft

HOLDS, SLOWER, NO_MARK, MACHINE = 0, 1, 2, 3


def gate(task: str, kernel: Path, baseline: Path, accept: bool = False, slack: float = 0.05) -> int:
    """The exit code. Slower means: even the upper end of the 95 % interval is below the mark, less `slack`."""
    outcome = ft.measure(task, kernel)
    print(outcome)
    if outcome.status.value == "infrastructure" or outcome.conditions.get("disturbed") is True:
        return MACHINE
    if not outcome.ok:
        return SLOWER
    marks = json.loads(baseline.read_text()) if baseline.exists() else {}
    key = f"{outcome.task.name} {kernel.name} {outcome.device.name}"
    if accept:
        marks[key] = {"speedup": outcome.speedup, "low": outcome.low, "high": outcome.high}
        baseline.write_text(json.dumps(marks, indent=1, sort_keys=True) + "\n")
        return HOLDS
    if key not in marks:
        print(f"no mark for {key!r} in {baseline}: run with --accept")
        return NO_MARK
    mark = marks[key]["speedup"]
    print(f"the mark is {mark:.3g}x")
    return SLOWER if outcome.high < mark * (1.0 - slack) else HOLDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", help="a task of the library, or a file or folder of one")
    parser.add_argument("kernel", type=Path)
    parser.add_argument("--baseline", type=Path, required=True)
    parser.add_argument("--accept", action="store_true", help="write the mark instead of comparing with it")
    parser.add_argument("--slack", type=float, default=0.05, help="how much slower is still accepted")
    return gate(**vars(parser.parse_args()))


if __name__ == "__main__":
    raise SystemExit(main())
