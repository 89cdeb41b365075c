"""Policies over the recorded measurements of operations that no training saw: how soon each has a kernel near the best.

    python -m benchmarks.corpus_replay run      # about a quarter of an hour on two cores
    python -m benchmarks.corpus_replay page     # docs/results/corpus_replay.md from the JSON

It is the driver of a search itself, over the held-out operations and families of `data/`. In *stream* candidates come
16 at a time in random order, as from a proposer; in *whole* all are there from the start, which nobody has but a tuner
of a listed space. Four candidates are considered for each that may be measured. Forecasts are those of the shipped
model, which never saw the operation.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.machine import describe
from foretell.kernels.evaluate.data import read
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.forecast import make
from foretell.kernels.forecast.online import OnlineForecaster
from foretell.kernels.policy import make_policy
from foretell.kernels.profiles import STANDARD, Budgets, Profile
from foretell.kernels.protocols import Forecaster
from foretell.kernels.replay.bench import FrozenForecasts, PoolProposer, ReplayBench
from foretell.kernels.replay.search import ReplaySearch, best_so_far_log2
from foretell.kernels.search import SearchConfig, make_strategy

RESULTS = Path("benchmarks/results/corpus_replay.json")
PAGE = Path("docs/results/corpus_replay.md")
CORPORA = ("data/corpus_gpu.parquet", "data/corpus_cpu.parquet")
SPLITS = ("held_operation", "held_family")
NEAR = 0.95  # of the pool's best
CONSIDERED = 4  # candidates for each measurement
RESAMPLES = 2000
PLACES = (1, 2, 3, 5, 8, 12, 20, 30, 50)  # measurements after which the best so far is told


@dataclass(frozen=True)
class Contender:
    """A policy with the forecaster it asks: nobody, the shipped model as it is, or learning from the run."""

    name: str
    policy: str
    asks: str
    everything: bool = False  # measures the whole pool: what random order comes to without any limit

    def forecaster(self, pool: Pool) -> Forecaster:
        if self.asks == "nobody":
            return FrozenForecasts.flat(pool)
        frozen = FrozenForecasts.of(make("features", 0), pool)
        return frozen if self.asks == "frozen" else OnlineForecaster(frozen, 0)


CONTENDERS = (
    Contender("random order, all measured", "all", "nobody", everything=True),
    Contender("random", "random", "nobody"),
    Contender("top, frozen", "top", "frozen"),
    Contender("top, learning", "top", "online"),
    Contender("selective, learning", "selective", "online"),
    Contender("value, frozen", "value", "frozen"),
    Contender("value, learning", "value", "online"),
)
MODES = ("stream", "whole")


def profile(pool: Pool, contender: Contender, mode: str) -> Profile:
    built = sum(subject.build is None or subject.build.ok for subject in pool.subjects)
    measured = len(pool) if contender.everything else max(8, built // CONSIDERED)
    base = replace(STANDARD, budgets=Budgets(measured, 1e9, len(pool)), verify_count=0, audit_share=0.0)
    if mode == "stream" or contender.everything:
        return base
    return replace(base, batch_size=len(pool), measure_per_batch=measured)


def search(pool: Pool, contender: Contender, mode: str, seeds: Sequence[int]) -> dict[str, Any]:
    """What a contender does on one pool: measurements until near the best for each seed, and its mean curve."""
    setting = profile(pool, contender, mode)
    best = max(m.log2_speedup for m in pool.measured if m.ok)
    forecaster, bench, proposer = contender.forecaster(pool), ReplayBench(pool), PoolProposer(pool)
    until, curves, wall = [], [], 0.0
    for seed in seeds:
        parts = (forecaster, make_strategy("puct", setting), make_policy(contender.policy, setting))
        run = ReplaySearch(pool, *parts, SearchConfig(_language(pool), seed, setting), bench=bench, proposer=proposer)
        began = time.process_time()
        curve = np.array(best_so_far_log2(run.run()))
        wall += time.process_time() - began
        near = np.flatnonzero(curve >= best + math.log2(NEAR))
        until.append(int(near[0]) + 1 if near.size else None)
        curves.append([2.0 ** float(curve[min(k, len(curve)) - 1] - best) for k in PLACES])
    return {
        "operation": pool.task.name,
        "device": pool.device.kind,
        "candidates": len(pool),
        "may_measure": setting.budgets.measurements,
        "until": until,
        "curve": np.mean(curves, axis=0).round(4).tolist(),
        "seconds": round(wall / len(seeds), 3),
    }


def _language(pool: Pool) -> str:
    return next(iter(pool.task.references))


@cache
def pools() -> tuple[Pool, ...]:
    return tuple(pool for path in CORPORA for split in SPLITS for pool in read(Path(path)).pools(split, "build"))


def _work(job: tuple[int, int, str, int]) -> tuple[int, str, dict[str, Any]]:
    at, contender, mode, seeds = job
    return contender, mode, search(pools()[at], CONTENDERS[contender], mode, range(seeds))


def run(seeds: int, jobs: int) -> None:
    wanted = [(at, c, mode, seeds) for at in range(len(pools())) for c in range(len(CONTENDERS)) for mode in MODES]
    found: dict[tuple[int, str], list[dict[str, Any]]] = {}
    with multiprocessing.get_context("spawn").Pool(jobs) as workers:
        for done, (contender, mode, row) in enumerate(workers.imap_unordered(_work, wanted), start=1):
            found.setdefault((contender, mode), []).append(row)
            print(f"{done} of {len(wanted)}", end="\r", flush=True)
    rows = [
        {"contender": CONTENDERS[c].name, "mode": mode, **summary(found[c, mode])}
        for mode in MODES
        for c in range(len(CONTENDERS))
    ]
    for row in rows:
        print(row["mode"], row["contender"], row["median"], row["reached"], row["after"])
    about = {"seeds": seeds, "operations": len(pools()), "places": PLACES, "near": NEAR, "considered": CONSIDERED}
    RESULTS.write_text(json.dumps({"machine": describe(), **about, "rows": rows}, indent=1) + "\n")


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The median over operations of the median over seeds, with an interval over operations; never is infinite."""
    rows = sorted(rows, key=lambda row: (row["device"], row["operation"]))
    medians = np.array([median(math.inf if n is None else n for n in row["until"]) for row in rows])
    draws = np.random.default_rng(0).integers(len(rows), size=(RESAMPLES, len(rows)))
    spread = np.quantile(np.median(medians[draws], axis=1), (0.025, 0.975), method="nearest")
    return {
        "median": _finite(float(np.median(medians))),
        "low": _finite(float(spread[0])),
        "high": _finite(float(spread[1])),
        "reached": round(mean(n is not None for row in rows for n in row["until"]), 4),
        "after": np.mean([row["curve"] for row in rows], axis=0).round(4).tolist(),
        "by_operation": list(rows),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    at = [PLACES.index(k) for k in (1, 5, 12, 30)]
    for mode in MODES:
        yield from ("", f"## {_TITLES[mode]}", "")
        yield "| policy | measurements until within 5 % | reached | best so far after 1 | 5 | 12 | 30 |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        for row in (row for row in found["rows"] if row["mode"] == mode):
            span = f"{_count(row['median'])} [{_count(row['low'])}, {_count(row['high'])}]"
            cells = " | ".join(f"{row['after'][i]:.3f}" for i in at)
            yield f"| {row['contender']} | {span} | {row['reached']:.0%} | {cells} |"


def _count(value: float | None) -> str:
    return "never" if value is None else f"{value:g}"


_TITLES = {"stream": "Candidates come 16 at a time", "whole": "All candidates are there from the start"}


def page() -> None:
    found = json.loads(RESULTS.read_text())
    lines = [_INTRODUCTION.format(**found), *_lines(found), "", *_SHORT.splitlines()]
    PAGE.write_text("\n".join(lines) + "\n")


_INTRODUCTION = """# Policies on recorded measurements

Made by `python -m benchmarks.corpus_replay`; figures in `benchmarks/results/corpus_replay.json`.
{operations} operations of the [corpus](corpus.md) that no training saw (on the H200 and on a CPU), {seeds} seeds each,
through the driver of a search. {considered} candidates are considered for each that may be measured. *Until within 5 %*
counts measurements until one is at least {near} times as fast as the pool's best: the median over operations of the
median over seeds, with a 95 % interval over operations; *best so far* is a share of the pool's best, the mean over
operations and seeds."""

_SHORT = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.what == "run":
        run(chosen.seeds, chosen.jobs)
    page()


if __name__ == "__main__":
    main()
