"""The paper's experiment by replay: which kernels of a fixed pool to measure, at equal device seconds.

    python -m benchmarks.learned.experiment KEPT.pickle FORECASTS.pickle [--part held_out] [--pools] [--fewest 30]

A pool is the measured kernels of one problem, written beforehand; with `--pools`, those written for this experiment by
the prompt benchmarks/real/pool_prompt.md. Each arm is a search of foretell's own driver over the recorded measurements,
told of the whole pool at once, so that arms differ in choosing alone: without a surrogate kernels are measured as they
were written, at random, or newest first; `top` goes by the forecast of `program`; `value` is the policy with the
forecaster that learns from each measurement, over `program` as in a real search, and over `calibrated`. Seconds are
those that the device was busy with each kernel when its label was measured. Reads what `train` and `evaluate` keep;
writes benchmarks/results/learned_experiment_PART.json.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.learned.examples import Known
from benchmarks.real.listing import POOL_NUMBERS
from foretell.belief import Forecast
from foretell.belief.bootstrap import bootstrap_all
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.corpus import real
from foretell.kernels.cost.settings import RECORDED
from foretell.kernels.evaluate.data import DEVELOPMENT
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.forecast import OnlineForecaster
from foretell.kernels.policy import make_policy
from foretell.kernels.profiles import STANDARD, Budgets, Profile
from foretell.kernels.protocols import Forecaster
from foretell.kernels.replay.bench import FrozenForecasts
from foretell.kernels.replay.search import replay_search
from foretell.kernels.search import RunState, SearchConfig, make_strategy
from foretell.kernels.task import Task

NEAR = {"2": 0.98, "5": 0.95, "20": 0.8}
UNLIMITED_S = 1e9
SAME = Forecast.from_normal(0.0, RECORDED.same_spread_log2, 0.01)  # of the reference
AT_A_TIME = 1  # measurements of `value` between two forecasts
GRID = np.linspace(0.05, 1.0, 20)  # shares of the device seconds of the whole pool
WRITTEN, RANDOM, NEWEST = "as written", "random", "newest first"


@dataclass(frozen=True)
class Arm:
    """A policy, the forecaster it asks (none, `program` or `calibrated`), whether that learns, and the pool's order."""

    policy: str
    base: str = ""
    learns: bool = False
    order: str = WRITTEN


ARMS: Mapping[str, Arm] = {
    "written": Arm("all"),
    "random": Arm("all", order=RANDOM),
    "newest": Arm("all", order=NEWEST),
    "top": Arm("top", "program"),
    "top_calibrated": Arm("top", "calibrated"),
    "value": Arm("value", "program", learns=True),
    "value_calibrated": Arm("value", "calibrated", learns=True),
    "value_unlearned": Arm("value", "program"),
}


@dataclass(frozen=True)
class Choice:
    """A pool to choose from, in the order of writing, and what each forecaster says of its kernels beforehand."""

    pool: Pool
    numbers: tuple[int, ...]
    forecasts: Mapping[str, tuple[Forecast, ...]]

    @property
    def speedups(self) -> list[float]:
        """Speedups by candidate; 0 for a failure."""
        return [m.speedup or 0.0 for m in self.pool.measured]

    @property
    def seconds(self) -> float:
        """Device seconds of measuring all."""
        return sum(m.device_s for m in self.pool.measured)


class Ordered:
    """Proposes the candidates of a pool in an order of its own."""

    name = "pool"

    def __init__(self, choice: Choice, order: str, seed: int) -> None:
        places = sorted(range(len(choice.numbers)), key=choice.numbers.__getitem__, reverse=order == NEWEST)
        if order == RANDOM:
            places = np.random.default_rng([seed, len(places)]).permutation(places).tolist()
        self._candidates = [choice.pool.subjects[i].candidate for i in places]

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        return [candidate for candidate in self._candidates if candidate.id not in known][:count]


