"""The page of an evaluation: how forecasters did on recorded measurements, as one self-contained HTML file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from foretell.belief import Estimate
from foretell.kernels.evaluate.controls import CONTROLS
from foretell.kernels.evaluate.figures import FIGURES, Figure
from foretell.kernels.evaluate.metrics import FEWEST
from foretell.kernels.evaluate.result import Result
from foretell.report.curves import Series, budget, square
from foretell.report.numbers import count, percent, seconds
from foretell.report.write import write_whole

HUES = 6  # lines that the style sheet can tell apart
_POOL_FIGURES = ("spearman", "recovery_5")
_SPLITS = {
    "held_operation": "Operations never seen in training",
    "held_family": "Families never seen in training",
    "held_written": "Kernels written by a language model",
    "train": "Training rows",
    "near": "Near-duplicates of held-out rows",
    "all": "All rows",
}


@dataclass(frozen=True)
class Cell:
    """A value as printed, with its interval; `best` marks the forecaster that does best."""

    value: str
    interval: str = ""
    best: bool = False


@dataclass(frozen=True)
class Line:
    """One line of the table: a figure, and a cell for each forecaster."""

    label: str
    hint: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Part:
    """One split: its charts as SVG, its figures by theme, and its pools."""

    title: str
    name: str
    counts: str
    names: tuple[str, ...]
    charts: tuple[tuple[str, str], ...]
    themes: tuple[tuple[str, tuple[Line, ...]], ...]
    pools: tuple[Line, ...]


def best(figure: Figure, values: Sequence[float]) -> frozenset[int]:
    """Which values are best; none where there is no better or worse, or no two values that differ."""
    known = [value for value in values if not math.isnan(value)]
    if len(set(known)) < 2 or (figure.better == "even" and figure.right is None):
        return frozenset()
    right = {"high": math.inf, "low": -math.inf}.get(figure.better, figure.right or 0.0)
    nearest = max(known) if right == math.inf else min(known, key=lambda v: v if right == -math.inf else abs(v - right))
    return frozenset(i for i, value in enumerate(values) if value == nearest)


def shown(estimate: Estimate) -> tuple[str, str]:
    """A figure and its interval as printed: three decimals, dashes where there is none."""
    if math.isnan(estimate.value):
        return "–", ""
    interval = "–" if math.isnan(estimate.low) else f"{estimate.low:.3f} to {estimate.high:.3f}"
    return f"{estimate.value:.3f}", interval


def hue(names: Sequence[str], name: str) -> str:
    """The class that paints a forecaster: controls are grey, the others have a colour each."""
    if name in CONTROLS:
        return f"control c{CONTROLS.index(name)}"
    return f"s{[n for n in names if n not in CONTROLS].index(name) % HUES}"


def parts(results: Sequence[Result]) -> list[Part]:
    """The page's parts, one for each split, in the order in which splits occur."""
    splits = list(dict.fromkeys(result.split for result in results))
    return [_part(k, [r for r in results if r.split == split]) for k, split in enumerate(splits)]


def _part(k: int, results: Sequence[Result]) -> Part:
    one = results[0]
    ranked = f"{one.ranked_pools} of {count(one.pools, 'pool')} can be ranked"
    counts = (
        f"{count(one.candidates, 'candidate')} of {count(one.operations, 'operation')}, "
        f"{count(one.failures, 'failure')}; {ranked}"
    )
    themes: dict[str, list[Line]] = {}
    for name, figure in FIGURES.items():
        estimates = [r.figures[name] for r in results]
        ahead = best(figure, [e.value for e in estimates])
        cells = tuple(Cell(*shown(e), i in ahead) for i, e in enumerate(estimates))
        themes.setdefault(figure.group, []).append(Line(figure.label, figure.hint, cells))
    themes["Cost"] = [Line("time a forecast", "", tuple(Cell(seconds(r.seconds_each)) for r in results))]
    if any(r.troubles for r in results):
        cells = tuple(Cell(percent(r.troubles_share), _told(r.troubles)) for r in results)
        themes["Cost"].append(Line("forecasts in trouble", "no answer of its own", cells))
    return Part(
        title=_SPLITS.get(one.split, one.split),
        name=one.split,
        counts=counts,
        names=tuple(r.forecaster for r in results),
        charts=tuple(_charts(k, results)),
        themes=tuple((theme, tuple(lines)) for theme, lines in themes.items()),
        pools=tuple(_pool_lines(results)),
    )


