"""What learning in a run is worth: `online` against its base and against learning from nothing, on recorded pools.

    python -m benchmarks.online run     # figures to benchmarks/results/online.json, then the page; ten minutes or so
    python -m benchmarks.online page    # docs/results/online.md from the JSON

From each pool of the held-out splits some random candidates are shown with their measurements; the others are judged.
The same draws serve all forecasters.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from foretell.kernels.evaluate.data import read
from foretell.kernels.evaluate.judge import judge
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.forecast import make

RESULTS = Path("benchmarks/results/online.json")
PAGE = Path("docs/results/online.md")
KINDS = ("gpu", "cpu")
SPLITS = ("held_operation", "held_family")
SHOWN = (5, 20, 60)
SEEDS = (0, 1, 2)
FORECASTERS = ("features", "online:roofline", "online", "cascade")
FIGURES = {
    "spearman": "Spearman",
    "recovery_10": "best of top 10 %",
    "crps": "CRPS (log2)",
    "covered_80": "80 % held",
    "failure_auroc_built": "failure AUROC (built)",
    "ece_outcomes": "ECE",
}


def run() -> None:
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        data = read(Path(f"data/corpus_{kind}.parquet"))
        for split in SPLITS:
            pools = data.pools(split, "build")
            for shown in SHOWN:
                for name in FORECASTERS:
                    row = {"kind": kind, "split": split, "shown": shown, "forecaster": name}
                    results = [assess(judge(make(name, s), pools, shown, s), name, split, s, 1) for s in SEEDS]
                    row |= {key: [r.figures[key].value for r in results] for key in FIGURES}
                    row |= {"operations": results[0].operations, "candidates": results[0].candidates}
                    row["ms"] = 1e3 * float(np.mean([r.seconds_each for r in results]))
                    rows.append(row)
                    print(kind, split, shown, name, {k: round(float(np.mean(row[k])), 3) for k in FIGURES}, flush=True)
    RESULTS.write_text(json.dumps({"seeds": SEEDS, "rows": rows}, indent=1) + "\n")


def page() -> None:
    rows = json.loads(RESULTS.read_text())["rows"]
    lines = [
        "# Learning in a run",
        "",
        "Made by `python -m benchmarks.online run`; figures in `benchmarks/results/online.json`, their meaning in",
        "[docs/evaluation.md](../evaluation.md). Of each pool of the [corpus](corpus.md) that no training saw, 5, 20",
        "or 60 random candidates are shown with their measurements and the rest is judged, after the build; means over",
        f"{len(SEEDS)} draws, the lowest and the highest in brackets. `features` is the shipped model and learns only",
        "the reference's times; `online:roofline` learns from the run alone; `online` corrects `features` by what",
        "the run shows; `cascade` asks `online` where `features` is in doubt (here almost always).",
        "The settings of `online` were chosen on operations of the training split, over a model blind to them.",
    ]
    for kind in KINDS:
        for split in SPLITS:
            own = [r for r in rows if (r["kind"], r["split"]) == (kind, split)]
            lines += [
                "",
                f"## {kind.upper()}, {split}: {own[0]['operations']} operations",
                "",
                "| shown | forecaster | " + " | ".join(FIGURES.values()) + " |",
                "| --- | --- |" + " --- |" * len(FIGURES),
            ]
            for row in own:
                cells = " | ".join(_cell(row[key]) for key in FIGURES)
                lines.append(f"| {row['shown']} | `{row['forecaster']}` | {cells} |")
    PAGE.write_text("\n".join(lines) + "\n")


def _cell(values: list[float]) -> str:
    return f"{np.mean(values):.3f} [{min(values):.2f}, {max(values):.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "page"))
    if parser.parse_args().what == "run":
        run()
    page()


if __name__ == "__main__":
    main()
