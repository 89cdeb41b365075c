"""Recorded screens made to look like those of other pages: dark, larger, or with small letters.

The recorded pages are all bright, of one size and with large letters. A critic that saw nothing else would take a dark
page or a wide one for a fault. What was right on a screen is right on its variants.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from foretell.gui.actions import Action, Point
from foretell.gui.dataset import Row
from foretell.gui.history import Step, screen_digest
from foretell.gui.observation import Pixels

WAYS = ("dark", "wide", "small")
_PICTURES = 18  # of so many, one is shown in each way; with more of them recorded pages are judged less well
_WIDE = (1280, 960)
_SMALL = 2  # times smaller


def ways(rows: Iterable[Row]) -> Iterator[tuple[Row, str]]:
    """The rows for training that are also shown in another way, with the way."""
    for row in rows:
        way, even = divmod(zlib.crc32(row.image.encode()) % _PICTURES, 2)
        if row.split == "train" and even == 0 and way < len(WAYS):
            yield row, WAYS[way]


def varied(row: Row, image: Pixels, way: str) -> tuple[Row, Pixels]:
    """The row on the screen as it looks that way."""
    if way == "dark":
        return _on(row, image, np.ascontiguousarray(255 - image), 0.0, 0.0, 1.0)
    scale = 1 if way == "wide" else _SMALL
    shrunk = _shrunk(image, scale)
    (height, width), (most_x, most_y) = shrunk.shape[:2], _WIDE
    screen = np.full((max(most_y, height), max(most_x, width), 3), np.median(shrunk, axis=(0, 1)), np.uint8)
    rng = np.random.default_rng(zlib.crc32(row.image.encode()))
    x, y = (int(rng.integers(room + 1)) for room in (screen.shape[1] - width, screen.shape[0] - height))
    screen[y : y + height, x : x + width] = shrunk
    return _on(row, image, screen, float(x), float(y), 1.0 / scale)


def _shrunk(image: Pixels, times: int) -> Pixels:
    """Blocks of pixels made one, by their mean."""
    height, width = (side // times * times for side in image.shape[:2])
    blocks = image[:height, :width].reshape(height // times, times, width // times, times, 3)
    return np.asarray(blocks.mean(axis=(1, 3)).round(), dtype=np.uint8)


def _on(row: Row, image: Pixels, screen: Pixels, x: float, y: float, scale: float) -> tuple[Row, Pixels]:
    before, now = screen_digest(image), screen_digest(screen)

    def moved(point: Point | None) -> Point | None:
        return None if point is None else Point(x + scale * point.x, y + scale * point.y)

    def placed(action: Action) -> Action:
        own, to = moved(action.point), moved(action.to)
        return replace(action, point=own, to=to, dx=scale * action.dx, dy=scale * action.dy)

    def past(step: Step) -> Step:
        return replace(step, action=placed(step.action), screen=now if step.screen == before else step.screen)

    history = replace(row.history, steps=tuple(map(past, row.history.steps)))
    proposal = replace(row.proposal, actions=tuple(map(placed, row.proposal.actions)))
    return replace(row, history=history, proposal=proposal), screen
