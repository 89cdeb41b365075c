"""What an action did to the screen, in pixels: which regions changed, how much of it, and whether a caret blinked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.gui.actions import Point
from foretell.gui.observation import Pixels
from foretell.gui.words import Box

Mask = NDArray[np.bool_]  # (height, width)

MAX_REGIONS = 12
TOLERANCE = 24  # levels of a channel: compression and a default button's hover shade stay below it
CELL_PX = 4
GAP_CELLS = 3  # what lies closer together than this is one region
PAGE_SHARE = 0.25  # of the pixels changed: another page
PAGE_COVER = 0.6  # of the screen under one region: another page
_CARET_WIDTH_PX = 5
_CARET_HEIGHT_PX = (6, 96)
_CARET_SLENDER = 2.5
_CARET_FILLED = 0.9
_SAMPLED_COLUMNS = 24  # of a scrolled view: enough to tell rows apart
_SAME_VIEW = 0.35  # of the unmoved difference that may remain once the view is moved back


@dataclass(frozen=True, eq=False)
class Difference:
    """What differs between two screenshots. `regions` are boxes that changed, the largest first, `MAX_REGIONS` at most.

    `share` is the part of all pixels that changed. `caret` is the box of a text cursor that came, went or moved where
    that is all there is to see: then there are no regions. `mask` marks the pixels (all of them where the size of the
    screen is another).
    """

    regions: tuple[Box, ...]
    share: float
    caret: Box | None
    mask: Mask

    @property
    def changed(self) -> bool:
        """Whether anything but a caret changed."""
        return bool(self.regions)

    @property
    def whole_page(self) -> bool:
        """Whether so much changed that it is another page, or one laid over it."""
        if not self.regions:
            return False
        height, width = self.mask.shape
        return self.share >= PAGE_SHARE or area(self.regions[0]) >= PAGE_COVER * width * height

    def share_within(self, box: Box) -> float:
        """The part of a box's pixels that changed; 0 for a box outside the screen."""
        part = self.mask[_slices(box)]
        return float(part.mean()) if part.size else 0.0

    def region_at(self, point: Point, within_px: float) -> Box | None:
        """The smallest region that holds the point or lies so close to it."""
        near = [box for box in self.regions if distance(box, point) <= within_px]
        return min(near, key=area, default=None)


def difference(before: Pixels, after: Pixels, ignore_caret: bool = True) -> Difference:
    """Compare two screenshots. Without `ignore_caret` a thin bar counts as any other change (it may be a letter)."""
    if before.shape != after.shape:
        height, width = after.shape[:2]
        return Difference(((0, 0, width, height),), 1.0, None, np.ones((height, width), dtype=np.bool_))
    mask = _changed(before, after)
    boxes = sorted(_boxes(mask), key=area, reverse=True)
    if ignore_caret and boxes and all(_is_caret(mask, box) for box in boxes):
        return Difference((), 0.0, boxes[0], mask)
    return Difference(tuple(boxes[:MAX_REGIONS]), float(mask.mean()) if boxes else 0.0, None, mask)


def crop(image: Pixels, box: Box) -> Pixels:
    """The part of a picture under a box, cut to the picture."""
    return image[_slices(box)]


def area(box: Box) -> int:
    return box[2] * box[3]


def holds(box: Box, point: Point) -> bool:
    return box[0] <= point.x < box[0] + box[2] and box[1] <= point.y < box[1] + box[3]


def distance(box: Box, point: Point) -> float:
    """Pixels from the point to the box; 0 inside it."""
    x, y, width, height = box
    dx = max(x - point.x, 0.0, point.x - (x + width))
    dy = max(y - point.y, 0.0, point.y - (y + height))
    return float(np.hypot(dx, dy))


def grown(box: Box, dx: int, dy: int, width: int, height: int) -> Box:
    """The box with a margin around it, cut to the screen."""
    left, top = max(0, box[0] - dx), max(0, box[1] - dy)
    right, bottom = min(width, box[0] + box[2] + dx), min(height, box[1] + box[3] + dy)
    return left, top, max(0, right - left), max(0, bottom - top)


