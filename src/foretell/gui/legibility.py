"""Features of how crisp texts are: a disabled control is paler than its neighbours, a busy page is pale or bare in all.

Contrasts are measured on the boxes of lines alone, so that nothing has to be read for them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foretell.gui.actions import Point
from foretell.gui.pointing import NONE, Features
from foretell.gui.sight import Sight
from foretell.gui.words import Box

_MOST_LINES = 160
_LEAST_PIXELS = 20
_AROUND = (28, 12)  # pixels to each side of a point that stand for a control without a text
_CRISP = 0.55
_CENTRE = 0.12  # of each side: where spinners and notices are drawn
_STRIDE = 4


def legibility_features(sight: Sight, point: Point | None) -> Features:
    """The contrast of texts on the screen, of what is pointed at, and how the two compare."""
    found = dict(sight.kept_of_pixels("legibility", _of_screen))
    found |= dict.fromkeys(("own", "own_ratio", "own_rank", "own_colour", "near_ratio"), NONE)
    if point is None or not (0 <= point.x < sight.screen.width and 0 <= point.y < sight.screen.height):
        return found
    grey = sight.brightness
    place = sight.places.under(point.x, point.y)
    line = next((box for box in sight.screen.lines if _holds(box, point)), None)
    box = line or (place.box if place is not None and place.kind != "panel" else _around(point))
    own = _contrast(grey, box)
    if own is None:
        return found
    known = sight.kept_of_pixels("contrasts", _contrasts)
    found["own"] = own
    if known:
        values = np.array([value for _, value in known])
        found["own_ratio"] = own / max(0.02, float(np.median(values)))
        found["own_rank"] = float((values < own).mean())
        near = sorted(known, key=lambda pair: _gap(pair[0], point))[1:7]
        found["near_ratio"] = own / max(0.02, float(np.median([value for _, value in near]))) if near else NONE
    x, y, w, h = box
    part = sight.image[y : y + h, x : x + w].reshape(-1, 3).astype(np.int16)
    found["own_colour"] = float(np.quantile(part.max(axis=1) - part.min(axis=1), 0.9)) if len(part) else NONE
    return found


def _of_screen(sight: Sight) -> Features:
    values = [value for _, value in sight.kept_of_pixels("contrasts", _contrasts)]
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9)) if values else (NONE, NONE, NONE)
    small = sight.brightness[::_STRIDE, ::_STRIDE]
    counts = np.bincount((small // 4).ravel(), minlength=64)
    height, width = small.shape
    up, across = max(1, int(_CENTRE * height)), max(1, int(_CENTRE * width))
    centre = small[height // 2 - up : height // 2 + up, width // 2 - across : width // 2 + across]
    lines = sight.screen.lines
    inside = [box for box in lines if _is_central(box, sight.screen.width, sight.screen.height)]
    return {
        "low": float(low),
        "middle": float(middle),
        "high": float(high),
        "crisp": float(np.mean([value >= _CRISP for value in values])) if values else NONE,
        "lines": float(len(lines)),
        "flat": float(counts.max() / max(1, counts.sum())),
        "bright": float(small.mean()),
        "spread": float(small.std()),
        "centre_spread": float(centre.std()) if centre.size else NONE,
        "centre_lines": float(len(inside)),
    }


def _contrasts(sight: Sight) -> list[tuple[Box, float]]:
    grey = sight.brightness
    step = max(1, len(sight.screen.lines) // _MOST_LINES)
    found = ((box, _contrast(grey, box)) for box in sight.screen.lines[::step])
    return [(box, value) for box, value in found if value is not None]


def _contrast(grey: NDArray[np.uint8], box: Box) -> float | None:
    """The contrast of a text with its ground, 0 to 1; None where there is too little of it."""
    import cv2

    x, y, w, h = box
    part = grey[max(0, y) : y + h, max(0, x) : x + w]
    if part.size < _LEAST_PIXELS:
        return None
    reached = np.cumsum(cv2.calcHist([part], [0], None, [256], [0, 256]).ravel(), dtype=np.int64)
    low, high = np.searchsorted(reached, (int(0.03 * (part.size - 1)), int(0.97 * (part.size - 1))), side="right")
    return float(high - low) / 255.0


def _holds(box: Box, point: Point) -> bool:
    x, y, w, h = box
    return x - 2 <= point.x <= x + w + 2 and y - 3 <= point.y <= y + h + 3


def _around(point: Point) -> Box:
    across, down = _AROUND
    return max(0, int(point.x) - across), max(0, int(point.y) - down), 2 * across, 2 * down


def _gap(box: Box, point: Point) -> float:
    x, y, w, h = box
    return abs(x + w / 2 - point.x) + abs(y + h / 2 - point.y)


def _is_central(box: Box, width: int, height: int) -> bool:
    x, y, w, h = box
    return abs(x + w / 2 - width / 2) < _CENTRE * width and abs(y + h / 2 - height / 2) < _CENTRE * height
