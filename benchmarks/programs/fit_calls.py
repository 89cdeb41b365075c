"""Fit the model of library calls (`kernels/cost/calls.py`) to measured calls, and say how far off it is on others.

    python -m benchmarks.programs.fit_calls CALLS.jsonl     # from benchmarks/library_calls.py, on an H200

Writes src/foretell/kernels/cost/models/library_calls.npz and benchmarks/results/library_calls.json. Errors are those of
calls that were left out (five folds, by call: no two have the same shapes), as |forecast / measured - 1|.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.programs.calls import read
from foretell.kernels.cost.call_features import CallFeatures, features_of
from foretell.kernels.cost.calls import MODEL, Correction, plain_us, roofline_us
from foretell.kernels.cost.settings import CALL_MODEL
from foretell.kernels.devices import described

RESULTS = Path("benchmarks/results/library_calls.json")
FOLDS, SEED = 5, 0
Array = NDArray[np.float64]
Measured = tuple[CallFeatures, float, float, float]  # features, roofline times, measured microseconds


def fitted(rows: list[Measured]) -> Correction:
    """Centres spread over the rows, weights by ridge regression on all of them."""
    names = tuple(sorted({name for row in rows for name in row[0].shape}))
    operators = tuple(sorted({row[0].operator for row in rows}))
    blank = Correction(
        names, operators, np.zeros(len(names) + 2), np.ones(len(names) + 2), np.zeros((0, 1)), np.zeros(0), 1.0, 0.0
    )
    raw = np.stack([blank.place(*row[:3])[: len(names) + 2] for row in rows])
    mean, scale = raw.mean(axis=0), np.maximum(raw.std(axis=0), CALL_MODEL.least_scale)
    scaled = Correction(names, operators, mean, scale, np.zeros((0, 1)), np.zeros(0), 1.0, 0.0)
    places = np.stack([scaled.place(*row[:3]) for row in rows])
    width = CALL_MODEL.width_per_feature * places.shape[1]
    centres = places[_spread(places, CALL_MODEL.centres)].astype(np.float16).astype(np.float64)
    targets = np.array([np.log2(us / plain_us(memory, compute)) for _, memory, compute, us in rows])
    near, among = _near(places, centres, width), _near(centres, centres, width)
    # Subset of regressors: the prior over functions is that of a Gaussian process with its mass at the centres.
    system = near.T @ near + CALL_MODEL.ridge * (among + 1e-4 * np.eye(len(centres)))
    weights = np.linalg.solve(system, near.T @ targets)
    return Correction(names, operators, mean, scale, centres, weights, width, 0.0)


def _near(left: Array, right: Array, width: float) -> Array:
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None] - 2.0 * left @ right.T
    return np.exp(-np.maximum(squares, 0.0) / (2.0 * width))


def _spread(places: Array, count: int) -> list[int]:
    """Indices of rows that lie far from each other: each next one is the furthest from those before it."""
    chosen = [0]
    distance = ((places - places[0]) ** 2).sum(axis=1)
    while len(chosen) < min(count, len(places)):
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((places - places[chosen[-1]]) ** 2).sum(axis=1))
    return chosen


def predicted(model: Correction, rows: list[Measured]) -> Array:
    changes = [model.at(model.place(*row[:3]))[0] for row in rows]
    return np.array([plain_us(row[1], row[2]) * 2.0**change for row, change in zip(rows, changes, strict=True)])


def left_out(rows: list[Measured]) -> Array:
    """log2 of forecast over measured, each by a model that had not seen the call."""
    fold = np.random.default_rng(SEED).integers(0, FOLDS, len(rows))
    off = np.zeros(len(rows))
    for number in range(FOLDS):
        others = [row for row, at in zip(rows, fold, strict=True) if at != number]
        own = [row for row, at in zip(rows, fold, strict=True) if at == number]
        off[fold == number] = np.log2(predicted(fitted(others), own) / np.array([row[3] for row in own]))
    return off


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", type=Path)
    parser.add_argument("--device", default="h200")
    arguments = parser.parse_args()
    device = described(arguments.device)
    classes: dict[str, list[Measured]] = {}
    for call, us in read(arguments.calls):
        features = features_of(call)
        classes.setdefault(features.kind, []).append((features, *roofline_us(features, device), us))
    arrays: dict[str, Any] = {"kinds": np.array(sorted(classes))}
    report: dict[str, Any] = {"device": device.name, "calls": sum(map(len, classes.values())), "classes": {}}
    errors = []
    for kind, rows in sorted(classes.items()):
        off = left_out(rows)
        error = np.abs(np.exp2(off) - 1.0)
        errors.append(error)
        spread = float(np.quantile(np.abs(off), 0.8) / 1.2816)
        report["classes"][kind] = {
            "calls": len(rows),
            "median_error": round(float(np.median(error)), 4),
            "p90_error": round(float(np.quantile(error, 0.9)), 4),
            "spread_log2": round(spread, 4),
            "roofline_median_error": round(float(np.median([abs(plain_us(m, c) / us - 1) for _, m, c, us in rows])), 4),
        }
        model = fitted(rows)
        arrays |= {f"{kind}.names": np.array(model.names), f"{kind}.operators": np.array(model.operators)}
        arrays |= {f"{kind}.{name}": getattr(model, name).astype(np.float32) for name in ("mean", "scale", "weights")}
        arrays |= {f"{kind}.centres": model.centres.astype(np.float16)}
        arrays |= {f"{kind}.width": np.float64(model.width), f"{kind}.spread_log2": np.float64(spread)}
    report["median_error"] = round(float(np.median(np.concatenate(errors))), 4)
    MODEL.parent.mkdir(exist_ok=True)
    np.savez_compressed(MODEL, **arrays)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
