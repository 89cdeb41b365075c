"""What recording costs, and what becomes of damaged recordings.

    python -m benchmarks.recording                  # benchmarks/results/recording.json and docs/results/recording.md
    python -m benchmarks.recording --only mutations

Times: each Triton kernel of the acceptance set and a few extensions are recorded in the sandbox, as `foretell record`
does, and then recorded again, when everything is built: `again_s` is the time from the question to the checked Program,
`cpu_s` the processor time of the recording's own process, which a busy machine does not change.

Mutations: recordings, real and drawn at random, are damaged in seeded ways and read as a stranger's file; each must be
refused with its reason or be another valid Program. They are read by forked processes: one that dies or raises anything
else is a crash.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.recording.mutations import mutations
from benchmarks.recording.times import times

RESULT, PAGE = Path("benchmarks/results/recording.json"), Path("docs/results/recording.md")


def page(result: dict[str, Any]) -> str:
    lines = ["# Recording: what it costs, and damaged recordings", "", "Made by `python -m benchmarks.recording`; data"]
    lines[-1] += " in `benchmarks/results/recording.json`. Described in [recording](../recording.md)."
    if "times" in result:
        lines += [
            "",
            "## Recording again what is built",
            "",
            "From the question to the checked Program, in the sandbox:",
        ]
        lines[-1] += " a fork of a process that has torch imported. *CPU* is the processor time of that fork."
        lines += ["", "| candidates | recorded | median | most | within | CPU, median (most) | first time, median |"]
        lines.append("| --- | --- | --- | --- | --- | --- | --- |")
        for kind, told in result["times"].items():
            again, cpu, first = told["again_s"], told["cpu_s"], told["first_s"]
            lines.append(
                f"| {kind} | {told['recorded']} of {told['rows']} | {again['median']:.3f} s | {again['most']:.3f} s "
                f"| {told['within']} within {told['allowed_s']} s (CPU: {told['cpu_within']}) "
                f"| {cpu['median']:.3f} s ({cpu['most']:.3f} s) "
                f"| {first['median']:.2f} s |"
            )
        where = f"{result['machine']['device']}, {result['machine']['cores']} cores"
        lines += ["", f"On {where}, at a load average of {result['load']:.1f} when it began."]
        if result["load"] > result["machine"]["cores"]:
            lines[-1] += " The machine was busy, so the times by the clock do not show whether the limits are kept;"
            lines[-1] += " they are to be measured again on a quiet one."
    if "mutations" in result:
        told = result["mutations"]
        lines += ["", "## Damaged recordings", "", f"{told['mutations']:,} mutations (seed {told['seed']}) of drawn"]
        lines[-1] += f" Programs and {told['real_recordings']} real recordings, read as a stranger's file: "
        lines[-1] += f"**{told['crashes']} crashes**. Each was refused for one of these faults, or was valid still."
        lines += ["", "| mutation | outcomes |", "| --- | --- |"]
        for kind, counts in told["outcomes"].items():
            lines.append(f"| {kind} | {', '.join(f'{count} {name}' for name, count in counts.items())} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("times", "mutations"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=60, help="so many of the Triton kernels")
    arguments = parser.parse_args()
    result: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    result["machine"] = describe()
    if arguments.only != "mutations":
        result["load"] = os.getloadavg()[0]
        result["times"] = times(arguments.repeats, arguments.rows)
    if arguments.only != "times":
        result["mutations"] = mutations()
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    PAGE.write_text(page(result))


if __name__ == "__main__":
    main()
