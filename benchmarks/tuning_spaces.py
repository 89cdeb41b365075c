"""How few measurements the tuner needs on recorded tuning spaces, beside random and beside published tuners.

    python -m benchmarks.tuning_spaces run FOLDER [--only convolution_milo__a100 ...] [--seeds 100:130]
    python -m benchmarks.tuning_spaces page     # docs/results/tuning_spaces.md from the JSON

`run` may be called in pieces: what is in benchmarks/results/tuning_spaces.json already is kept and not run again
(`--again` starts anew). One evaluation is one row looked up, failed rows included; nothing is looked up twice. The
tuner's settings were chosen on seeds below 36 and from 200 on; the default seeds are others.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
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
METHODS = ("tuner", "random", "warm", "shaken", "plain")
SHAKEN = 5  # warm starts from each device with its times changed at random by 1 %, of SHAKEN_BUDGET evaluations
SHAKEN_BUDGET = 50
RESAMPLES = 2000
# Measured by others on the same spaces by the same rules (20 seeds): best/optimum after 50, evaluations to 5 %.
PEERS = {
    "Optuna TPE": (1.162, "37"),
    "Kernel Tuner, adaptive tabu grey wolf": (1.158, "35"),
    "Kernel Tuner, particle swarm": (1.234, "83"),
    "random forest with expected improvement": (1.183, "44.5"),
    "random": (1.257, "> 200"),
    "another device's table from its best downwards": (1.055, "8"),
}


def tuned(space: Space, seed: int, prior_log2: Any = None, budget: int | None = None) -> list[int]:
    """The rows that the tuner looks up, in order."""
    tuner = Tuner(space.parameters, space.codes, seed, prior_log2)
    rows = []
    for _ in range(min(budget or BUDGET, len(space))):
        row = tuner.ask()
        known = float(space.time_ms[row])
        tuner.tell(row, None if np.isnan(known) else known)
        rows.append(row)
    return rows


def judged(space: Space, rows: Sequence[int]) -> dict[str, Any]:
    """Best / optimum after some evaluations (None while nothing worked), and evaluations until within some of it."""
    ratio = np.fmin.accumulate(space.time_ms[list(rows)]) / space.best_ms
    after = {str(n): round(float(ratio[n - 1]), 5) if ratio[n - 1] > 0 else None for n in KEPT if n <= len(ratio)}
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
                for seed in range(SHAKEN):
                    noise = np.random.default_rng([seed, 2]).normal(0.0, np.log2(1.01), len(prior))
                    _once(methods, f"shaken {other.name}", seed, space, prior + noise, SHAKEN_BUDGET)
        _write(found)
        print(space.name, *(f"{m}: {needed([own], m)} / {after([own], m):.3f}" for m in ("random", "tuner", "warm")))


def _once(methods: dict[str, Any], name: str, seed: int, space: Space, prior: Any, budget: int | None = None) -> None:
    runs = methods.setdefault(name, {})
    if str(seed) not in runs:
        started = time.process_time()
        rows = tuned(space, seed, prior, budget)
        runs[str(seed)] = judged(space, rows) | {"ms_each": round(1e3 * (time.process_time() - started) / len(rows), 2)}


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


def beaten(space: dict[str, Any], method: str, count: str = "50") -> float:
    """How often a run of a method is better than one of random after so many evaluations; as good counts half."""
    own, chance = (
        np.array([r["after"].get(count) or np.inf for r in _runs(space, m)], dtype=float) for m in (method, "random")
    )
    return float(np.mean((own[:, None] < chance) + 0.5 * (own[:, None] == chance))) if len(own) else float("nan")


def _within(chosen: Sequence[dict[str, Any]], statistic: Callable[..., float], method: str) -> list[float]:
    """What 95 % of the resamples of the spaces give for `needed` or `after`."""
    each = np.array([statistic([space], method) for space in chosen if _runs(space, method)])
    if not len(each):
        return []
    drawn = each[np.random.default_rng(0).integers(0, len(each), (RESAMPLES, len(each)))]
    found = np.median(drawn, axis=1) if statistic is needed else np.exp(np.log(drawn).mean(axis=1))
    return [float(x) for x in np.quantile(found, [0.025, 0.975], method="nearest")]


def _write(found: dict[str, Any]) -> None:
    """The figures first, then every run, a line for each method of each space."""
    everything = list(found.values())
    summary = {
        method: {
            "needed": {f"{w:.2f}": _finite(needed(everything, method, f"{w:.2f}")) for w in WITHIN},
            "after": {str(n): _finite(after(everything, method, str(n))) for n in KEPT},
            "needed_1.05_95": [_finite(x) for x in _within(everything, needed, method)],
            "after_50_95": [_finite(x) for x in _within(everything, after, method)],
        }
        for method in METHODS
    }
    each = {
        name: {
            method: {
                "runs": len(_runs(space, method)),
                "needed_1.05": _finite(needed([space], method)),
                "after_50": _finite(after([space], method)),
                "random_beaten_50": _finite(beaten(space, method)),
            }
            for method in METHODS
        }
        for name, space in found.items()
    }
    head = {"budget": BUDGET, "infinite": "null: not within the budget", "summary": summary, "each": each}
    body = ",\n".join(
        f' {json.dumps(name)}: {{"kernel": {json.dumps(space["kernel"])}, "device": {json.dumps(space["device"])}, '
        + '"methods": {\n'
        + ",\n".join(f"  {json.dumps(method)}: {json.dumps(runs)}" for method, runs in space["methods"].items())
        + "}}"
        for name, space in found.items()
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(head, indent=1)[:-2] + ',\n "spaces": {\n' + body + "\n}}\n")


def _finite(value: float) -> float | None:
    return round(value, 4) if np.isfinite(value) else None


def page() -> None:
    found = json.loads(RESULTS.read_text())["spaces"]
    everything = list(found.values())
    seeds = [int(seed) for space in everything for seed in space["methods"]["tuner"]]
    cost = np.mean([r["ms_each"] for s in everything for r in _runs(s, "tuner")])
    lines = [
        "# Tuning recorded spaces",
        "",
        "Made by `python -m benchmarks.tuning_spaces run FOLDER` and then `page`; figures and every run in",
        f"`benchmarks/results/tuning_spaces.json`. {len(found)} spaces, {BUDGET} evaluations each; the tuner with",
        f"seeds {min(seeds)} to {max(seeds)}, random with {RANDOM_SEEDS}; an evaluation is one configuration looked up",
        "(failed ones too). `warm` starts from the same kernel's times on another device, `plain` walks those from",
        "the best downwards without learning; both over every other device of the kernel, one run each as nothing is",
        "drawn. `shaken` is `warm` from times changed at random by 1 %, which should make no difference: what it does",
        f'make is luck ({SHAKEN} runs each of {SHAKEN_BUDGET} evaluations). "never" is not within the evaluations run.',
        f"A choice of the tuner took {cost:.0f} ms on one core.",
        "",
        "Evaluations are the median over spaces of the median over runs, ratios the geometric mean over spaces of the",
        "mean over runs; in brackets what 95 % of resamples of the spaces give. The settings of the tuner were chosen",
        "on these spaces with other seeds; those of the warm start on these very pairs: elsewhere expect less of it.",
        "",
        "| method | evaluations to 10 % | to 5 % | to 2 % | best / optimum after 20 | after 50 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for method in METHODS:
        to = [_count(needed(everything, method, f"{w:.2f}")) for w in WITHIN]
        to[1] += " " + _brackets([_count(x) for x in _within(everything, needed, method)])
        ratio = f"{after(everything, method):.3f} "
        ratio += _brackets([f"{x:.3f}" for x in _within(everything, after, method)])
        lines.append(f"| {method} | {' | '.join(to)} | {after(everything, method, '20'):.3f} | {ratio} |")
    lines += ["", "Peers, as told with the eleven spaces of two kernels (20 seeds, the same rules):", ""]
    lines += ["| method | to 5 % | after 50 |", "| --- | --- | --- |"]
    lines += [f"| {name} | {to} | {ratio} |" for name, (ratio, to) in PEERS.items()]
    lines += [
        "",
        "Each space: evaluations to 5 % / best over optimum after 50, and how often a run of the tuner is better",
    ]
    lines += ["than one of random after 50 (as good counts half).", ""]
    lines += ["| space | tuner | random | better than random | warm | shaken | plain |", "|" + " --- |" * 7]
    for name, space in found.items():
        cells = [_cell(space, m) for m in METHODS]
        cells.insert(2, f"{100 * beaten(space, 'tuner'):.0f} %")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "Each warm start: evaluations to 5 % / best over optimum after 50.", ""]
    lines += ["| space | from | warm | shaken | plain |", "|" + " --- |" * 5]
    for name, space in found.items():
        for method in space["methods"]:
            if method.startswith("warm "):
                other = method.removeprefix("warm ")
                found_by = [
                    _cell({"methods": {m: space["methods"][f"{m} {other}"]}}, m) for m in ("warm", "shaken", "plain")
                ]
                lines.append(f"| {name} | {other} | {' | '.join(found_by)} |")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(lines) + "\n")


def _cell(space: dict[str, Any], method: str) -> str:
    return f"{_count(needed([space], method))} / {after([space], method):.3f}" if _runs(space, method) else ""


def _brackets(ends: Sequence[str]) -> str:
    return f"[{', '.join(ends)}]"


def _count(value: float) -> str:
    return "never" if np.isinf(value) else f"{value:g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("folder", type=Path, nargs="?", help="Kernel Tuner caches or tables, for run")
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--seeds", default="100:130")
    parser.add_argument("--again", action="store_true")
    chosen = parser.parse_args()
    if chosen.what == "run":
        first, last = map(int, chosen.seeds.split(":"))
        with threadpool_limits(1):
            run(chosen.folder, chosen.only, range(first, last), chosen.again)
    page()


if __name__ == "__main__":
    main()
