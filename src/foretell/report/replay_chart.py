"""The chart of a replay: shares against measurements, on a logarithmic scale since the first few matter most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from foretell.report.numbers import percent
from foretell.report.svg import Scale, drawing, element, line, path, words

WIDTH, HEIGHT = 484.0, 380.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 476.0, 8.0, 330.0
_NEAR = 0.95
_STEPS = (0.02, 0.05, 0.1, 0.2)
_MOST_LINES = 6
_MANY = 4  # curves above which bands are drawn fainter


@dataclass(frozen=True)
class Curve:
    """A line over 1, 2, ... measurements: its class of paint, what to say at some of them, and its band if any."""

    name: str
    class_: str
    shares: Sequence[float]
    tips: tuple[tuple[int, str], ...]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def chart(name: str, title: str, across: str, up: str, curves: Sequence[Curve], floor: float | None = None) -> str:
    """All curves in one drawing, bands below lines; the axis begins at `floor`, or a little below the lowest value."""
    lowest = min(min((*curve.shares, *curve.low)) for curve in curves) if floor is None else floor
    step = next((s for s in _STEPS if (1.0 - lowest) / s <= _MOST_LINES), _STEPS[-1])
    bottom = max(0, math.floor(lowest / step + 1e-9))
    last = max(len(curve.shares) for curve in curves)
    x, y = Scale(0.0, math.log(max(2, last)), _LEFT, _RIGHT), Scale(bottom * step, 1.0, _BOTTOM, _TOP)
    parts = []
    for k in range(bottom, round(1.0 / step) + 1):
        level = y(k * step)
        parts += [
            line(_LEFT, level, _RIGHT, level, "grid"),
            words(percent(k * step), _LEFT - 8, level + 4, anchor="end"),
        ]
    parts += [words(str(k), x(math.log(k)), _BOTTOM + 20, anchor="middle") for k in _ticks(last)]
    parts.append(line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "rule"))
    if floor is None and bottom * step < _NEAR:
        parts.append(line(_LEFT, y(_NEAR), _RIGHT, y(_NEAR), "one"))
    faint = "faint " if len(curves) > _MANY else ""
    for curve in curves:
        if curve.low:
            above = [(x(math.log(k)), y(value)) for k, value in enumerate(curve.high, start=1)]
            below = [(x(math.log(k)), y(value)) for k, value in enumerate(curve.low, start=1)]
            parts.append(path([*above, *reversed(below)], f"band {faint}{curve.class_}", closed=True))
    for curve in curves:
        parts.append(
            path([(x(math.log(k)), y(v)) for k, v in enumerate(curve.shares, start=1)], f"series {curve.class_}")
        )
        for k, tip in curve.tips:
            at, level = x(math.log(k)), y(curve.shares[k - 1])
            parts.append(element("circle", cx=at, cy=level, r=3.0, class_=f"point {curve.class_}", data_tip=tip))
    middle = (_TOP + _BOTTOM) / 2
    turn = f"translate(10 {middle:g}) rotate(-90)"
    parts += [
        words(across, (_LEFT + _RIGHT) / 2, HEIGHT - 4, "axis", "middle"),
        element("text", escape(up), class_="axis", text_anchor="middle", transform=turn),
    ]
    story = " ".join(f"{curve.name}: {'; '.join(tip for _, tip in curve.tips)}." for curve in curves)
    return drawing(name, title, story, WIDTH, HEIGHT, *parts)


def _ticks(last: int) -> list[int]:
    """1, 2, 5, 10, 20, ... up to the last."""
    found = [m * 10**power for power in range(len(str(last))) for m in (1, 2, 5)]
    return [k for k in found if k <= last]
