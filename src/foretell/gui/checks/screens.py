"""Names for screens, and two simple tests of the pixels: is there a text caret, is there a focus ring."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from foretell.gui.history import screen_digest
from foretell.gui.observation import Pixels

COARSE = "coarse-"
_TOP_SHARE, _BOTTOM_SHARE = 0.04, 0.06  # where desktops and phones keep their clocks
_THIN_SHARE, _LEAST_THIN_PX = 1 / 120, 4  # what is narrower than this, of the width, may be a caret
_CARET_HEIGHTS_PX = (10, 80)
_CARET_CONTRAST = 90
_CARET_FREE_PX = 8  # nothing stands to the right of a caret at the end of a line for at least this
_RING_GREY = 16  # the ring that Chromium draws
_RING_BRIGHT, _RING_VIVID = 200, 80  # levels: of a ring on a dark page; between the channels of a coloured one
_DARK_PAGE = 110.0
_RING_STRIDE = 6  # columns; a first look at every so many is enough to find rows worth a second
_RING_HEIGHT_PX, _RING_MOST_SHARE = 12, 0.45
_RING_WIDTH_SHARE, _RING_THICK_PX = 1 / 16, 12
_MOST_BANDS = 40
_MOST_STARTS = 200

_Mask = NDArray[np.bool_]
_Both = Callable[[NDArray[np.uint8], NDArray[np.uint8]], NDArray[np.uint8]]
Box = tuple[int, int, int, int]  # left, top, right, bottom; the last two just outside


def digest(image: Pixels) -> str:
    """The exact name: equal for equal pixels and robust to nothing. What histories keep in `Step.screen`."""
    return screen_digest(image)


def coarse_digest(image: Pixels) -> str:
    """A name that a blinking caret and a clock leave as it is.

    The top 4 % and the bottom 6 % of the screen, where clocks are kept, do not count, and what is narrower than a
    caret may be (a 120th of the width) is closed and opened away. The price: a change of nothing but thin strokes (one
    typed "l") or in those bands is missed too. A caret that touches a letter, a clock in the middle of the screen and
    an animation do change it. Only one colour channel, green, is looked at.
    """
    height = image.shape[0]
    rows = image[round(height * _TOP_SHARE) : height - round(height * _BOTTOM_SHARE), :, 1]
    grey: NDArray[np.uint8] = np.ascontiguousarray(rows)
    wide = thin_px(image)
    for one, other in ((np.maximum, np.minimum), (np.minimum, np.maximum)):
        grey = _slide(other, _slide(one, grey, wide), wide)
    found = hashlib.blake2b(repr(image.shape).encode(), digest_size=8)
    found.update(grey.tobytes())
    return COARSE + found.hexdigest()


def thin_px(image: Pixels) -> int:
    """What may be as narrow as a caret is narrower than this."""
    width: int = image.shape[1]
    return max(_LEAST_THIN_PX, round(width * _THIN_SHARE))


def _slide(both: _Both, values: NDArray[np.uint8], wide: int) -> NDArray[np.uint8]:
    """The greatest or least of every `wide` neighbours in a row, by doubling."""
    done = 1
    while done < wide and values.shape[1] > wide:
        step = min(done, wide - done)
        values = both(values[:, :-step], values[:, step:])
        done += step
    return values


def caret(image: Pixels) -> bool:
    """Whether there is what a text caret looks like: a thin upright bar of one shade, alone on a plain ground.

    A simple test that errs both ways: carets blink, one amid a text is not seen, and an "l" at the end of a line looks
    like one.
    """
    grey = np.ascontiguousarray(image[:, :, 1])
    height, width = grey.shape
    if height <= _CARET_HEIGHTS_PX[0] or width <= 2 * _CARET_FREE_PX + thin_px(image):
        return False
    left, right = grey[:, :-1], grey[:, 1:]
    jump = np.maximum(left, right) - np.minimum(left, right) > _CARET_CONTRAST
    tall, done = jump, 1
    while done < _CARET_HEIGHTS_PX[0]:
        step = min(done, _CARET_HEIGHTS_PX[0] - done)
        tall = tall[:-step] & tall[step:]
        done += step
    tops = tall.copy()
    tops[1:] &= ~tall[:-1]
    wide = thin_px(image)
    rows, columns = np.nonzero(tops[1:, wide:-_CARET_FREE_PX])  # the last column of a possible caret
    rows, columns = rows + 1, columns + wide
    ground = grey[rows, columns + 1]
    plain = np.all([grey[rows, columns + 1 + far] == ground for far in range(1, _CARET_FREE_PX)], axis=0)
    kept = np.flatnonzero(plain & (grey[rows - 1, columns] == ground))[:_MOST_STARTS]
    return any(_is_caret(grey, int(rows[i]), int(columns[i]), wide) for i in kept)


def _is_caret(grey: NDArray[np.uint8], top: int, x: int, wide: int) -> bool:
    """Whether a caret narrower than `wide` begins at this row and ends at this column; a letter may touch its left."""
    shade, ground = grey[top, x], grey[top, x + 1]
    below = grey[top : top + _CARET_HEIGHTS_PX[1] + 1, x]
    ends = np.flatnonzero(below != shade)
    tall = int(ends[0]) if ends.size else below.size
    if not _CARET_HEIGHTS_PX[0] <= tall <= _CARET_HEIGHTS_PX[1] or top + tall >= grey.shape[0]:
        return False
    solid = (grey[top : top + tall, x - wide + 1 : x + 1] == shade).all(axis=0)[::-1]
    if solid.all():
        return False
    last = x - int(solid.argmin())  # the column to the left of it
    beside = grey[top : top + tall, last]
    free = (grey[top - 1 : top + tall + 1, x + 1 : x + 1 + _CARET_FREE_PX] == ground).all()
    # The side of a frame goes on at its corners; a caret is taller than the letters beside it.
    ends_free = (grey[[top - 1, top + tall], last : x + 1] == ground).all()
    return bool(free and ends_free and beside[0] == ground == beside[-1] and (beside == ground).mean() > 0.5)


def focus_ring(image: Pixels) -> Box | None:
    """The box of the first focus ring on the screen: a hollow frame that stands out from ordinary grey borders.

    Near-black as Chromium's, of any vivid colour, or, on a dark page, nearly white. An underline is not seen.
    """
    least_px = max(24, round(image.shape[1] * _RING_WIDTH_SHARE))
    if min(image.shape[:2]) < _RING_HEIGHT_PX:
        return None
    is_dark_page = float(np.median(image[::16, ::16])) < _DARK_PAGE
    for coloured in (_bright if is_dark_page else _dark, _vivid):
        few = coloured(image[:, ::_RING_STRIDE]).sum(axis=1, dtype=np.int32)
        rows = np.flatnonzero(few >= least_px // _RING_STRIDE)
        if rows.size:
            top, bottom = int(rows[0]), int(rows[-1]) + 1
            found = _frame(coloured(image[top:bottom]), least_px, image.shape[0])
            if found is not None:
                return found[0], found[1] + top, found[2], found[3] + top
    return None


def _dark(image: Pixels) -> _Mask:
    found: _Mask = (image[:, :, 0] == _RING_GREY) & (image[:, :, 1] == _RING_GREY) & (image[:, :, 2] == _RING_GREY)
    return found


def _bright(image: Pixels) -> _Mask:
    found: _Mask = image.min(axis=2) >= _RING_BRIGHT
    return found


def _vivid(image: Pixels) -> _Mask:
    red, green, blue = image[:, :, 0], image[:, :, 1], image[:, :, 2]
    most, least = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    found: _Mask = most - least >= _RING_VIVID
    return found


def _frame(mask: _Mask, least_px: int, height: int) -> Box | None:
    """The first hollow frame: two level bars of the same extent, one under the other, joined at both ends."""
    width = mask.shape[1]
    bars = [bar for bar in _bars(mask, least_px) if bar[3] - bar[1] <= _RING_THICK_PX]
    for i, (left, top, right, _) in enumerate(bars):
        for other_left, other_top, other_right, bottom in bars[i + 1 :]:
            tall = bottom - top
            if not _RING_HEIGHT_PX <= tall <= height * _RING_MOST_SHARE:
                continue
            if abs(other_left - left) > 3 or abs(other_right - right) > 3:
                continue
            sides = mask[top:bottom, [min(left + 1, width - 1), max(right - 2, 0)]].mean(axis=0)
            if sides.min() > 0.7 and mask[top:other_top, left:right].mean() < 0.7:
                return left, top, right, bottom
    return None


def _bars(mask: _Mask, least_px: int) -> list[Box]:
    """The longest level run of each group of neighbouring rows that has one of `least_px` or more."""
    bars: list[Box] = []
    for y in np.flatnonzero(mask.sum(axis=1, dtype=np.int32) >= least_px):
        edges = np.flatnonzero(np.diff(mask[y].astype(np.int8), prepend=0, append=0))
        lengths = edges[1::2] - edges[::2]
        longest = int(lengths.argmax())
        if lengths[longest] < least_px:
            continue
        left, right = int(edges[2 * longest]), int(edges[2 * longest + 1])
        if bars and bars[-1][3] == y and abs(bars[-1][0] - left) <= 6 and abs(bars[-1][2] - right) <= 6:
            old = bars[-1]
            bars[-1] = (min(old[0], left), old[1], max(old[2], right), int(y) + 1)
        elif len(bars) < _MOST_BANDS:
            bars.append((left, int(y), right, int(y) + 1))
    return bars
