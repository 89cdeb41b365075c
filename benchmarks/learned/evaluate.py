"""The shipped forecaster `calibrated` beside `program`, on held-out problems. Each run is logged.

    python -m benchmarks.learned.evaluate [--table TABLE.parquet] [--recorded-only] --why TEXT

Our own kernels (device times) are held out by problem; of the shared table (`--table`, eager times), the half that was
held out for `program` too. Figures go to benchmarks/results/learned_held_out.json, and a line to
benchmarks/learned/held_out_log.jsonl. Forecasts go to `--kept`, for `benchmarks.learned.experiment`.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from pathlib import Path
from typing import Any

from benchmarks.learned.examples import DEVICE, EAGER
from benchmarks.learned.train import add_arguments, compared, gathered, update
from foretell.kernels.evaluate.log import commit_of
from foretell.kernels.forecast.residual import Residual

PART = "held_out"
LOG = Path(__file__).with_name("held_out_log.jsonl")
RESULTS = Path("benchmarks/results/learned_held_out.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--model", type=Path, help="default: the shipped one")
    parser.add_argument("--why", required=True, help="why held-out problems are looked at, for the log")
    arguments = parser.parse_args()
    eager = arguments.table is not None
    column = EAGER if eager else DEVICE
    found, model = gathered(arguments, PART), Residual.load(arguments.model, eager)
    told = [forecast for each in found for forecast in model.forecasts(each.rows)]
    about = {"model": model.about, "rows": len(told), "pools": len(found)}
    report: dict[str, Any] = {"about": {column: about}, **compared(found, told, PART)}
    line = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": commit_of(Path(__file__).parent)}
    with LOG.open("a") as file:
        file.write(json.dumps(line | {"why": arguments.why} | report) + "\n")
    update(RESULTS, report)
    if arguments.kept:
        (arguments.kept / f"{PART}_{column}_told.pickle").write_bytes(pickle.dumps(told))
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
