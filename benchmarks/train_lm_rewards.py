"""What each reward of the policy stage changes, as differences on the same candidates.

    python -m benchmarks.train_lm_rewards runs/lm          # writes results/train_lm_rewards.json

The folder is the one that `benchmarks.train_lm` worked into: it has every answer of every stage. A reward's figure is
the mean of its seeds; differences are to the start that all of them had, and to `correctness` alone. Intervals are
drawn over operations (the same draw for both sides) and over the seeds of each reward.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.forecasters_lm import CORPUS, Sample
from benchmarks.train_lm import LIMIT
from benchmarks.train_lm_stack import told_by, whole
from foretell.belief import Forecast
from foretell.kernels.evaluate.data import read
from foretell.kernels.evaluate.figures import COVERED
from foretell.kernels.evaluate.judge import Floats, Ints, Judged, rows_of
from foretell.kernels.evaluate.metrics import Statistic, mean_of, pool_figures, row_statistics
from foretell.kernels.evaluate.pools import Pool
from foretell.train.lm.rewards import NAMED

RESULTS = Path(__file__).parent / "results" / "train_lm_rewards.json"
START, PLAIN = "sft", "correctness"
BY_CANDIDATE = ("accuracy", "within_one", "rps", "ece_outcomes", "aurc")
BY_POOL = ("spearman", "recovery_10")
RESAMPLES = 1000

Told = Mapping[tuple[str, str], Mapping[str, Any]]


def stages(folder: Path) -> dict[str, list[str]]:
    """Whose answers are there: the start's, and those of each reward's seeds."""
    names = sorted(path.name[len("told-") : -len("-distribution.jsonl")] for path in folder.glob("told-*"))
    found = {START: [START]} | {r: [n for n in names if n.rsplit("-", 1)[0] == f"grpo-{r}"] for r in NAMED}
    if missing := [name for name, own in found.items() if not own]:
        raise SystemExit(f"there are no written answers of {', '.join(missing)} in {folder}")
    return found


def judged_by(told: Told, pools: Sequence[Pool]) -> Judged:
    own = tuple(
        tuple(Forecast.from_bins(whole(row["bins"]), row["p_fail"]) for row in (told[pool.name, i] for i in pool.ids))
        for pool in pools
    )
    return Judged(tuple(pools), own, 0.0, {})


def draws(groups: Sequence[str], names: Sequence[str], drawn: Sequence[Ints]) -> list[Ints]:
    """Which rows count in each resample: all in the first, then those of the operations drawn."""
    own = [np.flatnonzero(np.array(groups) == name) for name in names]
    return [np.arange(len(groups)), *(np.concatenate([own[at] for at in one]) for one in drawn)]


def computed(judged: Judged, names: Sequence[str], drawn: Sequence[Ints]) -> dict[str, Floats]:
    """Each figure of one stage in every resample."""
    rows = rows_of(judged, COVERED)
    pools = pool_figures(judged, rows)
    by_row: Mapping[str, Statistic] = row_statistics(rows)
    by_pool = {name: mean_of(np.array([own[name] for own in pools])) for name in BY_POOL}
    at_rows = draws(rows.group.tolist(), names, drawn)
    at_pools = draws([pool.group for pool in judged.pools], names, drawn)
    return {name: np.array([by_row[name](at) for at in at_rows]) for name in BY_CANDIDATE} | {
        name: np.array([statistic(at) for at in at_pools]) for name, statistic in by_pool.items()
    }


def compared(by_reward: Mapping[str, Sequence[Mapping[str, Floats]]], rng: np.random.Generator) -> dict[str, Any]:
    """For each reward and figure: the mean of its seeds, and the difference to the start and to `correctness`."""
    result: dict[str, Any] = {}
    means: dict[str, dict[str, Floats]] = {}
    for reward, seeds in by_reward.items():
        picked = rng.integers(0, len(seeds), (RESAMPLES, len(seeds)))
        others = [other for other in (START, PLAIN) if other in means]
        means[reward], result[reward] = {}, {}
        for name in (*BY_CANDIDATE, *BY_POOL):
            values = np.array([own[name] for own in seeds])
            drawn = np.take_along_axis(values[:, 1:].T, picked, axis=1).mean(axis=1)
            means[reward][name] = np.concatenate([[values[:, 0].mean()], drawn])
            result[reward][name] = {
                "mean": _interval(means[reward][name]),
                **{f"against {o}": _interval(means[reward][name] - means[o][name]) for o in others},
            }
    return result


def _interval(values: Floats) -> dict[str, float]:
    low, high = np.nanquantile(values[1:], (0.025, 0.975)).tolist()
    return {"value": round(float(values[0]), 4), "low": round(low, 4), "high": round(high, 4)}


def _distinct(told: Told) -> int:
    return len({(tuple(row["bins"]), row["p_fail"]) for row in told.values()})


def _confidence(told: Told) -> float:
    """The mean of the highest probability that answers state."""
    stated = [max(row["p_fail"], (1.0 - row["p_fail"]) * max(row["bins"])) for row in told.values()]
    return round(float(np.mean(stated)), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    told = {
        reward: [told_by(options.folder / f"told-{stage}-distribution.jsonl") for stage in own]
        for reward, own in stages(options.folder).items()
    }
    result: dict[str, Any] = {}
    for split, pools in Sample.of(read(CORPUS), LIMIT, 0).pools.items():
        rng = np.random.default_rng(0)
        names = sorted({pool.group for pool in pools})
        drawn = [rng.integers(0, len(names), len(names)) for _ in range(RESAMPLES)]
        by_reward = {
            reward: [computed(judged_by(one, pools), names, drawn) for one in seeds] for reward, seeds in told.items()
        }
        result[split] = compared(by_reward, rng)
        for reward, figures in result[split].items():
            print(split, reward, {name: figure["mean"]["value"] for name, figure in figures.items()}, flush=True)
    result["distinct"] = {reward: [_distinct(one) for one in seeds] for reward, seeds in told.items()}
    result["confidence"] = {reward: [_confidence(one) for one in seeds] for reward, seeds in told.items()}
    result["answers"] = len(told[START][0])
    print("different answers", result["distinct"], "of", result["answers"], "mean confidence", result["confidence"])
    options.into.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
