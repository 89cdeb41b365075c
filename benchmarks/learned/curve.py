"""The learning curve of `calibrated`: figures on development problems by how many of our own kernels were learnt from.

    python -m benchmarks.learned.curve KEPT.pickle [--sizes 100 200 400 800] [--draws 2] [--folds 4] [--resume]

KEPT is what `train` keeps of development problems and our own kernels. Those to learn from are drawn at random, and
figures are of problems that were left out. Writes benchmarks/results/learned_curve.json; `page` shows it.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.learned.examples import DEVICE, Known, examples_of
from benchmarks.learned.train import SEED, figures
from foretell.belief import Forecast
from foretell.kernels.evaluate.data import DEVELOPMENT
from foretell.train.features import folds_of
from foretell.train.residual import OWN_KERNELS, Examples, train

RESULTS = Path("benchmarks/results/learned_curve.json")
SHOWN = ("pairs_10", "first_pick", "accuracy", "within_one", "ece_bins", "covered_80", "width_80", "crps")
EFFORT = replace(OWN_KERNELS, folds=4)


def some(examples: Examples, mask: NDArray[np.bool_]) -> Examples:
    """The examples of a mask."""
    places = np.flatnonzero(mask).tolist()
    return Examples(
        [examples.rows[i] for i in places],
        examples.log2[mask],
        examples.reference_log2[mask],
        [examples.status[i] for i in places],
        examples.problem[mask],
        examples.pool[mask],
        examples.tells_failure[mask],
    )


def point(found: Sequence[Known], examples: Examples, size: int, draw: int, folds: int) -> dict[str, float]:
    """Figures of models that learnt from so many kernels of our own, on the problems that each was not shown."""
    own = np.flatnonzero([name.startswith(f"{DEVICE} ") for name in examples.problem])
    taken = np.ones(len(examples.rows), dtype=bool)
    taken[np.random.default_rng([SEED, draw, size]).permutation(own)[size:]] = False
    told: list[Forecast | None] = [None] * len(examples.rows)
    for mask in folds_of(examples.problem, folds, SEED):
        model, _ = train(some(examples, taken & ~mask), SEED, EFFORT, {})
        places = [i for i in own.tolist() if mask[i]]
        for i, forecast in zip(places, model.forecasts([examples.rows[i] for i in places]), strict=True):
            told[i] = forecast
    mine = [each for each in found if not each.eager]
    result = figures(mine, [told[i] for i in own if told[i] is not None], "curve", DEVELOPMENT)[DEVICE]  # type: ignore[misc]
    shown = result.to_dict()["figures"]
    return {name: shown[name]["value"] for name in SHOWN}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 400, 800])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--resume", action="store_true", help="keep the points that are there, of the same kernels")
    arguments = parser.parse_args()
    found: list[Known] = pickle.loads(arguments.kept.read_bytes())
    examples = examples_of(found)
    own = sum(name.startswith(f"{DEVICE} ") for name in examples.problem)
    said = [forecast for each in found if not each.eager for forecast in each.said]
    mine = [each for each in found if not each.eager]
    base = figures(mine, said, "program", DEVELOPMENT)[DEVICE].to_dict()["figures"]
    report: dict[str, Any] = {"kernels": own, "draws": arguments.draws, "folds": arguments.folds, "points": []}
    report["program"] = {name: base[name]["value"] for name in SHOWN}
    before = json.loads(RESULTS.read_text()) if arguments.resume else {"points": []}
    report["points"] = before["points"]
    done = {point["kernels"] for point in report["points"]}
    for size in sorted({min(size, own) for size in arguments.sizes} - done):
        draws = [point(found, examples, size, draw, arguments.folds) for draw in range(arguments.draws)]
        means = {name: float(np.mean([each[name] for each in draws])) for name in SHOWN}
        report["points"].append({"kernels": size} | means)
        print(size, {name: round(value, 3) for name, value in means.items()}, flush=True)
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