def _told(troubles: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(troubles.items()))


def _charts(k: int, results: Sequence[Result]) -> list[tuple[str, str]]:
    """(SVG, caption) of each chart."""
    said = "{stated:.0%} stated, {came:.0%} came true, n = {count}"
    outcome = _series(results, "outcome_reliability", "stated", "came", said)
    failure = _series(results, "failure_reliability", "stated", "came", said)
    held = _series(results, "coverage", "promised", "held", "{promised:.0%} interval held {held:.0%}")
    found = _series(results, "recovery", "measured", "recovered", "top {measured:.0%} reaches {recovered:.0%}")
    return [
        (
            square(f"outcome-{k}", "Reliability of the most likely outcome", "stated", "came true", outcome),
            "Reliability of the most likely of nine outcomes (eight bins of speedup, and failure). Below the diagonal "
            "a forecaster is too sure of itself. Larger points stand for more forecasts.",
        ),
        (
            square(f"failure-{k}", "Reliability of the chance of failure", "stated", "failed", failure),
            "Reliability of the chance of failure.",
        ),
        (
            square(f"held-{k}", "What intervals held", "promised", "held", held),
            "The share of measured speedups that central intervals held, by the share they promised.",
        ),
        (
            budget(f"recovery-{k}", "Recovery by share measured", "share of the pool measured", "recovered", found),
            "The best speedup found among the top of the forecaster's ranking, as a share of the pool's best; mean "
            "over pools. Ties are taken slowest first.",
        ),
    ]


def _series(results: Sequence[Result], curve: str, across: str, up: str, tip: str) -> list[Series]:
    names = [r.forecaster for r in results]
    found = []
    for r in results:
        points: list[dict[str, Any]] = r.curves[curve]
        placed = tuple((float(p[across]), float(p[up])) for p in points)
        total = sum(p.get("count", 0) for p in points)
        # The area of a point is the share of forecasts behind it, so that a stray few are not read as many.
        radii = tuple(1.6 + 6.0 * math.sqrt(p["count"] / total) if total else 3.2 for p in points)
        tips = tuple(tip.format(**p) for p in points)
        found.append(Series(r.forecaster, hue(names, r.forecaster), placed, tips, radii))
    return found


def _pool_lines(results: Sequence[Result]) -> list[Line]:
    lines = []
    pools = [{p["pool"]: p for p in r.by_pool} for r in results]
    for name, one in pools[0].items():
        if one["successes"] < FEWEST:
            continue
        cells = tuple(
            Cell("–" if name not in p or math.isnan(p[name][f]) else f"{p[name][f]:.2f}")
            for f in _POOL_FIGURES
            for p in pools
        )
        lines.append(Line(name, f"{one['successes']} of {one['candidates']}", cells))
    return lines


def render_evaluation(results: Sequence[Result], settings: Mapping[str, Any]) -> str:
    """The page's HTML; ValueError where there is no result. Names from outside are escaped."""
    from jinja2 import Environment, StrictUndefined

    from foretell import __version__

    if not results:
        raise ValueError("there is no result to show")
    package = files("foretell.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(package.joinpath("evaluation.html").read_text(encoding="utf-8"))
    names = list(dict.fromkeys(r.forecaster for r in results))
    styles = [package.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "evaluation.css")]
    return template.render(
        version=__version__,
        settings=settings,
        keys=[(name, hue(names, name)) for name in names],
        parts=parts(results),
        pool_figures=[FIGURES[name].label for name in _POOL_FIGURES],
        css="".join(styles),
        js=package.joinpath("page.js").read_text(encoding="utf-8"),
    )


def write_evaluation(results: Sequence[Result], settings: Mapping[str, Any], path: Path) -> Path:
    """Write the page, all or nothing, and return its path."""
    return write_whole(path, render_evaluation(results, settings))
