"""The page on tuning given kernels, from what `benchmarks.start` measured."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from benchmarks.start import ARMS, FINAL, MEASUREMENTS, figures_of

LEAST_GAIN, LEAST_RATIO = 1.10, 1.03


def write(result: Path, page: Path) -> None:
    """Write the page for a result file."""
    page.write_text(text(json.loads(result.read_text())))
    print(f"wrote {page}")


def text(results: dict[str, Any]) -> str:
    """The page in Markdown."""
    rows = {name: figures for name, found in sorted(results.items()) if "knobs" in (figures := figures_of(found))}
    both = [row for row in rows.values() if "random" in row]
    gains = {arm: estimate([math.log(row[arm]) for row in rows.values() if arm in row]) for arm in ARMS}
    ratio = estimate([math.log(row["knobs"] / row["random"]) for row in both])
    devices = sorted({found["device"] for found in results.values() if "device" in found})
    seeds = sorted({row["seeds"] for row in rows.values()})
    missing = {name: found.get("trouble", "not finished") for name, found in results.items() if name not in rows}
    lines = [
        "# Tuning given kernels",
        "",
        "Made by `python -m benchmarks.start run` and then `page`; data in `benchmarks/results/start.json`.",
        f"{len(rows)} kernels that a language model wrote to be as fast as it could, without seeing what tunes them,",
        f"and frozen before anything was measured ([list](../../benchmarks/start/README.md)), on {', '.join(devices)}.",
        f"`knobs` is `foretell search problem.py --start kernel.py --measurements {MEASUREMENTS}`; `random` draws from",
        "the same variations with the same budget. Builds that fail cost neither of them a measurement. After the",
        f"searches, the given kernel and each arm's winner were measured {FINAL} times more, in turns; figures are",
        f"ratios of the medians of those, {_span(seeds)} per kernel (geometric mean). In brackets what 95 % of",
        "resamples of the kernels give.",
        "",
        "| figure | asked | measured |",
        "| --- | --- | --- |",
        f"| speedup over the given kernel, `knobs` | {LEAST_GAIN:.2f} | {_bracketed(gains['knobs'])} |",
        f"| speedup over the given kernel, `random` ({len(both)} kernels) | | {_bracketed(gains['random'])} |",
        f"| `knobs` / `random` | {LEAST_RATIO:.2f}, interval above 1 | {_bracketed(ratio)} |",
        "",
        "| kernel | combinations | `knobs` | `random` | failed of measured | changed |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [_row(name, results[name], row) for name, row in rows.items()]
    if missing:
        lines += [
            "",
            "Without figures: " + "; ".join(f"`{name}` ({why})" for name, why in sorted(missing.items())) + ".",
        ]
    return "\n".join(lines) + "\n"


def estimate(logs: list[float]) -> tuple[float, float, float] | None:
    """Geometric mean with its bootstrap interval over kernels; None of nothing."""
    import numpy as np

    from foretell.belief.bootstrap import bootstrap

    if not logs:
        return None
    found = bootstrap(lambda values: float(np.mean(values)), logs)
    return math.exp(found.value), math.exp(found.low), math.exp(found.high)


def _row(name: str, found: dict[str, Any], row: dict[str, Any]) -> str:
    runs = [run for run in found["runs"] if run["arm"] == "knobs"]
    failed = sum(sum(run["failures"].values()) - run["unbuilt"] for run in runs)
    measured = sum(run["measured"] for run in runs)
    base, knobs = runs[0]["base"], runs[0]["knobs"]
    changed = [f"{key} {base[key]} → {value}" for key, value in (knobs or base).items() if value != base[key]]
    words = ", ".join(changed) or ("nothing" if runs[0]["best"] == found["start"] else "the first configuration")
    size = f"{runs[0]['size']:,}"
    random = f"{row['random']:.3f}" if "random" in row else "–"
    return f"| `{name}` | {size} | {row['knobs']:.3f} | {random} | {failed} of {measured} | {words} |"


def _bracketed(found: tuple[float, float, float] | None) -> str:
    return "–" if found is None else f"**{found[0]:.3f}** [{found[1]:.3f}, {found[2]:.3f}]"


def _span(seeds: list[int]) -> str:
    low, high = (seeds[0], seeds[-1]) if seeds else (0, 0)
    return f"{low} seed{'s' if low != 1 else ''}" if low == high else f"{low} to {high} seeds"
