"""When a screen has come to rest after an action, so that what it led to is seen and not its first flicker."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from foretell.gui.actions import Point
from foretell.gui.claims import HOVER
from foretell.gui.observation import Pixels

SETTLE_S = 0.8  # the most that is waited
QUIET_S = 0.35  # nothing has changed for so long: a shorter pause may be one between a click and its result
LOOK_EVERY_S = 0.08
NAVIGATE_S = 5.0  # the most that is waited while a page says that it is loading
_POINTER_PX = (160, 40)  # pixels to each side of the pointer in which a shade may be its doing
_AROUND_PX = (40, 20)  # pixels to each side of a point that belong to what is pressed there
_DIFFERENT_SHARE = 0.02  # of those pixels: less is a caret
_RENDERED_SHARE = 0.02  # of the pixels: a larger change between two looks is a page being built, not a caret or a ring


class Rest:
    """Is shown one look after the other and says when there is no need for another.

    That is when the screen differs from `before` and has been the same for `QUIET_S`, or when `settle_s` are over. A
    screen that is still as it was before the action is given all of them: the effect may be yet to come. What the
    pointer does by itself, a faint shade around the `point` where it rests, is no effect. While a page says that it is
    `loading`, up to `NAVIGATE_S` are waited.
    """

    def __init__(
        self,
        before: Pixels,
        settle_s: float,
        clock: Callable[[], float] = time.monotonic,
        point: Point | None = None,
    ) -> None:
        self._before, self._clock, self._point = before, clock, point
        self._until_s = clock() + settle_s
        self._at_most_s = clock() + max(settle_s, NAVIGATE_S)
        self._last: Pixels | None = None
        self._since_s = 0.0
        self._built_s = self._loaded_s = -math.inf
        self._looked_s = -math.inf

    @property
    def settled(self) -> bool:
        """Whether nothing but small things (a caret, a spinner) changed for `QUIET_S` before the last look."""
        return self._looked_s - self._built_s >= QUIET_S

    def enough(self, image: Pixels, loading: bool = False) -> bool:
        now_s = self._looked_s = self._clock()
        if self._last is None or not np.array_equal(image, self._last):
            if self._last is not None and _changed_share(self._last, image) > _RENDERED_SHARE:
                self._built_s = now_s
            self._last, self._since_s = image, now_s
        if loading:
            self._built_s = self._loaded_s = now_s
        if now_s - self._loaded_s < QUIET_S:
            return now_s + LOOK_EVERY_S > self._at_most_s
        if now_s + LOOK_EVERY_S > self._until_s:
            return True
        return now_s - self._since_s >= QUIET_S and self._has_effect(image)

    def _has_effect(self, image: Pixels) -> bool:
        """Whether something happened since `before` that the pointer alone does not do."""
        if image.shape != self._before.shape or self._point is None:
            return not np.array_equal(image, self._before)
        apart = (np.maximum(image, self._before) - np.minimum(image, self._before)).max(axis=2)
        x, y = int(self._point.x), int(self._point.y)
        around = apart[max(0, y - _POINTER_PX[1]) : y + _POINTER_PX[1], max(0, x - _POINTER_PX[0]) : x + _POINTER_PX[0]]
        around[around < HOVER] = 0
        return bool(apart.any())


def differs_at(before: Pixels, now: Pixels, point: Point) -> bool:
    """Whether what lies around a point looks different now; a faint shade, as a pointer makes, is no difference."""
    if before.shape != now.shape:
        return True
    x, y = int(point.x), int(point.y)
    rows, columns = (
        slice(max(0, y - _AROUND_PX[1]), y + _AROUND_PX[1]),
        slice(max(0, x - _AROUND_PX[0]), x + _AROUND_PX[0]),
    )
    one, other = before[rows, columns], now[rows, columns]
    apart = (np.maximum(one, other) - np.minimum(one, other)).max(axis=2, initial=0)
    return bool(apart.size) and float((apart >= HOVER).mean()) > _DIFFERENT_SHARE


def _changed_share(one: Pixels, other: Pixels) -> float:
    """The share of pixels that differ; 1 between screens of different sizes."""
    return 1.0 if one.shape != other.shape else float((one != other).any(axis=2).mean())
