"""Choosing what to measure from fixed pools of kernels that language models wrote: the paper's experiment by replay.

    python -m benchmarks.learned.experiment KEPT.pickle FORECASTS.pickle [--part development] [--seeds 20]

A pool is all measured kernels of one problem; every arm measures all of them in an order of its own, so arms differ in
choosing alone. `written` takes them as they were written (no surrogate), `newest` in reverse, `random` at random,
`top` by forecast speedup, `value` one by one by the policy of that name, given what was measured before. Device seconds
are those of the paired runs of the label. Reads what `train` and `evaluate` keep; writes
benchmarks/results/learned_experiment_PART.json.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learned.examples import H200, Known
from foretell.belief import Forecast
from foretell.belief.bootstrap import bootstrap_all
from foretell.kernels.corpus import labels, real
from foretell.kernels.evaluate.data import DEVELOPMENT
from foretell.kernels.policy import View, make_policy
from foretell.kernels.profiles import STANDARD

FEWEST = 4  # kernels that a pool must have
NEAR = {"5": 0.95, "20": 0.8}
SEEDED = "random"
UNLIMITED_S = 1e9


@dataclass(frozen=True)
class Choice:
    """A pool to choose from: speedups (0 for a failure), forecasts, numbers of the files, seconds that each costs."""

    name: str
    speedups: tuple[float, ...]
    forecasts: tuple[Forecast, ...]
    numbers: tuple[int, ...]
    seconds: tuple[float, ...]


def written(pool: Choice, rng: np.random.Generator) -> list[int]:
    return sorted(range(len(pool.numbers)), key=lambda i: pool.numbers[i])


def newest(pool: Choice, rng: np.random.Generator) -> list[int]:
    return written(pool, rng)[::-1]


def at_random(pool: Choice, rng: np.random.Generator) -> list[int]:
    return [int(i) for i in rng.permutation(len(pool.speedups))]


def top(pool: Choice, rng: np.random.Generator) -> list[int]:
    worth = [(1.0 - f.p_fail) * 2.0**f.median for f in pool.forecasts]
    return sorted(range(len(worth)), key=lambda i: -worth[i])


def value(pool: Choice, rng: np.random.Generator) -> list[int]:
    """One measurement at a time by the policy `value`; what it would not measure comes last, by forecast."""
    policy = make_policy("value", replace(STANDARD, audit_share=0.0, measure_per_batch=1, max_measure_per_batch=1))
    order: list[int] = []
    fallback = top(pool, rng)
    while len(order) < len(pool.speedups):
        left = [i for i in fallback if i not in order]
        speeds = [pool.speedups[i] for i in order if pool.speedups[i] > 0]
        costs = [pool.seconds[i] for i in order]
        view = View(
            tuple(pool.forecasts[i] for i in left), max([1.0, *speeds]), len(order), 0,
            float(np.mean(costs)) if costs else None, len(left), UNLIMITED_S, len(order),
            fastest=max(speeds, default=None), measured=len(order), considered=len(order),
        )  # fmt: skip
        picked = [i for i, choice in zip(left, policy.decide(view, rng), strict=True) if choice.to_measure]
        order.append(picked[0] if picked else left[0])
    return order


ARMS: Mapping[str, Callable[[Choice, np.random.Generator], list[int]]] = {
    "written": written, "newest": newest, SEEDED: at_random, "top": top, "value": value,
}  # fmt: skip


def outcome(pool: Choice, order: Sequence[int]) -> dict[str, Any]:
    """What an order came to: shares of the pool's best so far, measurements until near it, the mean over seconds."""
    best = max(pool.speedups)
    shares = np.maximum.accumulate([pool.speedups[i] / best for i in order])
    spent = np.cumsum([pool.seconds[i] for i in order])
    third = max(1, len(order) // 3)
    tenth = max(1, math.ceil(len(order) / 10))
    half = np.searchsorted(spent, spent[-1] / 3.0)
    found = {
        "first_third": float(shares[third - 1]),
        "top_tenth": float(shares[tenth - 1]),
        "third_of_seconds": float(shares[min(half, len(shares) - 1)]) if spent[0] <= spent[-1] / 3.0 else 0.0,
        "mean_over_seconds": float(np.sum(shares[:-1] * np.diff(spent)) / max(spent[-1] - spent[0], 1e-12)),
    }
    return found | {f"until_{key}": int(np.argmax(shares >= near)) + 1 for key, near in NEAR.items()}


def pools_of(found: Sequence[Known], told: Sequence[Forecast]) -> list[Choice]:
    """Our own problems with enough kernels of which some work."""
    numbers = {kernel["id"]: int(kernel["number"]) for kernel in real.read()}
    costs = {
        label["id"]: (label["device_us"] + label["reference_us"]) * label["pairs"] / 1e6
        for label in labels.read()
        if label["device"] == H200 and label["device_us"] and label["pairs"]
    }
    usual = float(np.median(list(costs.values())))
    pools, start = [], 0
    for each in found:
        size = len(each.pool)
        forecasts, start = tuple(told[start : start + size]), start + size
        speedups = tuple(m.speedup or 0.0 for m in each.pool.measured)
        if not each.eager and size >= FEWEST and sum(s > 0 for s in speedups) >= 2:
            ids = each.pool.ids
            seconds = tuple(costs.get(name, usual) for name in ids)
            pools.append(Choice(each.pool.name, speedups, forecasts, tuple(numbers[name] for name in ids), seconds))
    return pools


def compared(pools: Sequence[Choice], seeds: int) -> dict[str, Any]:
    """Each arm's figures, averaged over seeds and then pools, and `value` less the others, with 95 % intervals."""
    found: dict[str, dict[str, np.ndarray[Any, Any]]] = {}
    for arm, order in ARMS.items():
        rows = []
        for pool in pools:
            runs = [
                outcome(pool, order(pool, np.random.default_rng([seed, len(pool.name)])))
                for seed in range(seeds if arm == SEEDED else 1)
            ]
            rows.append({key: float(np.mean([run[key] for run in runs])) for key in runs[0]})
        found[arm] = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    names = list(found["value"])
    report: dict[str, Any] = {"arms": {}, "value less": {}}
    for arm, columns in found.items():
        report["arms"][arm] = {name: _interval(columns[name]) for name in names}
        if arm != "value":
            report["value less"][arm] = {name: _interval(found["value"][name] - columns[name]) for name in names}
    return report


def _interval(values: np.ndarray[Any, Any]) -> dict[str, float]:
    found = bootstrap_all({"": lambda drawn: float(values[drawn].mean())}, np.arange(values.size))[""]
    return {"value": found.value, "low": found.low, "high": found.high}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=Path)
    parser.add_argument("forecasts", type=Path)
    parser.add_argument("--part", default=DEVELOPMENT)
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    pools = pools_of(pickle.loads(arguments.kept.read_bytes()), pickle.loads(arguments.forecasts.read_bytes()))
    about = {"pools": len(pools), "kernels": sum(len(pool.speedups) for pool in pools), "seeds": arguments.seeds}
    report = {"about": about | {"fewest kernels": FEWEST}, **compared(pools, arguments.seeds)}
    output = Path(f"benchmarks/results/learned_experiment_{arguments.part}.json")
    output.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report["about"]))
    for arm, columns in report["arms"].items():
        print(arm, {name: round(each["value"], 3) for name, each in columns.items()})


if __name__ == "__main__":
    main()
