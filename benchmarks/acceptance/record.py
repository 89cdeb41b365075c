"""The acceptance set recorded: which candidates become a whole Program, and why others do not.

    python -m benchmarks.acceptance.record SET.json OUTPUT.jsonl [--processes 2] [--seconds 3000]

Each row is recorded in a process of its own, candidate and reference, for an H200; no GPU is needed. `record_s` is the
time to record the candidate once its extension or its kernels are built (a second recording in the same process).
Rows that are already in OUTPUT are skipped.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.acceptance.plain import DeviceLock, run_all

DEVICE = "h200"


def record_row(row: dict[str, Any], lock: DeviceLock) -> dict[str, Any]:
    from foretell.kernels.devices import described
    from foretell.kernels.languages.python_source import language_of
    from foretell.kernels.program import Launch, LibraryCall
    from foretell.kernels.record import record
    from foretell.kernels.tasks import kernelbench

    task = kernelbench.from_text(row["reference"], row["problem"].replace("/", "_"))
    workload, device = task.workloads[0], described(DEVICE)
    reference = record(task, workload, None, "torch", device)
    started = time.perf_counter()
    recording = record(task, workload, row["candidate"], language_of(row["candidate"]), device)
    first_s = time.perf_counter() - started
    answer: dict[str, Any] = {"runs": True, "first_s": first_s}
    if reference.refusal is not None:
        answer["reference_refusal"] = f"{reference.refusal.reason}: {reference.refusal.sentence}"[:300]
    if recording.refusal is not None or recording.program is None:
        refusal = recording.refusal
        answer["refusal"] = str(refusal.reason) if refusal else "no program"
        answer["sentence"] = refusal.sentence[:400] if refusal else ""
        return answer
    started = time.perf_counter()
    record(task, workload, row["candidate"], language_of(row["candidate"]), device)
    answer["record_s"] = time.perf_counter() - started
    answer["launches"] = sum(isinstance(step, Launch) for step in recording.program.run)
    answer["library_calls"] = sum(isinstance(step, LibraryCall) for step in recording.program.run)
    answer["alternatives"] = len(recording.alternatives)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3000.0)
    arguments = parser.parse_args()
    run_all(record_row, json.loads(arguments.set.read_text()), arguments.output, arguments.processes, arguments.seconds)
    rows = [json.loads(line) for line in arguments.output.read_text().splitlines()]
    print(Counter(row.get("refusal") or row.get("failure") or "recorded" for row in rows).most_common())


if __name__ == "__main__":
    main()