def strongest(before: Pixels, after: Pixels, box: Box) -> int:
    """The most levels by which any channel changed inside a box; 0 for a box outside the screen."""
    apart = np.abs(crop(after, box).astype(np.int16) - crop(before, box).astype(np.int16))
    return int(apart.max()) if apart.size else 0


def centre(box: Box) -> Point:
    return Point(box[0] + box[2] / 2, box[1] + box[3] / 2)


def vertical_shift_px(before: Pixels, after: Pixels, box: Box, towards: float = 0.0) -> int | None:
    """How far the content of a box moved up, as a scroll down does; None where no single shift explains the change.

    With `towards` only shifts of its sign are looked for: rows that repeat look alike moved either way.
    """
    across = max(1, box[2] // _SAMPLED_COLUMNS)
    old = crop(before, box)[:, across // 2 :: across].mean(axis=2)
    new = crop(after, box)[:, across // 2 :: across].mean(axis=2)
    rows = old.shape[0]
    if rows < 8 or new.shape != old.shape:
        return None
    best, found = np.inf, 0
    for shift in range(-rows * 3 // 4, rows * 3 // 4 + 1):
        if shift == 0 or shift * towards < 0:
            continue
        upper, lower = (old[shift:], new[:-shift]) if shift > 0 else (old[:shift], new[-shift:])
        error = float(np.abs(upper - lower).mean())
        if error < best:
            best, found = error, shift
    return found if best < _SAME_VIEW * float(np.abs(old - new).mean()) else None


def _changed(before: Pixels, after: Pixels) -> Mask:
    if np.array_equal(before, after):
        return np.zeros(before.shape[:2], dtype=np.bool_)
    apart = np.maximum(before, after)
    apart -= np.minimum(before, after)
    return np.asarray(np.maximum(np.maximum(apart[..., 0], apart[..., 1]), apart[..., 2]) > TOLERANCE)


def _boxes(mask: Mask) -> Iterator[Box]:
    """Tight boxes of what is marked, cut apart along empty rows and columns until none is left to cut along."""
    height, width = mask.shape
    padded = np.zeros((-(-height // CELL_PX) * CELL_PX, -(-width // CELL_PX) * CELL_PX), dtype=np.bool_)
    padded[:height, :width] = mask
    tiles = padded.reshape(padded.shape[0] // CELL_PX, CELL_PX, padded.shape[1] // CELL_PX, CELL_PX)
    cells: Mask = np.asarray(tiles.any(axis=(1, 3)))
    waiting = [(0, cells.shape[0], 0, cells.shape[1])]
    while waiting:
        top, bottom, left, right = waiting.pop()
        part = cells[top:bottom, left:right]
        rows = [(top + a, top + b, left, right) for a, b in _runs(np.asarray(part.any(axis=1)))]
        columns = [(top, bottom, left + a, left + b) for a, b in _runs(np.asarray(part.any(axis=0)))]
        finer = rows if len(rows) > 1 else columns
        if len(finer) > 1:
            waiting.extend(finer)
        elif rows:
            yield _tight(mask, (left * CELL_PX, top * CELL_PX, (right - left) * CELL_PX, (bottom - top) * CELL_PX))


def _runs(marked: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Begin and end of stretches of marks that are at least `GAP_CELLS` apart."""
    at = np.flatnonzero(marked)
    if not at.size:
        return []
    cuts = np.flatnonzero(np.diff(at) > GAP_CELLS)
    begins, ends = at[np.r_[0, cuts + 1]], at[np.r_[cuts, at.size - 1]] + 1
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def _tight(mask: Mask, box: Box) -> Box:
    part = mask[_slices(box)]
    rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
    left, top = box[0] + int(columns[0]), box[1] + int(rows[0])
    return left, top, int(columns[-1] - columns[0]) + 1, int(rows[-1] - rows[0]) + 1


def _is_caret(mask: Mask, box: Box) -> bool:
    _, _, width, height = box
    low, high = _CARET_HEIGHT_PX
    slender = width <= _CARET_WIDTH_PX and low <= height <= high and height >= _CARET_SLENDER * width
    return slender and float(mask[_slices(box)].mean()) >= _CARET_FILLED


def _slices(box: Box) -> tuple[slice, slice]:
    x, y, width, height = box
    return slice(max(0, y), max(0, y + height)), slice(max(0, x), max(0, x + width))