def forecaster_of(choice: Choice, arm: Arm, seed: int) -> Forecaster:
    """What the arm asks: forecasts that were made beforehand, corrected by the run if it learns."""
    if not arm.base:
        return FrozenForecasts.flat(choice.pool)
    task = choice.pool.task
    references = [Candidate(task.key, *each, Origin("reference")).id for each in task.references.items()]
    ids = [*references, *(subject.candidate.id for subject in choice.pool.subjects)]
    said = [SAME] * len(references) + [*choice.forecasts[arm.base]]
    frozen = FrozenForecasts(arm.base, dict(zip(ids, said, strict=True)))
    return OnlineForecaster(frozen, seed) if arm.learns else frozen


def profile_of(size: int, policy: str) -> Profile:
    """The usual settings with the whole pool in one batch and no limit: curves are read off at any budget."""
    at_a_time = AT_A_TIME if policy == "value" else size
    return replace(
        STANDARD, budgets=Budgets(size, UNLIMITED_S, size), batch_size=size, measure_per_batch=at_a_time,
        max_measure_per_batch=at_a_time, verify_count=0, audit_share=0.0,
    )  # fmt: skip


def searched(choice: Choice, arm: Arm, seed: int) -> RunState:
    """The arm's search over the pool."""
    profile = profile_of(len(choice.pool), arm.policy)
    search = replay_search(
        choice.pool,
        forecaster_of(choice, arm, seed),
        make_strategy("greedy", profile),
        make_policy(arm.policy, profile),
        SearchConfig("torch", seed, profile),
        proposer=Ordered(choice, arm.order, seed),
    )
    return search.run()


