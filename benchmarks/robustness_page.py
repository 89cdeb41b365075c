"""docs/results/robustness.md from the JSON of robustness.

python -m benchmarks.robustness_page
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path("benchmarks/results/robustness.json")
PAGE = Path("docs/results/robustness.md")
WENT_ON, VERDICT, REFUSED = "0", "1", "2"  # exit codes

_PAGE = """# Robustness of stored files

Made by `python -m benchmarks.robustness_page` from `benchmarks/results/robustness.json`, which `python -m
benchmarks.robustness` writes. Times are CPU seconds on two cores ({machine}) of a shared machine that other work kept
busy, the least of several repeats where it is quick to repeat.

## A catalogue of {rows:,} rows

| figure | measured | target |
| --- | --- | --- |
| resident memory above an empty catalogue | {memory} MB | {memory_met} |
| `of_task` of a task with {of_task_rows} rows (30 samples of each workload) | {of_task} ms | {of_task_met} |
| `get` of one candidate | {get} ms | |
| `foretell catalogue list` | {summary} s | |
| size of the file | {file:.0f} MB | |

Most of `of_task` is turning JSON into checked values, little of it finding the rows. Samples are checked for all rows
of a query at once.

## A journal of {events:,} events

One run of {candidates:,} candidates, all of them measured: {journal:.0f} MB.

| figure | measured | target |
| --- | --- | --- |
| loading | {load} s | {load_met} |
| opening it to resume, everything checked | {resume} s | |
| writing the report ({report_size:.0f} MB) | {report} s | {report_met} |

Sources, origins, builds, samples and conditions stand in the `details` of their lines: loading verifies their
checksums and parses them when someone first asks for them. Whoever does (the report, for all of them) pays for it
then, and is told the file and the line if they make no sense. A run is resumed only after all of them were checked. A
journal of an earlier version has no details, and loading it takes as long as it did.

## Odd values with valid checksums

{mutations:,} mutations, a third each in the rows of a catalogue, a corpus table and a journal (finished, or cut
anywhere): another type, missing, null, not finite, huge, deeply nested, empty, another word, negative, odd
characters. Checksums are made valid again, then one verb that reads the file is run: `report`, `search --resume`,
`ask`, `tell`, `catalogue`, `search --warm-start`, `forecast`, `data`, `eval`, `replay`.

| file | went on or skipped the row | failed with a verdict | refused with file and reason | tracebacks |
| --- | --- | --- | --- | --- |
{fuzz}

A verb goes on past odd details of a journal that it does not read. A sample of these mutations, and every one that
once ended in a traceback, is in `tests/test_fuzz.py`.
"""


def page(results: Mapping[str, Any]) -> str:
    """The page as Markdown."""
    catalogue, journal, fuzz = results["catalogue"], results["journal"], results["fuzz"]
    return _PAGE.format(
        machine=results["machine"]["device"],
        rows=catalogue["rows"],
        memory=catalogue["resident_mb_above_empty"],
        memory_met=_met(catalogue["resident_mb_above_empty"], 50, "MB"),
        of_task_rows=catalogue["of_task_rows"],
        of_task=catalogue["of_task_cpu_ms"],
        of_task_met=_met(catalogue["of_task_cpu_ms"], 50, "ms"),
        get=catalogue["get_cpu_ms"],
        summary=catalogue["summary_cpu_s"],
        file=catalogue["file_mb"],
        events=journal["events"],
        candidates=journal["candidates"],
        journal=journal["journal_mb"],
        load=journal["load_cpu_s"],
        load_met=_met(journal["load_cpu_s"], 3, "s"),
        resume=journal["resume_cpu_s"],
        report=journal["report_cpu_s"],
        report_met=_met(journal["report_cpu_s"], 20, "s"),
        report_size=journal["report_mb"],
        mutations=fuzz["mutations"],
        fuzz="\n".join(_row(file, codes, fuzz["distinct"]) for file, codes in fuzz["exit_codes"].items()),
    )


def _met(measured: float, target: float, unit: str) -> str:
    return f"{target:g} {unit}" if measured <= target else f"{target:g} {unit}, missed"


def _row(file: str, codes: Mapping[str, int], tracebacks: Mapping[str, int]) -> str:
    """Exit codes of one kind of file; a traceback ends with the code of a verdict and is counted apart."""
    found = sum(count for signature, count in tracebacks.items() if signature.startswith(f"{file}:"))
    counts = (codes.get(WENT_ON, 0), codes.get(VERDICT, 0) - found, codes.get(REFUSED, 0), found)
    return f"| {file} | " + " | ".join(map(str, counts)) + " |"


def main() -> None:
    PAGE.write_text(page(json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()
