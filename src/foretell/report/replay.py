"""The page of a replay: how soon contenders were near the best recorded, as one self-contained HTML file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from foretell.kernels.replay.compare import ASK_NOBODY, Contender
from foretell.kernels.replay.result import Comparison
from foretell.report.numbers import count, percent, times
from foretell.report.replay_chart import Curve, chart
from foretell.report.write import write_whole

HUES = 6  # lines that the style sheet can tell apart; more are dashed
_MARKED = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800)  # measurements at which a curve has a point


@dataclass(frozen=True)
class Row:
    """One contender: its name, its class of paint, and what the table says of it."""

    name: str
    class_: str
    until: str
    interval: str
    reached: str
    after: tuple[str, ...]
    measured: str
    considered: str
    best: bool


@dataclass(frozen=True)
class PoolRow:
    """One pool: its size, its best, and for each contender the measurements until near it and how often."""

    name: str
    candidates: str
    best: str
    cells: tuple[tuple[str, str], ...]


def number(value: float) -> str:
    """A count or the middle of two; never where it never came."""
    return f"{value:g}" if math.isfinite(value) else "never"


def setting(told: Comparison) -> str:
    """What was replayed, in one line."""
    asked = told.settings
    pools = count(asked["pools"], "pool")
    words = [
        *([", ".join(asked["splits"])] if asked["splits"] else []),
        pools
        if asked["pools"] == asked["pools_there"]
        else f"{asked['pools']} of {count(asked['pools_there'], 'pool')}",
        f"{count(asked['seeds'], 'seed')} each",
        *(f"strategy {name}" for name in asked["strategies"] if len(asked["strategies"]) == 1),
        f"candidates come {asked['batch']} at a time {asked['candidates_come']}",
    ]
    return " · ".join(words)


def soonest(untils: Sequence[float]) -> frozenset[int]:
    """Which contenders need the fewest measurements; none where all need the same."""
    if len(set(untils)) < 2:
        return frozenset()
    return frozenset(i for i, until in enumerate(untils) if until == min(untils))


def hues(contending: Sequence[Contender]) -> list[str]:
    """The class that paints each: the first two that ask nobody are grey, the others have a colour each."""
    controls = [c for c in contending if c.policy in ASK_NOBODY][:2]
    found, coloured = [], 0
    for contender in contending:
        if contender in controls:
            found.append(f"control c{controls.index(contender)}")
        else:
            found.append(f"s{coloured % HUES} d{coloured // HUES}")
            coloured += 1
    return found


def rows(told: Comparison) -> list[Row]:
    labels, standings = told.labels(), told.standings
    ahead = soonest([one.until for one in standings])
    return [
        Row(
            name=labels[one.contender],
            class_=hue,
            until=number(one.until),
            interval="" if one.until_low == one.until_high else f"{number(one.until_low)} to {number(one.until_high)}",
            reached=percent(one.reached),
            after=tuple(percent(one.mean[k - 1]) for k in told.places),
            measured=f"{one.measured:.0f}",
            considered=f"{one.considered:.0f}",
            best=i in ahead,
        )
        for i, (one, hue) in enumerate(zip(standings, hues([s.contender for s in standings]), strict=True))
    ]


def pool_rows(told: Comparison) -> list[PoolRow]:
    """The pools on which something was replayed."""
    found = []
    for at, pool in enumerate(told.pools):
        cells = [one.by_ground.get(at) for one in told.standings]
        if any(cells):
            shown = tuple((number(cell[0]), percent(cell[1])) if cell else ("–", "") for cell in cells)
            found.append(PoolRow(pool.name, f"{pool.worked} of {pool.candidates}", times(pool.best), shown))
    return found


def charts(told: Comparison) -> list[tuple[str, str]]:
    """(SVG, caption) of each chart."""
    over = "pools" if len({run.ground for run in told.runs}) > 1 else "seeds"
    return [
        (
            chart("best", "The best so far", "measurements", "share of the pool's best", _best_so_far(told)),
            "The best so far as a share of the pool's best: mean over pools and seeds. The band is the 95 % interval "
            f"of that mean over {over}; the dotted line is 5 % below the best.",
        ),
        (
            chart("near", "Searches within 5 % of the best", "measurements", "share of searches", _near(told), floor=0),
            "The share of searches that had a kernel within 5 % of the pool's best by then.",
        ),
    ]


def _best_so_far(told: Comparison) -> list[Curve]:
    found = []
    for row, one in zip(rows(told), told.standings, strict=True):
        places = [k for k in _MARKED if k <= len(one.mean)]
        tips = tuple(
            (k, f"{row.name} after {count(k, 'measurement')}: {percent(one.mean[k - 1], 1)} of the best")
            for k in places
        )
        found.append(Curve(row.name, row.class_, one.mean, tips, one.low, one.high))
    return found


def _near(told: Comparison) -> list[Curve]:
    found = []
    for row, one in zip(rows(told), told.standings, strict=True):
        places = [k for k in _MARKED if k <= len(one.near)]
        tips = tuple(
            (k, f"{row.name} after {count(k, 'measurement')}: {percent(one.near[k - 1])} are within 5 %")
            for k in places
        )
        found.append(Curve(row.name, row.class_, one.near, tips))
    return found


def render_replay(told: Comparison) -> str:
    """The page's HTML; ValueError where there is no run. Names from outside are escaped."""
    from jinja2 import Environment, StrictUndefined

    from foretell import __version__

    if not told.runs:
        raise ValueError("there is no run to show")
    package = files("foretell.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(package.joinpath("replay.html").read_text(encoding="utf-8"))
    styles = ("page.css", "evaluation.css", "replay.css")
    return template.render(
        version=__version__,
        told=told,
        setting=setting(told),
        counts=f"{count(len(pool_rows(told)), 'pool')}, {count(len(told.runs), 'search', 'searches')}",
        rows=rows(told),
        pools=pool_rows(told),
        charts=charts(told),
        css="".join(package.joinpath(name).read_text(encoding="utf-8") for name in styles),
        js=package.joinpath("page.js").read_text(encoding="utf-8"),
    )


def write_replay(told: Comparison, path: Path) -> Path:
    """Write the page, all or nothing, and return its path."""
    return write_whole(path, render_replay(told))
