"""A small SVG writer: elements as escaped text, and the scales that place values on a chart.

Colours never appear here or in the charts: every mark carries a class, and the page's style sheet paints it for light,
dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

Attribute = str | float | int | None


def element(tag: str, *children: str, **attributes: Attribute) -> str:
    """One SVG element. `class_` gives `class`, `stroke_width` gives `stroke-width`; an attribute of None is left out.

    Children are markup already; plain words go through `words`.
    """
    parts = [tag]
    for name, value in attributes.items():
        if value is not None:
            parts.append(f'{name.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"')
    opening = " ".join(parts)
    return f"<{opening}>{''.join(children)}</{tag}>" if children else f"<{opening}/>"


def words(text: str, x: float, y: float, class_: str = "tick", anchor: str = "start") -> str:
    """Text at a point; `anchor` is start, middle or end."""
    return element("text", escape(text), x=x, y=y, class_=class_, text_anchor=None if anchor == "start" else anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Sequence[tuple[float, float]], class_: str, closed: bool = False) -> str:
    """Straight segments through the points."""
    steps = " ".join(f"{_plain(x)} {_plain(y)}" for x, y in points)
    return element("path", d=f"M{steps}{'Z' if closed else ''}", class_=class_)


def cross(x: float, y: float, size: float, class_: str, tip: str) -> str:
    """A small x, the mark of a failure."""
    d = f"M{_plain(x - size)} {_plain(y - size)}l{_plain(2 * size)} {_plain(2 * size)}m0 {_plain(-2 * size)}"
    return element("path", d=f"{d}l{_plain(-2 * size)} {_plain(2 * size)}", class_=class_, data_tip=tip)


def drawing(name: str, title: str, description: str, width: float, height: float, *children: str) -> str:
    """A whole chart. Title and description are what a screen reader says in its place."""
    label = element("title", escape(title), id=f"{name}-title") + element(
        "desc", escape(description), id=f"{name}-desc"
    )
    return element(
        "svg",
        label,
        *children,
        class_=f"chart {name}",
        role="img",
        viewBox=f"0 0 {_plain(width)} {_plain(height)}",
        **{"aria-labelledby": f"{name}-title {name}-desc"},
    )


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` onto pixels from `start` to `stop`, evenly; the caller passes log2 for speedups."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.stop - self.start)


def speedup_scale(log2_values: Sequence[float], start: float, stop: float) -> Scale:
    """A log2 scale that holds all the values and the reference at 1×, with a little air at both ends."""
    low = min((*log2_values, -0.25))
    high = max((*log2_values, 0.5))
    air = 0.06 * (high - low)
    return Scale(low - air, high + air, start, stop)


def speedup_ticks(scale: Scale, most: int = 7) -> list[tuple[float, str]]:
    """(log2 value, label) for round speedups within the scale, 1× always among them."""
    span = scale.high - scale.low
    steps = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    step = next((s for s in steps if span / s <= most), steps[-1])
    first, last = math.ceil(scale.low / step), math.floor(scale.high / step)
    return [(i * step, f"{2.0 ** (i * step):.{2 if i * step < 6.5 else 4}g}×") for i in range(first, last + 1)]


def count_ticks(most: int, wanted: int = 6) -> list[int]:
    """Round whole numbers from 1 or 0 up to `most`, about `wanted` of them."""
    if most <= 1:
        return [1]
    raw = most / wanted
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    step = max(1, round(next(m * power for m in (1, 2, 5, 10) if m * power >= raw)))
    ticks = list(range(step, most + 1, step))
    return ticks if step == 1 else [1, *ticks]


def _plain(value: str | float | int) -> str:
    """Numbers with at most two decimals and no trailing zeros: a chart of hundreds of marks stays small."""
    if isinstance(value, str):
        return value
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
