"""Charts of an evaluation: several forecasters as lines on one square, with whatever is right drawn as a diagonal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from foretell.report.numbers import percent
from foretell.report.svg import Scale, drawing, element, line, path, words

WIDTH, HEIGHT = 440.0, 366.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 430.0, 8.0, 316.0
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Series:
    """A line: who it is of, the class that paints it, its points, what to say of each, and how large to draw it."""

    name: str
    class_: str
    points: tuple[tuple[float, float], ...]
    tips: tuple[str, ...]
    radii: tuple[float, ...]


def square(name: str, title: str, across: str, up: str, series: Sequence[Series]) -> str:
    """Shares against shares, from 0 to 1 both ways; on the diagonal what was said came true."""
    x, y = Scale(0.0, 1.0, _LEFT, _RIGHT), Scale(0.0, 1.0, _BOTTOM, _TOP)
    ticks = [(share, percent(share)) for share in _SHARES]
    return _chart(name, title, across, up, series, x, y, ticks, [line(_LEFT, _BOTTOM, _RIGHT, _TOP, "diagonal")])


def budget(name: str, title: str, across: str, up: str, series: Sequence[Series]) -> str:
    """Shares against the share that was paid for, the latter on a logarithmic scale from 1 % to all."""
    x, y = Scale(math.log(0.01), 0.0, _LEFT, _RIGHT), Scale(0.0, 1.0, _BOTTOM, _TOP)
    ticks = [(math.log(share), percent(share)) for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)]
    logged = [replace(s, points=tuple((math.log(at), value) for at, value in s.points)) for s in series]
    return _chart(name, title, across, up, logged, x, y, ticks, [])


def _chart(
    name: str,
    title: str,
    across: str,
    up: str,
    series: Sequence[Series],
    x: Scale,
    y: Scale,
    ticks: Sequence[tuple[float, str]],
    below: Sequence[str],
) -> str:
    parts = []
    for share in _SHARES:
        parts += [
            line(_LEFT, y(share), _RIGHT, y(share), "grid"),
            words(percent(share), _LEFT - 8, y(share) + 4, anchor="end"),
        ]
    parts += [words(label, x(at), _BOTTOM + 20, anchor="middle") for at, label in ticks]
    parts += [line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "rule"), *below]
    for one in series:
        placed = [(x(at), y(value)) for at, value in one.points]
        if len(placed) > 1:
            parts.append(path(placed, f"series {one.class_}"))
        for (at, level), tip, radius in zip(placed, one.tips, one.radii, strict=True):
            parts.append(element("circle", cx=at, cy=level, r=radius, class_=f"point {one.class_}", data_tip=tip))
    middle = (_TOP + _BOTTOM) / 2
    upright = element(
        "text", up, class_="axis", text_anchor="middle", transform=f"translate(10 {middle:g}) rotate(-90)"
    )
    parts += [words(across, (_LEFT + _RIGHT) / 2, HEIGHT - 4, "axis", "middle"), upright]
    story = " ".join(f"{one.name}: {'; '.join(one.tips)}." for one in series)
    return drawing(name, title, story, WIDTH, HEIGHT, *parts)