def outcome(choice: Choice, state: RunState) -> dict[str, Any]:
    """What a search came to: shares of the pool's best by measurements and by device seconds.

    A search that ended early stays where it ended; what it did not reach counts as reached with the last kernel.
    """
    best, size = max(choice.speedups), len(choice.pool)
    measured = [m for _, m in state.lessons]
    shares = np.maximum.accumulate([(m.speedup or 0.0) / best for m in measured])
    spent = np.cumsum([m.device_s for m in measured])
    third, tenth = max(1, size // 3), max(1, math.ceil(size / 10))

    def after(count: int) -> float:
        return float(shares[min(count, len(shares)) - 1])

    def by(seconds: float) -> float:
        done = int(np.searchsorted(spent, seconds * (1 + 1e-9), side="right"))
        return float(shares[done - 1]) if done else 0.0

    found: dict[str, Any] = {
        "top_tenth": after(tenth), "first_third": after(third), "third_of_seconds": by(choice.seconds / 3.0),
        "measured": float(len(measured)), "curve": [by(share * choice.seconds) for share in GRID],
    }  # fmt: skip
    found["mean_over_seconds"] = float(np.mean(found["curve"]))
    for key, near in NEAR.items():
        reached = np.flatnonzero(shares >= near)
        found[f"until_{key}"] = float(reached[0] + 1 if reached.size else size)
    return found


def stated(state: RunState) -> list[dict[str, float]]:
    """For each kernel that was measured, what had been forecast when it was chosen beside what came."""
    found = []
    for node in state.nodes.values():
        if (m := node.measurement) is not None:
            low, high = node.forecast.interval(0.8)
            row = {"p_fail": node.forecast.p_fail, "failed": float(not m.ok), "width": high - low}
            if m.ok:
                row |= {"covered": float(low <= m.log2_speedup <= high), "error": m.log2_speedup - node.forecast.median}
            found.append(row)
    return found


def pools_of(found: Sequence[Known], told: Sequence[Forecast], fewest: int, pools_only: bool) -> list[Choice]:
    """Our own problems with enough kernels of which some work."""
    numbers = {kernel["id"]: int(kernel["number"]) for kernel in real.read()}
    choices, start = [], 0
    for each in found:
        size = len(each.pool)
        calibrated, start = told[start : start + size], start + size
        kept = [i for i in range(size) if not pools_only or numbers[each.pool.ids[i]] in POOL_NUMBERS]
        if each.eager or len(kept) < fewest or sum(each.pool.measured[i].ok for i in kept) < 2:
            continue
        pool = each.pool.take(kept)
        forecasts = {name: tuple(all_[i] for i in kept) for name, all_ in
                     (("program", each.said), ("calibrated", calibrated))}  # fmt: skip
        choices.append(Choice(pool, tuple(numbers[name] for name in pool.ids), forecasts))
    return choices


def compared(choices: Sequence[Choice], seeds: int) -> dict[str, Any]:
    """Each arm's figures, averaged over seeds and then pools, and `value` less the others, with 95 % intervals."""
    report: dict[str, Any] = {"arms": {}, "curves": {}, "calibration": {}, "value less": {}, "by pool": {}}
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    for name, arm in ARMS.items():
        rows, said = [], []
        for choice in choices:
            states = [searched(choice, arm, seed) for seed in range(seeds)]
            runs = [outcome(choice, state) for state in states]
            rows.append({key: np.mean([run[key] for run in runs], axis=0) for key in runs[0]})
            said += [[line for state in states for line in stated(state)]]
        found[name] = {key: np.array([row[key] for row in rows]) for key in rows[0]}
        report["curves"][name] = [_interval(column) for column in found[name].pop("curve").T]
        report["calibration"][name] = _calibration(said) if arm.base else None
    for name, columns in found.items():
        report["arms"][name] = {key: _interval(values) for key, values in columns.items()}
        report["by pool"][name] = {key: [round(float(v), 3) for v in values] for key, values in columns.items()}
        if name != "value":
            less = {key: found["value"][key] - values for key, values in columns.items()}
            report["value less"][name] = {key: _interval(values) for key, values in less.items()}
    return report


def _calibration(said: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, Any]:
    """Coverage and width of 80 % intervals and chances of failure when chosen; pools are drawn again whole."""

    def mean_of(key: str) -> dict[str, float]:
        sums = np.array([[sum(row[key] for row in rows if key in row), sum(key in row for row in rows)]
                         for rows in said])  # fmt: skip
        return _interval(sums, lambda drawn: float(sums[drawn, 0].sum() / max(1.0, sums[drawn, 1].sum())))

    return {key: mean_of(key) for key in ("covered", "width", "error", "p_fail", "failed")}


def _interval(values: NDArray[Any], figure: Any = None) -> dict[str, float]:
    figure = figure or (lambda drawn: float(values[drawn].mean()))
    found = bootstrap_all({"": figure}, np.arange(len(values)))[""]
    return {"value": found.value, "low": found.low, "high": found.high}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=Path)
    parser.add_argument("forecasts", type=Path)
    parser.add_argument("--part", default=DEVELOPMENT, help="the part of the problems, in the name of the results")
    parser.add_argument("--pools", action="store_true", help="only kernels that were written for this experiment")
    parser.add_argument("--fewest", type=int, default=8, help="kernels that a pool must have")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    kept, told = (pickle.loads(path.read_bytes()) for path in (arguments.kept, arguments.forecasts))
    choices = pools_of(kept, told, arguments.fewest, arguments.pools)
    if not choices:
        raise SystemExit(f"no pool has {arguments.fewest} measured kernels")
    about = {
        "pools": [choice.pool.name for choice in choices],
        "kernels": [len(choice.pool) for choice in choices],
        "best": [round(max(choice.speedups), 3) for choice in choices],
        "seconds": [round(choice.seconds, 2) for choice in choices],
        "seeds": arguments.seeds,
        "fewest": arguments.fewest,
    }
    report = {"about": about, **compared(choices, arguments.seeds)}
    name = f"{arguments.part}{'_pools' if arguments.pools else ''}"
    Path(f"benchmarks/results/learned_experiment_{name}.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(about))
    for arm, columns in report["arms"].items():
        print(arm, {name: round(each["value"], 3) for name, each in columns.items()})


if __name__ == "__main__":
    main()
