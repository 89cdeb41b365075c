"""Whether a screen is still at work: what it says of itself, what changed since the last look, and lost contrast.

Grey text, the shade behind a dialog and a status such as "In Progress" are ordinary. A notice is a line of its own that
asks to wait. A cover pales everything under it, so that contrast is compared with the same texts on the screen before,
or, where that is not known, with what is crisp on this one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.elements import distance
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.experts import is_small
from foretell.gui.notices import is_busy
from foretell.gui.observation import Observation, Pixels
from foretell.gui.pointing import Features
from foretell.gui.sight import Sight, brightness
from foretell.gui.wording import folded
from foretell.gui.words import Box

_WORD = re.compile(r"\w+")
_PALE = 0.4  # of the contrast; black on white has lost nothing
_LEAST_PIXELS = 20  # of a text
_CRISP = 0.55  # contrast of a text that no cover lies over
_CRISP_TEXTS = 3  # a cover's own notice has fewer; a dialog over a shaded page has as many
_PALE_TEXTS = 2  # on a small page, beside the one row that is crisp
_ROW_SHARE = 0.6  # of a text's height, by which middles of texts in one row may be apart
_NEAR_PX = 60  # around the point: crisp text so close belongs to what is acted on
_SHARED_TEXTS = 3  # texts that stand on both screens, for one to be compared with the other
_SAME_TEXT = 0.85  # correlation of the pixels
_LOST = 0.25  # of its contrast on the screen before; less is a hover shade or a fade


def says_busy(sight: Sight, page: Evidence | None = None) -> bool:
    """Whether some line of the screen says that the page is at work.

    What a page knows as the name of a link, a button, a field or an entry, or as a part of a row, is no such line.
    """
    lines = sight.kept("busy", _busy_lines)
    if not lines or page is None:
        return bool(lines)
    names = [_plain(text) for one in page.seen or () for text in _texts(one)]
    return any(not any(_stands_in(_plain(line), name) for name in names) for line in lines)


def _busy_lines(sight: Sight) -> tuple[str, ...]:
    return tuple(word.text for word in sight.places.words if is_busy(word.text))


def _texts(element: ElementAt) -> tuple[str, ...]:
    """The name of an element, and its row, which holds that name as the title of a dialog does not."""
    is_row = bool(element.name) and element.context != element.name and element.name in element.context
    return (element.name, element.context) if is_row else (element.name,)


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(folded(text)))


def _stands_in(line: str, name: str) -> bool:
    return f" {line} " in f" {name} "


def veil(sight: Sight, earlier: Pixels | None = None, point: Point | None = None) -> float:
    """How much contrast a cover takes from the texts, 0 to 1; 0 where there is no cover.

    `earlier` is the screen before: what was as pale there is not covered. Crisp text at the `point`, or some of it
    anywhere, as in a dialog over a shaded page, means that one can act. On a small page a single crisp row over pale
    texts does not: notices on covers look like that.
    """
    boxes = [word.box for word in sight.places.words if not is_busy(word.text)]
    grey = sight.brightness
    contrasts = {box: contrast for box in boxes if (contrast := _contrast(grey, box)) is not None}
    crisp = [box for box, contrast in contrasts.items() if contrast >= _CRISP]
    pale_ones = {box: contrast for box, contrast in contrasts.items() if contrast < _CRISP}
    height, width = sight.image.shape[:2]
    if is_small((width, height)) and len(pale_ones) >= _PALE_TEXTS and _is_one_row(crisp):
        contrasts = pale_ones  # the row is the notice of a cover, which is often read in pieces
    elif not contrasts or len(crisp) >= _CRISP_TEXTS or _is_near(point, crisp):
        return 0.0
    lost = None if earlier is None else _lost_since(sight.image, earlier, contrasts)
    if lost is not None:
        return lost if lost > _LOST else 0.0
    pale = 1.0 - float(np.quantile(list(contrasts.values()), 0.75))
    return max(0.0, (pale - _PALE) / (1.0 - _PALE))


def _is_near(point: Point | None, boxes: Sequence[Box]) -> bool:
    return point is not None and any(distance(box, point.x, point.y) <= _NEAR_PX for box in boxes)


def _is_one_row(boxes: Sequence[Box]) -> bool:
    """Whether boxes stand side by side; not so where there is none."""
    middles = [y + h / 2 for _, y, _, h in boxes]
    return bool(boxes) and max(middles) - min(middles) <= _ROW_SHARE * max(h for *_, h in boxes)


def _contrast(grey: NDArray[np.uint8], box: Box) -> float | None:
    """The contrast of a text with its own ground, so that dark pages are no paler than bright ones."""
    x, y, w, h = box
    part = grey[y : y + h, x : x + w]
    return None if part.size < _LEAST_PIXELS else float(np.subtract(*np.quantile(part, (0.97, 0.03)))) / 255.0


def _lost_since(image: Pixels, earlier: Pixels, contrasts: dict[Box, float]) -> float | None:
    """The share of contrast that texts have lost since the screen before; None where too few stand on both."""
    if earlier.shape != image.shape:
        return None
    now_grey, then_grey = brightness(image), brightness(earlier)
    ratios = []
    for box, now in contrasts.items():
        x, y, w, h = box
        then = _contrast(then_grey, box)
        parts = [grey[y : y + h, x : x + w].astype(np.float64).ravel() for grey in (now_grey, then_grey)]
        if then is None or then < 0.05 or min(part.std() for part in parts) == 0.0:
            continue
        if float(np.asarray(np.corrcoef(parts))[0, 1]) >= _SAME_TEXT:
            ratios.append(now / then)
    return None if len(ratios) < _SHARED_TEXTS else max(0.0, 1.0 - float(np.median(ratios)))


def waiting_features(sight: Sight, action: Action | None, observation: Observation | None = None) -> Features:
    """Whether the page is busy, and whether the proposal waits.

    A screen that was seen to change until it was looked at (`Observation.settled` false) is busy whatever it shows.
    """
    earlier, settled, page = None, None, None
    if observation is not None:
        earlier, settled, page = observation.earlier, observation.settled, observation.evidence
    lost = veil(sight, earlier, None if action is None else action.point)
    busy = says_busy(sight, page) or settled is False
    still = busy or lost > 0.0
    waits = action is not None and action.kind is Kind.WAIT
    return {
        "veil": lost,
        "busy": float(busy),
        "hasty": float(still and not waits),
        "idle": float(waits and not still),
    }
