"""Train the forecaster `calibrated` on development problems, cross-validated by problem.

    python -m benchmarks.learned.train [--table TABLE.parquet] [--recorded-only] [--model FILE]

Reads our own measured kernels (device times) or, with `--table`, the shared table (eager times), development problems
alone, ours with their runs at small sizes (`benchmarks.learned.small`). Writes the shipped model for these times and
its part of benchmarks/results/learned_development.json. Figures there are of models that were not shown the problem
they speak about, beside those of `program` on the same candidates.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.learned.examples import DEVICE, EAGER, Known, examples_of, judged, known, real_pools, shared_pools
from benchmarks.learned.small import read as read_small_runs
from benchmarks.learned.small import with_small_runs
from foretell.belief import Forecast
from foretell.kernels.corpus.table import FOLDER as DATA
from foretell.kernels.evaluate.data import DEVELOPMENT
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.evaluate.result import Result
from foretell.kernels.forecast.residual import SHIPPED
from foretell.train.residual import OWN_KERNELS, Effort, train

SEED = 25
MODELS = Path("src/foretell/kernels/forecast/models")
RESULTS = Path("benchmarks/results/learned_development.json")
SHOWN = ("pairs_10", "first_pick", "accuracy", "within_one", "accuracy_pools", "ece_bins", "covered_80", "width_80",
         "covered_80_pools", "width_80_pools", "failure_auroc", "failure_auroc_within", "ece_failure", "crps",
         "spearman_any")  # fmt: skip


def gathered(arguments: argparse.Namespace, part: str) -> list[Known]:
    """Pools of a part with their evidence, from `--kept` if they were gathered before."""
    eager = arguments.table is not None
    kept = arguments.kept / f"{part}_{EAGER if eager else DEVICE}.pickle" if arguments.kept else None
    if kept is not None and kept.exists():
        found: list[Known] = pickle.loads(kept.read_bytes())
        return found
    pools = shared_pools(arguments.table, part) if eager else real_pools(part, arguments.data)
    found = list(known(pools, eager, arguments.recorded_only))
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(found))
    return found


def figures(found: Sequence[Known], forecasts: Sequence[Forecast], name: str, part: str) -> dict[str, Result]:
    """Figures of each column by itself."""
    every = judged(found, forecasts)
    columns = {each.pool.name + each.column: each.column for each in found}
    results = {}
    for column in (DEVICE, EAGER):
        own = every.where(lambda pool, column=column: columns.get(pool.name + column) == column)  # type: ignore[misc]
        if own.pools:
            results[column] = assess(own, f"{name}:{column}", part)
    return results


def summary(results: dict[str, Result]) -> dict[str, Any]:
    """Counts and the figures that are shown, by column."""
    found = {}
    for column, result in results.items():
        told = result.to_dict()
        counts = {name: told[name] for name in ("candidates", "failures", "pools", "operations")}
        by_device = {
            device: {"candidates": part["candidates"], "pairs_10": part["figures"]["pairs_10"]["value"]}
            for device, part in told["by_device"].items()
        }
        found[column] = counts | {name: told["figures"][name] for name in SHOWN} | {"by_device": by_device}
    return found


def compared(found: Sequence[Known], told: Sequence[Forecast], part: str) -> dict[str, Any]:
    """Figures of `program` and `calibrated` on the same candidates."""
    said = [forecast for each in found for forecast in each.said]
    return {
        name: summary(figures(found, forecasts, name, part))
        for name, forecasts in (("program", said), ("calibrated", told))
    }


def update(path: Path, report: Mapping[str, Mapping[str, Any]]) -> None:
    """Put the figures of one column into a file of results, beside those of the other."""
    before = json.loads(path.read_text()) if path.exists() else {}
    merged = {key: {**before.get(key, {}), **columns} for key, columns in report.items()}
    path.write_text(json.dumps({**before, **merged}, indent=1) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--table", type=Path, help="the shared table; default: our own kernels")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of our own kernels and their labels")
    parser.add_argument("--recorded-only", action="store_true", help="record nothing new")
    parser.add_argument("--kept", type=Path, help="keep what was gathered in this folder of one's own making")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--model", type=Path, help="default: the shipped one")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    found = gathered(arguments, DEVELOPMENT)
    if arguments.table is None:
        found = with_small_runs(found, read_small_runs())
    examples = examples_of(found)
    about = {"rows": len(examples.rows), "problems": len(set(examples.problem)), "seed": SEED}
    print(about, flush=True)
    eager = arguments.table is not None
    model, told = train(examples, SEED, Effort() if eager else OWN_KERNELS, about)
    model.save(arguments.model or MODELS / SHIPPED[eager])
    column = EAGER if eager else DEVICE
    if arguments.kept:
        (arguments.kept / f"{DEVELOPMENT}_{column}_told.pickle").write_bytes(pickle.dumps(told))
    report = compared(found, told, DEVELOPMENT) | {
        "about": {column: about}, "groups": {column: sorted(model.spread)}, "failures": {column: model.failures}
    }  # fmt: skip
    update(arguments.output, report)
    for name in ("program", "calibrated"):
        shown = report[name][column]
        print(name, column, {key: round(shown[key]["value"] or 0.0, 3) for key in SHOWN}, flush=True)


if __name__ == "__main__":
    main()
