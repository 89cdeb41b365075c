"""When a screen has come to rest after an action, so that what it led to is seen and not its first flicker."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from foretell.gui.observation import Pixels

SETTLE_S = 0.8  # the most that is waited
QUIET_S = 0.35  # nothing has changed for so long: a shorter pause may be one between a click and its result
LOOK_EVERY_S = 0.08
_RENDERED_SHARE = 0.02  # of the pixels: a larger change between two looks is a page being built, not a caret or a ring


class Rest:
    """Is shown one look after the other and says when there is no need for another.

    That is when the screen differs from `before` and has been the same for `QUIET_S`, or when `settle_s` are over. A
    screen that is still as it was before the action is given all of them: the effect may be yet to come.
    """

    def __init__(self, before: Pixels, settle_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._before, self._clock = before, clock
        self._until_s = clock() + settle_s
        self._last: Pixels | None = None
        self._since_s = 0.0
        self._built_s = -math.inf
        self._looked_s = -math.inf

    @property
    def settled(self) -> bool:
        """Whether nothing but small things (a caret, a spinner) changed for `QUIET_S` before the last look."""
        return self._looked_s - self._built_s >= QUIET_S

    def enough(self, image: Pixels) -> bool:
        now_s = self._looked_s = self._clock()
        if self._last is None or not np.array_equal(image, self._last):
            if self._last is not None and _changed_share(self._last, image) > _RENDERED_SHARE:
                self._built_s = now_s
            self._last, self._since_s = image, now_s
        if now_s + LOOK_EVERY_S > self._until_s:
            return True
        return now_s - self._since_s >= QUIET_S and not np.array_equal(image, self._before)


def _changed_share(one: Pixels, other: Pixels) -> float:
    """The share of pixels that differ; 1 between screens of different sizes."""
    return 1.0 if one.shape != other.shape else float((one != other).any(axis=2).mean())
