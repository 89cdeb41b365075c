"""docs/results/walls.md from benchmarks/results/walls.json.

python -m benchmarks.walls.page
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS, PAGE = Path("benchmarks/results/walls.json"), Path("docs/results/walls.md")


def main() -> None:
    PAGE.write_text(page(json.loads(RESULTS.read_text())))


def page(found: dict[str, Any]) -> str:
    lines = [
        "# The walls around the GPU bench",
        "",
        f"Workers, and the judges of problem files, behind the sandbox's walls (kind `{found['kind']}`) on one H200;",
        "made by `python -m benchmarks.walls.measure` and `page`. What the walls are for is in the",
        "[threat model](../threat_model.md).",
        "",
        "## What gets out",
        "",
        "Each row is a process in which the probes of `foretell doctor` were tried, by a candidate or by the code of a",
        "problem.",
        "",
        "| where | held | probes |",
        "| --- | --- | --- |",
        *(f"| {name} | {'yes' if held else 'no'} | {words} |" for name, (held, words) in found["probes"].items()),
        "",
        "## What still works",
        "",
        "Three problems in KernelBench form with candidates by a language model, through `foretell.measure`.",
        "",
        "| problem | candidate | status | speedup | timed | seconds on the device's turn |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in found["honest"]:
        speedup = f"{row['speedup']:.2f}" if row["speedup"] else ""
        cells = (row["problem"], row["form"], row["status"], speedup, row["timed"] or "", f"{row['wall_s']:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, *_costs(found.get("speed")), ""])


def _costs(speed: dict[str, Any] | None) -> list[str]:
    if speed is None:
        words = "Not known: the part `speed` of the measurement has not been run to its end on a GPU."
        return ["", "## What it costs", "", words]
    lines = [
        "",
        "## What it costs",
        "",
        "The same candidates, already built, with walls and without (`FORETELL_SANDBOX=none`, `--unsafe`), each in a",
        "process with caches of its own. Templates include wrong programs on purpose. `problem`: one Triton kernel, 24",
        "times, for a problem file, whose judge is a process of its own; opening includes making its data.",
        "",
        "| candidates | walls | candidates per second | seconds to open a task | statuses |",
        "| --- | --- | --- | --- | --- |",
    ]
    for part in ("triton", "cuda", "problem"):
        for name, words in (("walls", "yes"), ("none", "no")):
            row = speed[name][part]
            statuses = ", ".join(f"{count} {status}" for status, count in sorted(row["statuses"].items()))
            lines.append(f"| {part} | {words} | {row['per_second']:.1f} | {row['opening_s']:.2f} | {statuses} |")
    starts = {name: speed[name]["start_s"] for name in ("walls", "none")}
    words = f"Starting the bench took {starts['walls']:.1f} s with walls and {starts['none']:.1f} s without."
    return [*lines, "", words]


if __name__ == "__main__":
    main()
