"""The page on tuning given kernels, from what `benchmarks.start` measured."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from benchmarks.start import ARMS, MEASUREMENTS, figures_of

LEAST_GAIN, LEAST_RATIO = 1.10, 1.03


def write(result: Path, page: Path) -> None:
    """Write the page for a result file."""
    page.write_text(text(json.loads(result.read_text())))
    print(f"wrote {page}")


def text(results: dict[str, Any]) -> str:
    """The page in Markdown: what was verified, what the first pass came to, what is missing."""
    devices = sorted({found["device"] for found in results.values() if "device" in found})
    lines = [
        "# Tuning given kernels",
        "",
        "Made by `python -m benchmarks.start run` and then `page`; data in `benchmarks/results/start.json`. Kernels",
        "that a language model wrote to be as fast as it could, without seeing what tunes them, and frozen before",
        f"anything was measured ([list](../../benchmarks/start/README.md)), on {', '.join(devices)}. `knobs` is",
        f"`foretell search problem.py --start kernel.py --measurements {MEASUREMENTS}`; `random` draws from the same",
        "variations with the same budget. Builds that fail cost neither of them a measurement.",
        "",
    ]
    parts = (_verified(results), _earlier(results), _missing(results))
    return "\n".join([*lines, *("\n".join([*part, ""]) for part in parts)]).rstrip("\n") + "\n"


def _verified(results: dict[str, Any]) -> list[str]:
    rows = {name: figures for name, found in sorted(results.items()) if "knobs" in (figures := figures_of(found))}
    both = [row for row in rows.values() if "random" in row]
    gains = {arm: estimate([math.log(row[arm]) for row in rows.values() if arm in row]) for arm in ARMS}
    ratio = estimate([math.log(row["knobs"] / row["random"]) for row in both])
    seeds = sorted({row["seeds"] for row in both})
    lines = [
        f"## Verified: {len(rows)} of {len(results)} kernels",
        "",
        "After each arm, the given kernel and the winner were measured again, in turns; figures are ratios of the",
        f"medians of those ({_span(seeds)} with both arms). In brackets what 95 % of resamples of the kernels give.",
        "",
        "| figure | asked, of at least 12 kernels | measured |",
        "| --- | --- | --- |",
        f"| over the given kernel, `knobs` | {LEAST_GAIN:.2f} | {_bracketed(gains['knobs'])}, {len(rows)} kernels |",
        f"| over the given kernel, `random` | | {_bracketed(gains['random'])}, {len(both)} kernels |",
        f"| `knobs` / `random` | {LEAST_RATIO:.2f}, interval above 1 | {_bracketed(ratio)}, {len(both)} kernels |",
        "",
        "| kernel | combinations | `knobs` | `random` | failed of measured | changed |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    return [*lines, *(_row(name, results[name], row) for name, row in rows.items())]


def _earlier(results: dict[str, Any]) -> list[str]:
    """The pass after which `knobs` was changed: what it came to on the same kernels."""
    former = {name: {**found, "runs": found["earlier"]} for name, found in results.items() if found.get("earlier")}
    gain = estimate([math.log(figures_of(found)["knobs"]) for found in former.values()])
    return [
        "## Changed with these kernels in view",
        "",
        "In a first pass `knobs` tried 8 variations in one knob each before it asked its model; on `gated_rmsnorm`",
        "that left out the value that `random` won with. Now it tries 16. The first pass had",
        f"{_bracketed(gain)} on {len(former)} kernels. The kernels were frozen, this number was not: the figures",
        "above are not blind to it.",
    ]


def _missing(results: dict[str, Any]) -> list[str]:
    """What has no verified figure for both arms, and why as far as it is known."""
    lines = ["## Missing", ""]
    for name, found in sorted(results.items()):
        done = {run["arm"] for run in found.get("runs", ())}
        if done == set(ARMS):
            continue
        arms = " and ".join(f"`{arm}`" for arm in ARMS if arm not in done)
        start = found.get("kept", {}).get(found.get("start"))
        how = "was not measured" if start is None else "worked" if start[0] == "ok" else f"ended as {start[0]}"
        lines.append(f"- `{name}`: no verified {arms}; the given kernel {how}{_reason(found)}")
    if len(lines) == 2:
        return [*lines, "Nothing."]
    return lines


def _reason(found: dict[str, Any]) -> str:
    return f" ({found['trouble'].strip()})" if found.get("trouble") else ""


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
