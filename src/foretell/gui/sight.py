"""Looking at a screen once: its elements, its words and its places, remembered while the screen stays the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from foretell.gui.elements import Screen, look
from foretell.gui.experts import is_small
from foretell.gui.history import screen_digest
from foretell.gui.observation import Observation, Pixels
from foretell.gui.ocr import Ocr
from foretell.gui.places import Places, places
from foretell.gui.reading import Interest, lines_to_read
from foretell.gui.words import Box

_KEPT = 8

T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True, eq=False)
class Sight:
    """A screen as the critic sees it. `digest` names its pixels as the history's steps do."""

    image: Pixels
    digest: str
    screen: Screen
    places: Places
    is_partial: bool = False  # some lines were not read
    _worked_out: dict[str, Any] = field(default_factory=dict, repr=False)
    _of_pixels: dict[str, Any] = field(default_factory=dict, repr=False)

    def kept(self, name: str, work: Callable[[Sight], T]) -> T:
        """What `work` finds on this screen, worked out once: many proposals may be judged on it."""
        if name not in self._worked_out:
            self._worked_out[name] = work(self)
        found: T = self._worked_out[name]
        return found

    def kept_of_pixels(self, name: str, work: Callable[[Sight], T]) -> T:
        """As `kept`, for what does not depend on which lines were read: worked out once for all looks at a screen."""
        if name not in self._of_pixels:
            self._of_pixels[name] = work(self)
        found: T = self._of_pixels[name]
        return found

    @property
    def brightness(self) -> NDArray[np.uint8]:
        """The brightest channel of each pixel."""
        return self.kept_of_pixels("brightness", lambda sight: brightness(sight.image))


def brightness(image: Pixels) -> NDArray[np.uint8]:
    """The brightest channel of each pixel of a picture."""
    import cv2

    if not image.size:
        return np.zeros(image.shape[:2], dtype=np.uint8)
    red, green, blue = cv2.split(image)
    return np.asarray(cv2.max(cv2.max(red, green), blue), dtype=np.uint8)


class Eyes:
    """Sees observations; safe to share between threads. Raises OcrError where the weights are missing."""

    def __init__(self, reader: Ocr | None = None) -> None:
        self.reader = reader or Ocr()
        self._lock = threading.Lock()
        self._screens: OrderedDict[str, tuple[Screen, dict[str, Any]]] = OrderedDict()
        self._seen: OrderedDict[tuple[str, str, tuple[Box, ...]], Sight] = OrderedDict()

    def see(self, observation: Observation, about: Interest | None = None) -> Sight:
        """The screen with its words; of a dense page only those that are worth reading `about` a proposal.

        Small pages are read as a whole: the model that judges them was trained on all of their words.
        """
        image, goal = observation.image, observation.goal
        digest = screen_digest(image)
        with self._lock:
            looked = self._screens.get(digest)
        screen, of_pixels = looked or (look(image), {})
        boxes = lines_to_read(screen.lines, None if is_small(observation.size) else about)
        key = digest, goal, tuple(boxes)
        with self._lock:
            known = self._seen.get(key)
            _keep(self._screens, digest, (screen, of_pixels))
        if known is not None:
            return known
        words = self.reader.read_lines(image, tuple(boxes))
        unread = frozenset[Box]() if len(boxes) == len(screen.lines) else _left_out(screen.lines, boxes)
        found = places(image, screen, words, goal, unread)
        sight = Sight(image, digest, screen, found, bool(unread), _of_pixels=of_pixels)
        with self._lock:
            _keep(self._seen, key, sight)
        return sight


def _keep(memory: OrderedDict[K, T], key: K, value: T) -> None:
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > _KEPT:
        memory.popitem(last=False)


def _left_out(lines: Sequence[Box], read: Sequence[Box]) -> frozenset[Box]:
    """The lines of which no part was read."""
    rows = [(y, h, x, x + w) for x, y, w, h in read]
    return frozenset(
        (x, y, w, h)
        for x, y, w, h in lines
        if not any((y, h) == (top, tall) and x <= left and right <= x + w for top, tall, left, right in rows)
    )
