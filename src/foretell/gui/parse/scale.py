"""Coordinates: from what an agent wrote to pixels of the screenshot."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from foretell.gui.actions import Point
from foretell.gui.parse.faults import BadProposal, Reason


class Scale(StrEnum):
    """What a coordinate counts. `AUTO` is resolved where only one reading is possible and refused elsewhere."""

    PIXELS = "pixels"
    UNIT = "unit"  # 0 to 1 of the width and of the height
    THOUSANDTHS = "thousandths"  # 0 to 1000 of the width and of the height
    AUTO = "auto"


_FULL = {Scale.UNIT: 1.0, Scale.THOUSANDTHS: 1000.0}


def resolve(scale: Scale, points: Sequence[Point], size: tuple[int, int] | None, always_pixels: bool) -> Scale:
    """The scale to read `points` of a picture of `size` in.

    `AUTO` means 0 to 1 where there is a fraction and nothing above 1, and pixels where something is above 1000, where
    the form knows nothing else (`always_pixels`) or where both readings are the same. Everything else raises: on a
    small screen a pixel beyond the edge and a thousandth look alike, and a guess would hide the one or move the other.
    """
    if scale is not Scale.AUTO:
        return scale
    values = [value for point in points for value in (point.x, point.y)]
    if any(value != int(value) for value in values) and all(0.0 <= value <= 1.0 for value in values):
        return Scale.UNIT
    if always_pixels or size == (1000, 1000) or any(value > 1000.0 for value in values) or not any(values):
        return Scale.PIXELS
    raise BadProposal(
        Reason.AMBIGUOUS,
        "coordinates up to 1000 may be pixels or thousandths of the screen",
        "the scale to be given: pixels, unit or thousandths",
    )


def to_pixels(point: Point, scale: Scale, size: tuple[int, int] | None, seen: tuple[int, int] | None = None) -> Point:
    """The point in pixels of a screen of `size`, which the agent was shown as a picture of the size `seen`.

    The far edge itself (1 or 1000) is the last pixel; what lies beyond stays outside. Raises where a size that it takes
    is not known: pixels of the screen itself are read without.
    """
    full = _FULL.get(scale)
    if full is None and seen in (None, size):
        return point
    if size is None:
        raise BadProposal(Reason.AMBIGUOUS, "the size of the screen is not known", "the size to be given, in pixels")
    if full is None:
        return _enlarged(point, seen or size, size)

    def along(value: float, extent: int) -> float:
        pixels = value / full * extent
        return min(pixels, extent - 0.5) if value <= full else pixels

    return Point(along(point.x, size[0]), along(point.y, size[1]))


def _enlarged(point: Point, seen: tuple[int, int], size: tuple[int, int]) -> Point:
    if min(seen) < 1:
        raise BadProposal(Reason.AMBIGUOUS, "the picture that was seen has no size", "its width and height, in pixels")
    return Point(point.x * size[0] / seen[0], point.y * size[1] / seen[1])


def from_pixels(point: Point, scale: Scale, size: tuple[int, int]) -> tuple[float, float]:
    """The other direction: whole numbers but for `UNIT`. `AUTO` is not a scale to write in."""
    if scale is Scale.AUTO:
        raise ValueError("coordinates are written in pixels, unit or thousandths; auto is for reading")
    if scale is Scale.PIXELS:
        return round(point.x), round(point.y)
    x, y = point.x / size[0], point.y / size[1]
    return (x, y) if scale is Scale.UNIT else (round(x * 1000), round(y * 1000))
