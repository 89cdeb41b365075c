"""How well `program` forecasts other people's kernels, as `foretell eval` says it, and how far its times are off.

    python -m benchmarks.programs.evaluate TABLE.parquet [--part development] [--output FILE.json]

Programs are recorded unless the user's cache has them (`benchmarks.programs.record` fills it on many cores). Times of
the table are eager, so forecasts of `eager_us` are compared. Only correct rows are looked at. Held-out problems are
read with `--part held_out` alone, and each such run is appended to benchmarks/programs/held_out_log.jsonl.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.programs.record import is_evaluated
from benchmarks.programs.split import SPLIT, committed
from benchmarks.programs.times import REPLICATES, Timed, report_of
from foretell.belief import Forecast
from foretell.kernels.device import Device
from foretell.kernels.evaluate import log
from foretell.kernels.evaluate.data import DEVELOPMENT, Data, read
from foretell.kernels.evaluate.judge import judge
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.forecast.program import Compared, ProgramForecaster
from foretell.kernels.task import Task

LOG = Path(__file__).with_name("held_out_log.jsonl")


class Noting(ProgramForecaster):
    """`program:eager` that remembers the times behind each forecast, pool after pool."""

    def __init__(self) -> None:
        super().__init__(eager=True)
        self.noted: list[tuple[list[Compared | None], list[str | None]]] = []

    def forecast(self, task: Task, device: Device, subjects: Any) -> list[Forecast]:
        told = super().forecast(task, device, subjects)
        self.noted.append((list(self.compared), list(self.last_troubles)))
        return told


def correct_rows(table: Path) -> Data:
    """The table with its split, and of its rows those that are correct and have a time or a speedup."""
    data = read(table, SPLIT)
    return replace(data, rows=[row for row in data.rows if is_evaluated(row)])


def timed(pools: list[Pool], noted: list[tuple[list[Compared | None], list[str | None]]], data: Data) -> list[Timed]:
    """What was measured of each candidate beside what was forecast."""
    rows = {row["row_id"]: row for row in data.rows}
    return [
        Timed.of(rows[name], pair, trouble or "")
        for pool, (pairs, troubles) in zip(pools, noted, strict=True)
        for name, pair, trouble in zip(pool.ids, pairs, troubles, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--part", choices=tuple(committed()), default=DEVELOPMENT)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    data, forecaster = correct_rows(arguments.table), Noting()
    pools = data.pools(arguments.part, "source")
    result = assess(judge(forecaster, pools), forecaster.name, arguments.part, resamples=REPLICATES)
    report = report_of(result, timed(pools, forecaster.noted, data))
    if arguments.part != DEVELOPMENT:
        log.append(LOG, arguments.table, [result], {"rows": "correct", "resamples": REPLICATES})
    if arguments.output:
        arguments.output.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({"all": report["all"], "intervals": report["intervals"]}, indent=1))


if __name__ == "__main__":
    main()
