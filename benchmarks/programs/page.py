"""docs/results/programs.md from benchmarks/results/programs.json and library_calls.json.

python -m benchmarks.programs.page
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS, CALLS = Path("benchmarks/results/programs.json"), Path("benchmarks/results/library_calls.json")
PAGE = Path("docs/results/programs.md")
# Figure, key, how it is shown, what is asked of held-out problems.
ROWS = (
    ("correct candidates with a whole-program estimate", "with_program", "{:.0%}", "≥ 85 %"),
    ("pairs > 10 % apart in the right order (macro over cells)", "pairs_right", "{:.2f}", "≥ 0.80"),
    ("first pick / best of the cell", "first_pick", "{:.2f}", "≥ 0.92"),
    ("Spearman within cells of three or more", "spearman", "{:.2f}", ""),
    ("median absolute error of candidate time, doublings", "median_error_log2", "{:.2f}", "≤ 0.7"),
    ("median error of candidate time, doublings, with sign", "median_off_log2", "{:+.2f}", ""),
    ("median absolute error of log2 speedup", "ratio_median_error_log2", "{:.2f}", ""),
    ("coverage of 80 % intervals", "coverage_80", "{:.2f}", "0.80"),
    ("median width of 80 % intervals, doublings", "median_width_80_log2", "{:.1f}", "≤ 2.5"),
    ("median error of reference time", "reference_median_error", "{:.0%}", "≤ 40 %"),
)


def shown(figures: Mapping[str, Any], key: str, form: str) -> str:
    value = figures.get(key)
    return "–" if value is None else form.format(value)


def table(groups: Mapping[str, Mapping[str, Any]], name: str) -> list[str]:
    """Figures by group."""
    lines = [
        f"| {name} | rows | recorded | cells | pairs | first pick | error, doublings | with sign | reference error |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key, one in groups.items():
        cells = (
            ("with_program", "{:.0%}"), ("cells", "{}"), ("pairs_right", "{:.2f}"), ("first_pick", "{:.2f}"),
            ("median_error_log2", "{:.2f}"), ("median_off_log2", "{:+.2f}"), ("reference_median_error", "{:.0%}"),
        )  # fmt: skip
        lines.append(f"| {key} | {one['rows']} | " + " | ".join(shown(one, *cell) for cell in cells) + " |")
    return lines


def page(found: Mapping[str, Any], calls: Mapping[str, Any]) -> str:
    every = found["all"]
    lines = [
        "# Forecasting whole programs",
        "",
        "Made by `python -m benchmarks.programs.page`; how it works: [programs](../programs.md). **Development",
        "problems only**: the held-out half of the shared table (`benchmarks/programs/split.json`) has not been looked",
        "at. Times of the table are eager, so forecasts of `eager_us` are compared; constants that all kernels share",
        "were set on these rows, so held-out figures will be lower.",
        f"{every['rows']} correct rows of {found['problems']} problems were recorded so far. Most are the fastest and",
        "the slowest of their cell, as `record --extremes` takes them but drawn with another seed. Those two are",
        "easier to order than any two, so pairs and first pick are flattered, and so few cells say little. Constants",
        "of times were set while 39 of these rows had been seen, those of doubt while 56 had.",
        "",
        "| figure | development | asked, held-out |",
        "| --- | --- | --- |",
        *(f"| {label} | {shown(every, key, form)} | {asked} |" for label, key, form, asked in ROWS),
        "",
        f"Cells with two or more timed candidates: {every['cells']}; with pairs more than 10 % apart: "
        f"{every['cells_with_pairs']}; with a rank correlation: {every['cells_with_ranks']}.",
    ]
    for key, name in (("by_family", "family"), ("by_gpu", "GPU"), ("by_dataset", "data set"), ("by_bound", "bound by")):
        lines += ["", f"## By {name}", "", *table(found[key], name)]
    lines += [
        "",
        "## Library calls",
        "",
        f"{calls['calls']} calls on one {calls['device']} (device time, cold cache), left out in five folds. The",
        f"median error over all calls is **{calls['median_error']:.0%}** (asked: 15 %). Width, ridge",
        "and number of centres were chosen on the same folds.",
        "",
        "| class | calls | roofline alone, median error | model, median error | 90th percentile |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind, one in calls["classes"].items():
        lines.append(
            f"| {kind} | {one['calls']} | {one['roofline_median_error']:.0%} | {one['median_error']:.0%} | "
            f"{one['p90_error']:.0%} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    PAGE.write_text(page(json.loads(RESULTS.read_text()), json.loads(CALLS.read_text())))


if __name__ == "__main__":
    main()
