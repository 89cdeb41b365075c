"""How often kernels fail that language models wrote and that can be recorded, by language.

    python -m benchmarks.programs.failures TABLE.parquet     # writes benchmarks/results/programs_failures.json

Development rows of the data sets that publish failures. All rows are counted; a seeded sample of the failed ones is
recorded, to see what share of them a recording does not find. `PROGRAM_FORECAST.p_fail` comes from this.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from benchmarks.programs.record import jobs
from benchmarks.programs.split import rows_of
from foretell.kernels.forecast.recorded import Finding, verdict
from foretell.kernels.tasks import BadTask

RESULTS = Path("benchmarks/results/programs_failures.json")
SEED = 5
SAMPLE = {"wrong": 16, "runtime_error": 12, "compile_error": 10, "unknown_failure": 2}
OK = "ok"


def publishing_failures(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The clean rows of data sets in which some row failed."""
    failing = {row["dataset"] for row in rows if row["status"] != OK}
    return [row for row in rows if row["dataset"] in failing and row["clean"]]


def sampled(rows: list[dict[str, Any]], draw: random.Random) -> list[dict[str, Any]]:
    """Some of the rows of each way to fail."""
    by_status: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_status[row["status"]].append(row)
    sizes = {status: min(count, len(by_status[status])) for status, count in SAMPLE.items()}
    return [row for status, size in sizes.items() for row in draw.sample(by_status[status], size)]


def can_run(row: dict[str, Any]) -> bool | None:
    """Whether a row's recording finds nothing wrong; None if the reference cannot be recorded."""
    try:
        reference, candidate = (job.recording() for job in jobs([row]))
    except BadTask:
        return None
    return verdict(reference, candidate).finding is not Finding.CANNOT_RUN if reference.ok else None


def report(rows: list[dict[str, Any]], recorded_share: float) -> dict[str, Any]:
    """Counts by language and status, and the chance that a kernel fails in whose recording nothing is wrong."""
    counts = {
        language: dict(Counter(row["status"] for row in rows if row["language"] == language))
        for language in sorted({row["language"] for row in rows})
    }
    kernels = [row for row in rows if row["language"] != "torch"]
    looked = [(row["status"], can_run(row)) for row in sampled(kernels, random.Random(SEED))]
    unseen = {
        status: [sum(runs is True for name, runs in looked if name == status), sum(
            runs is not None for name, runs in looked if name == status)]
        for status in SAMPLE
    }  # fmt: skip
    totals = Counter(row["status"] for row in kernels)
    failing = sum(totals[status] * passed / count for status, (passed, count) in unseen.items() if count)
    working = totals[OK] * recorded_share
    return {
        "rows_by_language_and_status": counts,
        "failed_rows_whose_recording_finds_nothing": unseen,
        "share_of_correct_rows_recorded": recorded_share,
        "chance_of_failure_if_recorded": failing / (failing + working),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    arguments = parser.parse_args()
    families = json.loads(Path("benchmarks/results/programs.json").read_text())["by_dataset"]
    rows = publishing_failures(rows_of(arguments.table))
    sets = [families[name] for name in {row["dataset"] for row in rows}]
    share = sum(one["rows"] * one["with_program"] for one in sets) / sum(one["rows"] for one in sets)
    found = report(rows, share)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
