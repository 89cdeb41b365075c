"""What a forecast of a whole program costs: seconds to record a candidate, and to time its Program.

    python -m benchmarks.programs.speed TABLE.parquet RECORD.log   # results/programs_speed.json

RECORD.log is what `benchmarks.programs.record` printed: seconds of wall time, compilation of the extension included,
with as many recordings at a time as the machine has cores. Timing a Program is measured here, in seconds of a core,
with nothing kept from before, on development rows and on Triton candidates of the corpus, recorded before.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe
from benchmarks.programs.corpus import job_of, sample
from benchmarks.programs.record import Job, jobs, ordered
from benchmarks.programs.split import rows_of
from foretell.kernels.cost.steps import times_of

RESULTS = Path("benchmarks/results/programs_speed.json")
SEED, COUNT = 11, 40
_LINE = re.compile(r"(?P<kind>extension|candidate|reference) (?P<seconds>[\d.]+) s, recorded")


def quantiles(values: list[float]) -> dict[str, float]:
    middle, high = np.quantile(values, (0.5, 0.9))
    return {"count": len(values), "median_s": float(middle), "p90_s": float(high)}


def timed(todo: list[Job]) -> dict[str, float]:
    """Seconds of one core that a seeded sample of recordings takes from Program to time."""
    seconds: list[float] = []
    for job in random.Random(SEED).sample(todo, len(todo)):
        program = job.recording().program
        if program is None or not program.launches():
            continue
        started = time.process_time()
        times_of(program, job.device)
        seconds.append(time.process_time() - started)
        if len(seconds) == COUNT:
            break
    return quantiles(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("table", "log"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    development = [job for job in jobs(ordered(rows_of(arguments.table))) if job.source]
    lines = [match for match in map(_LINE.match, arguments.log.read_text().splitlines()) if match is not None]
    report: dict[str, Any] = {
        "machine": describe(),
        "record_extension": quantiles([float(each["seconds"]) for each in lines if each["kind"] == "extension"]),
        "record_reference": quantiles([float(each["seconds"]) for each in lines if each["kind"] == "reference"]),
        "time_extension": timed(development),
        "time_triton": timed(list(map(job_of, sample(12)))),
    }
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
