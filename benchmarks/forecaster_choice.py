"""Why `online` is a Gaussian process: it (over the roofline) and tree ensembles on the same measured candidates.

    python -m benchmarks.forecaster_choice [--catalogue runs/cpu_policies/catalogue.sqlite]

Takes the catalogue that `benchmarks.cpu_policies` leaves behind. For every task, in random order, each model learns
from the first n candidates and forecasts the rest; three repeats. Writes benchmarks/results/forecaster_choice.json and
docs/results/forecaster_choice.md.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from foretell.belief import Forecast, crps_each, spearman
from foretell.kernels.bench.cpu_device import detect_cpu
from foretell.kernels.forecast import make
from foretell.kernels.forecast.columns import Columns, Row
from foretell.kernels.forecast.static import describe
from foretell.kernels.library import tasks
from foretell.kernels.measurement import Measurement
from foretell.kernels.protocols import Subject
from foretell.kernels.store.catalogue import Catalogue

SIZES = (10, 20, 40, 80)
REPEATS = 3
ONLINE = "online:roofline"  # what knows nothing but the run
MODELS = (ONLINE, "extra trees", "random forest", "constant")
Pair = tuple[Subject, Measurement]


def read(path: Path) -> dict[str, list[Pair]]:
    """Correct candidates by task, one row each."""
    catalogue, device = Catalogue(path), detect_cpu()
    found = {name: [pair for pair in catalogue.lessons(task, device) if pair[1].ok] for name, task in tasks().items()}
    return {name: pairs for name, pairs in found.items() if pairs}


def forecasts(model: str, task: str, known: list[Pair], asked: list[Subject], seed: int) -> list[Forecast]:
    device = detect_cpu()
    truths = np.array([outcome.log2_speedup for _, outcome in known])
    if model == ONLINE:
        forecaster = make(ONLINE, seed)
        forecaster.learn(tasks()[task], device, known)
        return forecaster.forecast(tasks()[task], device, asked)
    if model == "constant":
        return [Forecast.from_normal(float(truths.mean()), float(truths.std()) + 0.05, 0.1)] * len(asked)
    columns = Columns.fit([_row(subject) for subject, _ in known], seed)
    kind = ExtraTreesRegressor if model == "extra trees" else RandomForestRegressor
    forest = kind(n_estimators=200, min_samples_leaf=2, random_state=seed, n_jobs=1)
    forest.fit(columns.features([_row(subject) for subject, _ in known]), truths)
    wanted = columns.features([_row(subject) for subject in asked])
    each = np.array([tree.predict(wanted) for tree in forest.estimators_])
    means, stds = each.mean(axis=0), np.hypot(each.std(axis=0), 0.15)
    return [Forecast.from_normal(float(m), float(s), 0.1) for m, s in zip(means, stds, strict=True)]


def _row(subject: Subject) -> Row:
    build = subject.build.features if subject.build else {}
    return Row(describe(subject.candidate.source, subject.candidate.language), build)


def score(made: list[Forecast], truths: np.ndarray) -> dict[str, float]:
    inside = [low <= t <= high for (low, high), t in zip((f.interval(0.8) for f in made), truths, strict=True)]
    medians = np.array([f.median for f in made])
    rank = spearman(medians, truths) if np.ptp(medians) > 0 else 0.0
    return {"spearman": rank, "crps": float(np.mean(crps_each(made, truths))), "coverage": float(np.mean(inside))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalogue", type=Path, default=Path("runs/cpu_policies/catalogue.sqlite"))
    data = read(parser.parse_args().catalogue)
    rows: list[dict[str, Any]] = []
    for task, pairs in data.items():
        for repeat in range(REPEATS):
            order = np.random.default_rng([repeat, len(pairs)]).permutation(len(pairs))
            for n in (n for n in SIZES if n + 20 <= len(pairs)):
                known = [pairs[i] for i in order[:n]]
                rest = [pairs[i] for i in order[n:]]
                truths = np.array([outcome.log2_speedup for _, outcome in rest])
                for model in MODELS:
                    started = time.perf_counter()
                    made = forecasts(model, task, known, [subject for subject, _ in rest], repeat)
                    seconds = time.perf_counter() - started
                    rows.append({"task": task, "repeat": repeat, "n": n, "model": model, "seconds": seconds}
                                | score(made, truths))  # fmt: skip
        print(task, len(pairs), flush=True)
    counts = {task: len(pairs) for task, pairs in data.items()}
    result = {
        "candidates": counts,
        "rows": [{k: round(v, 4) if isinstance(v, float) else v for k, v in r.items()} for r in rows],
    }
    Path("benchmarks/results/forecaster_choice.json").write_text(json.dumps(result, separators=(",", ":")) + "\n")
    Path("docs/results/forecaster_choice.md").write_text(page(result))
    print(page(result))


def page(result: dict[str, Any]) -> str:
    """Means over tasks and repeats."""
    lines = [
        "# Which model forecasts best from a run's own measurements",
        "",
        "Made by `python -m benchmarks.forecaster_choice`; data in `benchmarks/results/forecaster_choice.json`.",
        f"{len(result['candidates'])} CPU tasks, {sum(result['candidates'].values())} correct candidates measured by "
        f"`benchmarks.cpu_policies`; learn from n in random order, forecast the rest; {REPEATS} repeats.",
        "Cells: Spearman / CRPS over log2 speedup / coverage of the 80 % interval. All models get the same static and",
        "build features; `online` also uses token shingles, the reference as a known point and a spread set by its",
        "own one-step-ahead errors. A constant ranks nothing.",
        "",
        "| model | " + " | ".join(f"n = {n}" for n in SIZES) + " | seconds (learn and forecast) |",
        "| --- |" + " --- |" * (len(SIZES) + 1),
    ]
    for model in MODELS:
        cells = []
        for n in SIZES:
            chosen = [r for r in result["rows"] if r["model"] == model and r["n"] == n]
            means = [np.mean([r[key] for r in chosen]) for key in ("spearman", "crps", "coverage")]
            cells.append("{:.2f} / {:.3f} / {:.2f}".format(*means))
        seconds = np.mean([r["seconds"] for r in result["rows"] if r["model"] == model])
        lines.append(f"| {model} | " + " | ".join(cells) + f" | {seconds:.2f} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
