"""How few measurements the tuner needs on recorded tuning spaces, beside random and beside published tuners.

    python -m benchmarks.tuning_spaces run FOLDER [--only convolution_milo__a100 ...] [--seeds 0:20]
    python -m benchmarks.tuning_spaces page     # docs/results/tuning_spaces.md from the JSON

`run` may be called in pieces: what is in benchmarks/results/tuning_spaces.json already is kept and not run again
(`--again` starts anew). One evaluation is one row looked up, failed rows included; nothing is looked up twice.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from foretell.kernels.replay import spaces
from foretell.kernels.replay.spaces import Space
from foretell.kernels.tune.tuner import Tuner

RESULTS = Path("benchmarks/results/tuning_spaces.json")
PAGE = Path("docs/results/tuning_spaces.md")
BUDGET = 200
KEPT = (5, 10, 20, 50, 100, 200)  # evaluations after which best / optimum is kept
WITHIN = (1.10, 1.05, 1.02)
RANDOM_SEEDS = 200
# Measured by others on the same spaces by the same rules (20 seeds): best/optimum after 50, evaluations to 5 %.
PEERS = {
    "Optuna TPE": (1.162, "37"),
    "Kernel Tuner, adaptive tabu grey wolf": (1.158, "35"),
    "Kernel Tuner, particle swarm": (1.234, "83"),
    "random forest with expected improvement": (1.183, "44.5"),
    "random": (1.257, "> 200"),
    "another device's table from its best downwards": (1.055, "8"),
}


def tuned(space: Space, seed: int, prior_log2: Any = None) -> list[int]:
    """The rows that the tuner looks up, in order."""
    tuner = Tuner(space.parameters, space.codes, seed, prior_log2)
    rows = []
    for _ in range(min(BUDGET, len(space))):
        row = tuner.ask()
        known = float(space.time_ms[row])
        tuner.tell(row, None if np.isnan(known) else known)
        rows.append(row)
    return rows


def judged(space: Space, rows: Sequence[int]) -> dict[str, Any]:
    """Best / optimum after some evaluations (None while nothing worked), and evaluations until within some of it."""
    ratio = np.fmin.accumulate(space.time_ms[list(rows)]) / space.best_ms
    after = {str(n): float(ratio[n - 1]) if ratio[n - 1] > 0 else None for n in KEPT if n <= len(ratio)}
    hits = {f"{w:.2f}": np.flatnonzero(ratio <= w) for w in WITHIN}
    return {"after": after, "needed": {w: int(hit[0]) + 1 if len(hit) else None for w, hit in hits.items()}}


def prior_from(space: Space, other: Space) -> Any:
    rows = space.rows_in(other)
    return np.where(rows >= 0, np.log2(other.time_ms)[rows], np.nan)


def run(folder: Path, only: Sequence[str], seeds: range, again: bool) -> None:
    found: dict[str, Any] = {} if again or not RESULTS.exists() else json.loads(RESULTS.read_text())["spaces"]
    known = spaces.read_folder(folder)
    for space in known:
        if only and space.name not in only:
            continue
        own = found.setdefault(space.name, {"kernel": space.kernel, "device": space.device, "methods": {}})
        methods = own["methods"]
        for seed in range(RANDOM_SEEDS):
            rows = np.random.default_rng([seed, 1]).permutation(len(space))[:BUDGET]
            methods.setdefault("random", {}).setdefault(str(seed), judged(space, rows.tolist()))
        for seed in seeds:
            _once(methods, "tuner", seed, space, None)
        for other in known:
            if other.kernel == space.kernel and other.name != space.name:
                prior = prior_from(space, other)
                walk = np.argsort(np.where(np.isnan(prior), np.inf, prior), kind="stable")[:BUDGET]
                methods.setdefault(f"plain {other.name}", {})["0"] = judged(space, walk.tolist())
                _once(methods, f"warm {other.name}", 0, space, prior)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({"budget": BUDGET, "spaces": found}, indent=1) + "\n")
        print(space.name, *(f"{m}: {needed([own], m)} / {after([own], m):.3f}" for m in ("random", "tuner", "warm")))


def _once(methods: dict[str, Any], name: str, seed: int, space: Space, prior: Any) -> None:
    runs = methods.setdefault(name, {})
    if str(seed) not in runs:
        started = time.process_time()
        rows = tuned(space, seed, prior)
        runs[str(seed)] = judged(space, rows) | {"ms_each": 1e3 * (time.process_time() - started) / len(rows)}


def _runs(space: dict[str, Any], method: str) -> list[dict[str, Any]]:
    """Runs of a method on a space; of `warm` and `plain` those from every other device."""
    return [run for name, runs in space["methods"].items() if name.split()[0] == method for run in runs.values()]


def needed(chosen: Sequence[dict[str, Any]], method: str, within: str = "1.05") -> float:
    """Median over spaces of the median over runs; a run that never got there counts as infinite."""
    medians = [np.median([r["needed"][within] or np.inf for r in _runs(s, method)]) for s in chosen if _runs(s, method)]
    return float(np.median(medians)) if medians else float("nan")


def after(chosen: Sequence[dict[str, Any]], method: str, count: str = "50") -> float:
    """Geometric mean over spaces of the mean best / optimum over runs."""
    found = [[r["after"].get(count) or np.nan for r in _runs(s, method)] for s in chosen]
    means = [np.log(np.nanmean(values)) for values in found if not np.isnan(values).all()]
    return float(np.exp(np.mean(means))) if means else float("nan")


def page() -> None:
    found = json.loads(RESULTS.read_text())["spaces"]
    everything = list(found.values())
    seeds = min(len(s["methods"]["tuner"]) for s in everything)
    cost = np.mean([r["ms_each"] for s in everything for r in _runs(s, "tuner")])
    lines = [
        "# Tuning recorded spaces",
        "",
        "Made by `python -m benchmarks.tuning_spaces run FOLDER`; figures in `benchmarks/results/tuning_spaces.json`.",
        f"{len(found)} spaces, at least {seeds} seeds of the tuner, {RANDOM_SEEDS} of random; one evaluation is one",
        "configuration looked up, failed ones included. `warm` starts from the same kernel's times on another device,",
        "`plain` walks those from the best downwards without learning; both over every other device of the kernel.",
        f"A choice of the tuner takes {cost:.0f} ms on one core.",
        "",
        "| method | evaluations to 10 % | to 5 % | to 2 % | best / optimum after 20 | after 50 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for method in ("tuner", "random", "warm", "plain"):
        to = " | ".join(_count(needed(everything, method, f"{w:.2f}")) for w in WITHIN)
        lines.append(f"| {method} | {to} | {after(everything, method, '20'):.3f} | {after(everything, method):.3f} |")
    lines += ["", "Told by others for all eleven given spaces (20 seeds):", "", "| method | to 5 % | after 50 |"]
    lines += ["| --- | --- | --- |", *(f"| {name} | {to} | {ratio} |" for name, (ratio, to) in PEERS.items())]
    lines += ["", "Each space: evaluations to 5 % / best over optimum after 50.", ""]
    lines += ["| space | tuner | random | warm | plain |", "| --- | --- | --- | --- | --- |"]
    for name, space in found.items():
        cells = [
            f"{_count(needed([space], m))} / {after([space], m):.3f}" for m in ("tuner", "random", "warm", "plain")
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    PAGE.write_text("\n".join(lines) + "\n")


def _count(value: float) -> str:
    return f"> {BUDGET}" if np.isinf(value) else f"{value:g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("folder", type=Path, nargs="?", help="Kernel Tuner caches or tables, for run")
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--again", action="store_true")
    chosen = parser.parse_args()
    if chosen.what == "run":
        first, last = map(int, chosen.seeds.split(":"))
        with threadpool_limits(1):
            run(chosen.folder, chosen.only, range(first, last), chosen.again)
    page()


if __name__ == "__main__":
    main()
