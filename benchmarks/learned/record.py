"""Recordings that the learning forecaster needs beside those of `benchmarks.programs.record`: our own kernels on an
H200, and rows of the shared table that failed.

    python -m benchmarks.learned.record [--table TABLE.parquet] [--only IDS.txt] [--processes 16] [--seconds 250]

No GPU is needed. Recordings go to the user's cache (`FORETELL_CACHE`); what is there already is skipped, so the command
can be stopped and resumed. `benchmarks.programs.follow` then makes their dry runs. Nothing of held-out problems is
shown but seconds and outcomes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.programs.record import Job, jobs, record_all
from benchmarks.programs.split import committed, rows_of
from foretell.kernels.corpus import real
from foretell.kernels.corpus.table import FOLDER as DATA
from foretell.kernels.devices import described
from foretell.kernels.forecast.program import PROBLEM
from foretell.kernels.languages.python_source import language_of
from foretell.kernels.measurement import Status
from foretell.kernels.tasks import kernelbench

DEVICE = "h200"


def real_jobs(kernels: Sequence[Mapping[str, Any]]) -> Iterator[Job]:
    """Recordings of our own kernels and of their problems' references, once each, problem by problem."""
    device = described(DEVICE)
    for name in sorted({kernel["problem"] for kernel in kernels}):
        members = [kernel for kernel in kernels if kernel["problem"] == name]
        task = partial(kernelbench.from_text, members[0]["reference"], PROBLEM)
        yield Job(task, None, None, "torch", device)
        for kernel in members:
            yield Job(task, None, kernel["source"], language_of(kernel["source"]), device)


def failed_rows(table: Path) -> list[dict[str, Any]]:
    """Clean rows that failed; those of cells in which something worked first."""
    rows = [row for part in committed() for row in rows_of(table, part) if row["clean"]]
    worked = {row["cell_id"] for row in rows if row["status"] == Status.OK}
    failed = [row for row in rows if row["status"] != Status.OK]
    return sorted(failed, key=lambda row: (row["cell_id"] not in worked, row["cell_id"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, help="the shared table; default: our own kernels alone")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", type=Path, help="a file with the ids of our own kernels to record, one in a line")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no recording after that time")
    arguments = parser.parse_args()
    kernels = real.read(arguments.data)
    if arguments.only:
        ids = set(arguments.only.read_text().split())
        kernels = [kernel for kernel in kernels if kernel["id"] in ids]
    todo = list(real_jobs(kernels))
    todo += jobs(failed_rows(arguments.table)) if arguments.table else ()
    print(f"{len(todo)} recordings", flush=True)
    record_all(todo, arguments.processes, arguments.seconds)


if __name__ == "__main__":
    main()
