"""Looking at a screen once: its elements, its words and its places, remembered while the screen stays the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from foretell.gui.elements import Screen, look
from foretell.gui.history import screen_digest
from foretell.gui.observation import Observation, Pixels
from foretell.gui.ocr import Ocr
from foretell.gui.places import Places, places

_KEPT = 8

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Sight:
    """A screen as the critic sees it. `digest` names its pixels as the history's steps do."""

    image: Pixels
    digest: str
    screen: Screen
    places: Places
    _worked_out: dict[str, Any] = field(default_factory=dict, repr=False)

    def kept(self, name: str, work: Callable[[Sight], T]) -> T:
        """What `work` finds on this screen, worked out once: many proposals may be judged on it."""
        if name not in self._worked_out:
            self._worked_out[name] = work(self)
        found: T = self._worked_out[name]
        return found


class Eyes:
    """Sees observations; safe to share between threads. Raises OcrError where the weights are missing."""

    def __init__(self, reader: Ocr | None = None) -> None:
        self.reader = reader or Ocr()
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], Sight] = OrderedDict()

    def see(self, observation: Observation) -> Sight:
        digest = screen_digest(observation.image)
        key = digest, observation.goal
        with self._lock:
            known = self._seen.get(key)
        if known is not None:
            return known
        screen = look(observation.image)
        words = self.reader.read_lines(observation.image, screen.lines)
        sight = Sight(observation.image, digest, screen, places(observation.image, screen, words, observation.goal))
        with self._lock:
            self._seen[key] = sight
            while len(self._seen) > _KEPT:
                self._seen.popitem(last=False)
        return sight
