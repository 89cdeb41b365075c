"""What each group of columns is worth to `features`: models trained without it, on what was kept from them all.

    python -m benchmarks.ablations run     # about ten minutes on two quiet cores; --jobs N shares it
    python -m benchmarks.ablations page    # docs/results/ablations.md from the JSON

All models get the same, smaller effort than the shipped one; after the build, H200 rows only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.forecasters import ASKED, LABELS, SPLITS, cell
from foretell.kernels.corpus import table
from foretell.kernels.devices import described
from foretell.kernels.evaluate.data import read
from foretell.kernels.evaluate.judge import judge
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.forecast.trained import TrainedForecaster
from foretell.train.features import Effort, train

RESULTS = Path("benchmarks/results/ablations.json")
PAGE = Path("docs/results/ablations.md")
CORPUS = Path("data/corpus_gpu.parquet")
EFFORT = Effort(speed=80, error=30, failure=50, folds=2)
RESAMPLES = 200
SHOWN = (*ASKED, "crps")

_DRY = ("build.dry_", "relative.time_", "relative.reread", "relative.rewritten")
_DEVICE = ("relative.", "task.floor_us", "task.headroom")
VARIANTS: Mapping[str, Callable[[str], bool]] = {
    "all columns": lambda name: True,
    "without the dry run": lambda name: not name.startswith(_DRY),
    "without all of the build": lambda name: name.startswith(("source.", "task.")),
    "without comparisons": lambda name: not name.startswith("relative."),
    "without the device's numbers": lambda name: not name.startswith(_DEVICE),
    "without the source": lambda name: not name.startswith("source."),
}


def run(jobs: int) -> None:
    rows = [r for r in table.read() if r["kind"] == "gpu"]
    devices = {name: described(name) for name in {r["device"] for r in rows}}
    data, found, effort = read(CORPUS), [], replace(EFFORT, jobs=jobs)
    for variant, wanted in VARIANTS.items():
        teller = TrainedForecaster(train(rows, devices, 0, effort, lambda words: None, wanted, tiers=("build",)))
        for split in SPLITS:
            pools = [_built(pool) for pool in data.pools(split, "build")]
            result = assess(judge(teller, pools, 0, 0), variant, split, 0, RESAMPLES).to_dict()
            figures = {name: result["figures"][name] for name in SHOWN}
            found.append({"variant": variant, "split": split, "figures": figures})
            print(variant, split, {k: round(v["value"], 3) for k, v in figures.items()}, flush=True)
    RESULTS.write_text(json.dumps({"effort": vars(EFFORT), "rows": found}, indent=1) + "\n")


def _built(pool: Pool) -> Pool:
    """The candidates with features of a build, which nearly all have that compile."""
    return pool.take(i for i, subject in enumerate(pool.subjects) if subject.build and subject.build.features)


_INTRODUCTION = """# What each group of columns is worth

Made by `python -m benchmarks.ablations run`; figures in `benchmarks/results/ablations.json`. Models trained alike but
for the columns they see, with less effort than the shipped one, judged on the [corpus](corpus.md)'s held-out rows after
the build. What does not compile is left out, since all would call it a failure; so the AUROC is of failures that the
build does not show. The [dry run](../dry_run.md) follows a kernel's PTX without a GPU; comparisons set a launch against
what the device holds and the task needs; the device's numbers are those comparisons, the floor and the headroom (what
is forecast is still the time over the floor). Intervals are 95 %, bootstrapped over operations."""


def page() -> None:
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text())["rows"]
    lines = [_INTRODUCTION]
    for split in SPLITS:
        lines += ["", f"## {split}", "", "| | " + " | ".join(LABELS[n] for n in SHOWN) + " |"]
        lines.append("| --- " * (len(SHOWN) + 1) + "|")
        for row in rows:
            if row["split"] == split:
                cells = " | ".join(cell(row["figures"], name, interval=True) for name in SHOWN)
                lines.append(f"| {row['variant']} | {cells} |")
    PAGE.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.what == "run":
        run(chosen.jobs)
    page()


if __name__ == "__main__":
    main()
