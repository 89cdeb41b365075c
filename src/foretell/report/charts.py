"""The report's charts, each a function from plain values to one SVG drawing. All speedups are on a log2 scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from foretell.report.calibration import Coverage, Pair
from foretell.report.numbers import count, percent, times
from foretell.report.svg import (
    Scale,
    count_ticks,
    cross,
    drawing,
    element,
    line,
    path,
    speedup_scale,
    speedup_ticks,
    words,
)

# A unit is a pixel where the page is at its full width, so that text has one size in all charts.
PAGE, COLUMN, HALF = 1016.0, 760.0, 398.0
_LABEL = 48.0  # room for the label of a tick


@dataclass(frozen=True)
class Step:
    """One measurement in the order of the journal; `speedup` is None where the candidate failed."""

    number: int
    id: str
    speedup: float | None
    low: float | None
    high: float | None
    audit: bool
    tip: str


@dataclass(frozen=True)
class Mark:
    """One candidate on the ruler: where it was measured to be, or where it was forecast to be."""

    speedup: float
    measured: bool
    tip: str


@dataclass(frozen=True)
class Winner:
    """The best candidate: the number of its measurement, its speedup, and whether it was measured again."""

    number: int
    speedup: float
    verified: bool


def ruler(marks: Sequence[Mark], winner: Winner | None) -> str:
    """Every candidate on one ruler: tall where it was measured, short and pale where the forecast sufficed."""
    top, base, height = 34.0, 74.0, 100.0
    speedups = [mark.speedup for mark in marks] + ([winner.speedup] if winner else [])
    x = speedup_scale([math.log2(speedup) for speedup in speedups], 8, PAGE - 8)
    parts = [line(x.start, base, x.stop, base, "rule")]
    for at, label in speedup_ticks(x, most=9):
        anchor = "start" if x(at) < _LABEL / 2 else "end" if x(at) > PAGE - _LABEL / 2 else "middle"
        parts += [line(x(at), base, x(at), base + 5, "rule"), words(label, x(at), base + 20, anchor=anchor)]
    for mark in sorted(marks, key=lambda m: m.measured):
        at = x(math.log2(mark.speedup))
        reach, kind = (22.0, "paid") if mark.measured else (12.0, "foretold")
        parts.append(element("line", x1=at, x2=at, y1=base - reach, y2=base, class_=kind, data_tip=mark.tip))
    if winner is not None:
        at = x(math.log2(winner.speedup))
        anchor = "end" if at > PAGE - 40 else "middle"
        parts += [line(at, top - 6, at, base, "best"), words(times(winner.speedup), at, top - 13, "mark", anchor)]
    measured = sum(m.measured for m in marks)
    story = f"{count(measured, 'candidate')} measured, {len(marks) - measured} placed by forecast alone."
    return drawing("ruler", "Every candidate on one ruler of speedup", story, PAGE, height, *parts)


def progress(steps: Sequence[Step], winner: Winner | None) -> str:
    """Best so far against measurements, with every measured point; failures sit on a line of their own below."""
    left, right, top, bottom, height = 52.0, COLUMN - 76, 18.0, 268.0, 330.0
    fail_y = bottom + 20
    found = [(s.number, s.speedup) for s in steps if s.speedup is not None]
    reach = [speedup for _, speedup in found] + ([winner.speedup] if winner else [])
    y = speedup_scale([math.log2(speedup) for speedup in reach], bottom, top)
    x = Scale(0.5, max(2.0, len(steps) + 0.5), left, right)
    parts = []
    for at, label in speedup_ticks(y):
        parts += [
            line(left, y(at), right, y(at), "one" if at == 0 else "grid"),
            words(label, left - 10, y(at) + 4, anchor="end"),
        ]
    parts.append(words("reference", right + 8, y(0.0) + 4, "tick"))
    for number in count_ticks(len(steps)):
        parts.append(words(str(number), x(number), height - 20, anchor="middle"))
    parts.append(words("measurements", (left + right) / 2, height - 2, "axis", "middle"))
    if any(s.speedup is None for s in steps):
        parts.append(words("failed", left - 10, fail_y + 4, anchor="end"))
    parts += [_best_line(found, x, y, right)] if found else []
    for step in steps:
        parts += _step_mark(step, x, y, fail_y)
    if winner is not None:
        parts += _winner_mark(winner, x, y, right)
    story = f"{count(len(steps), 'measurement')}, {len(steps) - len(found)} of them failures."
    if found:
        story += f" The best measured speedup rose to {times(max(s for _, s in found))}."
    return drawing("progress", "Best speedup so far against measurements", story, COLUMN, height, *parts)


def _best_line(found: Sequence[tuple[int, float]], x: Scale, y: Scale, right: float) -> str:
    points: list[tuple[float, float]] = []
    best = 0.0
    for number, speedup in found:
        if speedup > best:
            if points:
                points.append((x(number), points[-1][1]))
            best = speedup
            points.append((x(number), y(math.log2(best))))
    points.append((right, points[-1][1]))
    return path(points, "climb")


def _step_mark(step: Step, x: Scale, y: Scale, fail_y: float) -> list[str]:
    at = x(step.number)
    if step.speedup is None:
        return [cross(at, fail_y, 3, "failed", step.tip)]
    parts = []
    if step.low and step.high:
        parts.append(line(at, y(math.log2(step.low)), at, y(math.log2(step.high)), "whisker"))
    kind = "dot audit" if step.audit else "dot"
    parts.append(element("circle", cx=at, cy=y(math.log2(step.speedup)), r=3.2, class_=kind, data_tip=step.tip))
    return parts


def _winner_mark(winner: Winner, x: Scale, y: Scale, right: float) -> list[str]:
    level = y(math.log2(winner.speedup))
    note = "verified" if winner.verified else "not verified"
    return [
        element("circle", cx=x(winner.number), cy=level, r=7.0, class_="ring"),
        element("circle", cx=x(winner.number), cy=level, r=3.4, class_="best-dot"),
        words(times(winner.speedup), right + 8, level + 1, "mark"),
        words(note, right + 8, level + 15, "tick"),
    ]


def forecast_scatter(pairs: Sequence[Pair]) -> str:
    """Forecast against measured speedup: a bar is the 80 % interval, and a bar that misses the diagonal was wrong."""
    left, right, top, bottom, height = 58.0, HALF, 8.0, 348.0, 392.0
    values = [v for p in pairs for v in (p.measured, p.median, p.low, p.high)]
    # One bar of a forecaster that knows nothing yet must not squeeze everything else into a corner.
    core = [v for p in pairs for v in (p.measured, p.median)]
    least, most = min(core, default=-math.inf), max(core, default=math.inf)
    margin = 0.6 + 0.25 * (most - least) if core else 0.0
    kept = [v for v in values if least - margin <= v <= most + margin]
    x = speedup_scale(kept, left, right)
    y = Scale(x.low, x.high, bottom, top)
    parts = []
    for at, label in speedup_ticks(x, most=8):
        parts += [
            line(left, y(at), right, y(at), "grid"),
            line(x(at), top, x(at), bottom, "grid"),
            words(label, x(at), bottom + 20, anchor="middle"),
            words(label, left - 10, y(at) + 4, anchor="end"),
        ]
    parts += [
        line(left, bottom, right, top, "diagonal"),
        words("measured", (left + right) / 2, height - 4, "axis", "middle"),
        _upright("forecast", (top + bottom) / 2),
    ]
    for pair in sorted(pairs, key=lambda p: not p.covered):
        kind = "hit" if pair.covered else "miss"
        at = x(pair.measured)
        parts.append(line(at, y(pair.low), at, y(pair.high), f"bar {kind}"))
        for end, edge, inwards in ((y.high - pair.high, top, 5.0), (pair.low - y.low, bottom, -5.0)):
            if end < 0:
                head = [(at - 3.5, edge + inwards), (at, edge), (at + 3.5, edge + inwards)]
                parts.append(path(head, f"beyond {kind}"))
        shape = f"dot {kind}{' audit' if pair.audit else ''}"
        parts.append(element("circle", cx=at, cy=y(pair.median), r=3.2, class_=shape, data_tip=pair.tip))
    hits = sum(p.covered for p in pairs)
    story = f"{hits} of {count(len(pairs), 'forecast')} held the measured speedup within the 80 % interval."
    return drawing("scatter", "Forecast against measured speedup", story, HALF, height, *parts)


def coverage_curve(coverages: Sequence[Coverage], n: int) -> str:
    """Share of measured speedups that central intervals held, by the share they promised; the band is luck's."""
    left, right, top, bottom, height = 58.0, 352.0, 8.0, 302.0, 346.0
    x, y = Scale(0.0, 1.0, left, right), Scale(0.0, 1.0, bottom, top)
    upper = [(x(c.promised), y(c.luck_high)) for c in coverages]
    lower = [(x(c.promised), y(c.luck_low)) for c in reversed(coverages)]
    parts = [path([(x(0), y(0)), *upper, (x(1), y(1)), *lower], "luck", closed=True)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts += [
            words(percent(share), x(share), bottom + 20, anchor="middle"),
            words(percent(share), left - 8, y(share) + 4, anchor="end"),
        ]
    parts += [line(left, bottom, right, bottom, "rule"), line(left, top, left, bottom, "rule")]
    parts += [line(left, bottom, right, top, "diagonal")]
    parts.append(path([(x(0), y(0)), *((x(c.promised), y(c.kept)) for c in coverages), (x(1), y(1))], "curve"))
    for c in coverages:
        tip = f"{percent(c.promised)} interval held {percent(c.kept)} of {n}"
        parts.append(element("circle", cx=x(c.promised), cy=y(c.kept), r=3.4, class_="best-dot", data_tip=tip))
    parts += [
        words("promised", (left + right) / 2, height - 4, "axis", "middle"),
        _upright("kept", (top + bottom) / 2),
    ]
    story = f"Of {count(n, 'measured speedup')}: " + "; ".join(
        f"the {percent(c.promised)} interval held {percent(c.kept)}" for c in coverages
    )
    return drawing(
        "coverage", "How often forecast intervals held, against what they promised", story, HALF, height, *parts
    )


def _upright(text: str, y: float) -> str:
    """The name of a vertical axis, read from below."""
    return element("text", text, class_="axis", text_anchor="middle", transform=f"translate(10 {y:g}) rotate(-90)")
