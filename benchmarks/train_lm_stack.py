"""Whether a trained language model adds to `features`: both pooled, on what neither has learnt from.

    python -m benchmarks.train_lm_stack runs/lm/told-sft-direct.jsonl          # writes results/train_lm_stack.json

The file is what `benchmarks.train_lm` kept of an evaluation. The pool is linear; its weight is chosen for every
operation by the CRPS of all others, so no operation has a say in its own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.forecasters_lm import CORPUS, Informed, Sample
from benchmarks.train_lm import LIMIT, RESAMPLES
from foretell.belief import Forecast
from foretell.kernels.evaluate.data import read
from foretell.kernels.evaluate.judge import Judged, judge, rows_of
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.forecast import make

RESULTS = Path(__file__).parent / "results" / "train_lm_stack.json"
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # of the language model
TOLD = ("spearman", "recovery_10", "crps", "rps", "accuracy", "ece_outcomes", "failure_auroc")


def pooled(features: Judged, model: Judged, weights: Sequence[float]) -> Judged:
    """Both blended, with a weight of the language model for each pool."""
    found = [
        tuple(Forecast.mixture([one, other], [1.0 - w, w]) for one, other in zip(own, others, strict=True))
        for own, others, w in zip(features.forecasts, model.forecasts, weights, strict=True)
    ]
    return Judged(features.pools, tuple(found), features.seconds, {})


def losses(judged: Judged) -> dict[str, list[float]]:
    """The CRPS of every candidate that worked, by operation."""
    rows = rows_of(judged, ())
    found: dict[str, list[float]] = {}
    for group, loss in zip(rows.group.tolist(), rows.crps.tolist(), strict=True):
        if np.isfinite(loss):
            found.setdefault(group, []).append(loss)
    return found


def chosen_weights(features: Judged, model: Judged) -> list[float]:
    """For each pool the weight that is best for all other operations, each counting the same."""
    count = len(features.pools)
    means = {
        w: {group: float(np.mean(own)) for group, own in losses(pooled(features, model, [w] * count)).items()}
        for w in WEIGHTS
    }
    found = []
    for pool in features.pools:
        others = {w: np.mean([v for group, v in own.items() if group != pool.group]) for w, own in means.items()}
        found.append(min(WEIGHTS, key=others.__getitem__))
    return found


def figures(judged: Judged, name: str, split: str) -> dict[str, Any]:
    result = assess(judged, name, split, 0, RESAMPLES).to_dict()["figures"]
    return {key: result[key] for key in TOLD}


def told_by(path: Path) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {(row["pool"], row["id"]): row for row in rows}


def forecast_of(row: Mapping[str, Any], trees: Forecast) -> Forecast:
    """What the model was believed to say; where it had been told the trees' word, that shaped it within bins."""
    if row.get("shaped"):
        return trees.with_bins(whole(row["bins"]), row["p_fail"])
    return Forecast.from_bins(whole(row["bins"]), row["p_fail"])


def whole(probs: Sequence[float]) -> list[float]:
    """Rounding made good."""
    return [p / sum(probs) for p in probs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("told", type=Path)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    told = told_by(options.told)
    sample = Sample.of(read(CORPUS), LIMIT, 0)
    result: dict[str, Any] = {}
    for split, pools in sample.pools.items():
        features = judge(Informed(make("features"), sample.lessons), pools)
        own = tuple(
            tuple(forecast_of(told[pool.name, i], trees) for i, trees in zip(pool.ids, forecasts, strict=True))
            for pool, forecasts in zip(features.pools, features.forecasts, strict=True)
        )
        model = Judged(features.pools, own, 0.0, {})
        weights = chosen_weights(features, model)
        result[split] = {
            "features": figures(features, "features", split),
            "model": figures(model, "model", split),
            "stacked": figures(pooled(features, model, weights), "stacked", split),
            "weight": round(float(np.mean(weights)), 3),
        }
        for name in ("features", "model", "stacked"):
            print(split, name, {key: round(result[split][name][key]["value"], 3) for key in TOLD})
        print(split, "weight", result[split]["weight"], flush=True)
    options.into.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
