"""What is on a screen, guessed from its pixels: grounds, boxes, small controls, coloured shapes, and lines of ink.

User interfaces put ink on flat ground. Pixels that resemble their neighbours and lie in a patch wide enough are ground;
all others are ink. A patch of ground that is not the page's own is a box (a button, a field), a small square or disc
(a checkbox, a radio button), or a coloured shape. Pieces of ink of a letter's size that stand side by side are a line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from foretell.gui.observation import Pixels
from foretell.gui.words import Box

ElementKind = Literal["text", "box", "square", "disc", "shape", "icon"]

_EDGE = 14  # a step in any colour between neighbours that is no gradient
_THIN, _THICK = 9, 21  # bounds on the least width of a patch of ground, in pixels
_LETTER_HEIGHT = (4, 120)  # pixels
_PAGE_SHARE = 0.3  # a patch that covers more of the picture is the page itself
_SMALL = 66  # the longest side of a checkbox or a radio button, in pixels
_MOST_LINES = 4096  # looked at, the largest: a screen full of the smallest table that can be read has fewer
_ROUND = (0.68, 0.86)  # a disc fills pi/4 of its box


@dataclass(frozen=True)
class Element:
    """One thing on the screen. `colour` is that of its ground, `area` the pixels it covers, `text` what it says."""

    kind: ElementKind
    box: Box
    colour: tuple[int, int, int] = (255, 255, 255)
    area: int = 0
    text: str = ""

    @property
    def centre(self) -> tuple[float, float]:
        x, y, w, h = self.box
        return x + w / 2, y + h / 2

    def holds(self, x: float, y: float) -> bool:
        left, top, w, h = self.box
        return left <= x < left + w and top <= y < top + h


@dataclass(frozen=True, eq=False)
class Screen:
    """The elements of a picture, and which pixels are ink. `page` is the colour of the largest patch of ground."""

    width: int
    height: int
    elements: tuple[Element, ...]
    lines: tuple[Box, ...]
    ink: NDArray[np.bool_]
    page: tuple[int, int, int]

    def under(self, x: float, y: float) -> list[Element]:
        """The elements whose boxes hold the point, smallest first."""
        return sorted((e for e in self.elements if e.holds(x, y)), key=lambda e: e.box[2] * e.box[3])

    def with_texts(self, elements: tuple[Element, ...]) -> Screen:
        return replace(self, elements=elements)


def distance(box: Box, x: float, y: float) -> float:
    """Pixels from a point to a box; inside it, the distance to its nearest edge as a negative number."""
    left, top, w, h = box
    before, after = left - x, x - (left + w - 1)
    dx = before if before >= after else after
    above, below = top - y, y - (top + h - 1)
    dy = above if above >= below else below
    if dx > 0:
        return math.hypot(dx, dy) if dy > 0 else float(dx)
    return float(dy) if dy > 0 else max(dx, dy)


def look(image: Pixels) -> Screen:
    """Find what is on a picture. Costs a few milliseconds for a small screen."""
    import cv2

    height, width = image.shape[:2]
    if min(height, width) < _LETTER_HEIGHT[0]:
        return Screen(width, height, (), (), np.zeros((height, width), dtype=bool), (255, 255, 255))
    flat = _flat(cv2, image)
    patches, stats = connected(cv2, flat, 4)
    ground = _wide(cv2, flat, patches, len(stats), _THIN)
    ink = np.take(~ground, patches)
    labels, pieces = connected(cv2, ink.view(np.uint8), 8)
    heights = pieces[(pieces[:, 3] >= 6) & (pieces[:, 3] <= 60) & (pieces[:, 2] <= 90), 3]
    least = int(np.clip(0.65 * np.median(heights), _THIN, _THICK)) if heights.size else _THIN
    if least != _THIN:
        ground = _wide(cv2, flat, patches, len(stats), least)
        ink = np.take(~ground, patches)
        labels, pieces = connected(cv2, ink.view(np.uint8), 8)
    regions = [int(i) for i in np.flatnonzero(ground) if i]
    boxes, page = _boxes(image, patches, stats, regions)
    lines = _lines(cv2, ink, labels, pieces, boxes)
    return Screen(width, height, tuple(boxes), lines, ink, page)


def _flat(cv2: Any, image: Pixels) -> NDArray[np.uint8]:
    """1 where a pixel resembles its neighbours to the right and below in all channels."""
    height, width = image.shape[:2]
    steps = np.zeros((height, width), dtype=np.uint8)
    across, down = steps[:, :-1], steps[:-1]
    for plane in cv2.split(image):
        cv2.max(across, cv2.absdiff(plane[:, 1:], plane[:, :-1]), dst=across)
        cv2.max(down, cv2.absdiff(plane[1:], plane[:-1]), dst=down)
    return (steps <= _EDGE).view(np.uint8)


def connected(cv2: Any, mask: NDArray[np.uint8], connectivity: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Connected pixels of a mask of 0 and 1: a label per pixel, and (x, y, w, h, area) per label, zeros for the rest.

    The sizes come from the runs of each row, of which there are far fewer than pixels.
    """
    count, labels = cv2.connectedComponents(mask, connectivity=connectivity)
    height, width = mask.shape
    edges = np.empty((height, width + 1), dtype=bool)
    edges[:, 0], edges[:, -1] = mask[:, 0], mask[:, -1]
    np.not_equal(mask[:, 1:], mask[:, :-1], out=edges[:, 1:-1])
    at = np.flatnonzero(edges)  # each run's first column and the one after its last, in turn
    rows, firsts = np.divmod(at[::2], width + 1)
    ends = at[1::2] - rows * (width + 1)
    owners = labels[rows, firsts]
    stats = np.zeros((count, 5), dtype=np.int64)
    left, right = np.full(count, width), np.zeros(count, dtype=np.int64)
    np.minimum.at(left, owners, firsts)
    np.maximum.at(right, owners, ends)
    last = np.zeros(count, dtype=np.int64)
    stats[owners[::-1], 1] = rows[::-1]  # rows are in order: the first and the last one of a label stay
    last[owners] = rows
    stats[1:, 0], stats[1:, 2] = left[1:], right[1:] - left[1:]
    stats[1:, 3] = last[1:] - stats[1:, 1] + 1
    stats[:, 4] = np.bincount(owners, weights=ends - firsts, minlength=count)
    return labels, stats


def _wide(cv2: Any, flat: NDArray[np.uint8], patches: NDArray[Any], count: int, least: int) -> NDArray[np.bool_]:
    """Which patches somewhere hold a square of `least` pixels a side."""
    cores = cv2.erode(flat, np.ones((least, least), np.uint8))
    cores[:, 1:] &= cores[:, :-1] ^ 1  # the first pixel of a run is as good as all of it
    wide = np.zeros(count, dtype=bool)
    wide[patches[np.nonzero(cores)]] = True
    wide[0] = False
    return wide


def _boxes(
    image: Pixels, patches: NDArray[Any], stats: NDArray[Any], regions: list[int]
) -> tuple[list[Element], tuple[int, int, int]]:
    """Elements made of patches of ground, and the colour of the page."""
    height, width = patches.shape
    found: list[Element] = []
    page, page_area = (255, 255, 255), 0
    for region in regions:
        x, y, w, h, area = (int(v) for v in stats[region])
        inside = patches[y : y + h, x : x + w] == region
        row = int(np.count_nonzero(inside, axis=1).argmax())
        columns = np.flatnonzero(inside[row])
        red, green, blue = (int(c) for c in image[y + row, x + columns[len(columns) // 2]])
        colour = red, green, blue
        if area > page_area:
            page, page_area = colour, area
        sides = (x <= 1) + (y <= 1) + (x + w >= width - 1) + (y + h >= height - 1)
        if area > _PAGE_SHARE * width * height or (sides >= 2 and area > 0.04 * width * height):
            continue
        found.append(Element(_shape(inside, w, h, colour), _grown((x, y, w, h), width, height), colour, area))
    return found, page


def _shape(inside: NDArray[np.bool_], w: int, h: int, colour: tuple[int, ...]) -> ElementKind:
    """What a patch of ground is, by the outline of its box that it fills."""
    first, last = inside.argmax(axis=1), w - inside[:, ::-1].argmax(axis=1)
    filled = float(((last - first) * inside.any(axis=1)).sum()) / (w * h)
    small = max(w, h) <= _SMALL and min(w, h) >= 0.8 * max(w, h)
    if filled > 0.9:
        return "square" if small and min(colour) > 200 else ("shape" if _vivid(colour) and small else "box")
    if small and _ROUND[0] < filled < _ROUND[1]:
        return "disc"
    return "shape"


def _vivid(colour: tuple[int, ...]) -> bool:
    return max(colour) - min(colour) > 60 or max(colour) < 60


def _grown(box: Box, width: int, height: int) -> Box:
    """A patch with the border around it."""
    x, y, w, h = box
    left, top = max(0, x - 2), max(0, y - 2)
    return left, top, min(width, x + w + 2) - left, min(height, y + h + 2) - top


def _lines(
    cv2: Any, ink: NDArray[np.bool_], labels: NDArray[Any], pieces: NDArray[Any], boxes: list[Element]
) -> tuple[Box, ...]:
    """Boxes of ink that stands in a row, top to bottom: text, and icons until someone tries to read them."""
    height, width = ink.shape
    w, h, area = pieces[:, 2], pieces[:, 3], pieces[:, 4]
    low, high = _LETTER_HEIGHT
    letter = (h >= low) & (h <= high) & (area >= 6)
    frames = np.zeros(len(pieces), dtype=bool)
    for element in boxes:  # the ring around a patch is a border, not a letter
        x, y, bw, bh = element.box
        for px, py in ((x + bw // 2, y), (x + bw // 2, y + bh - 1), (x, y + bh // 2), (x + bw - 1, y + bh // 2)):
            for at in (1, 2, 3):
                qx = min(max(px + (at if px == x else -at if px == x + bw - 1 else 0), 0), width - 1)
                qy = min(max(py + (at if py == y else -at if py == y + bh - 1 else 0), 0), height - 1)
                label = labels[qy, qx]
                if label and w[label] >= 0.9 * (bw - 6) and h[label] >= 0.9 * (bh - 6):
                    frames[label] = True
    frames |= (np.minimum(w, h) <= 5) & (np.maximum(w, h) > 60)
    frames |= (w > 60) & (h > 30) & (area < 0.12 * w * h)
    letter &= ~frames & ~((w > 0.5 * width) & (h > 60)) & (area < 0.9 * width * height)
    if not letter.any():
        return ()
    typical = float(np.median(h[letter]))
    mask = np.zeros((height, width), dtype=np.uint8)
    for x, y, bw, bh, _ in pieces[letter]:
        mask[y : y + bh, x : x + bw] = 1
    reach = max(3, round(0.75 * typical))
    joined = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((1, 2 * (reach // 2) + 1), np.uint8))
    for frame in np.flatnonzero(frames).tolist():
        x, y, bw, bh = (int(v) for v in pieces[frame, :4])
        joined[y : y + bh, x : x + bw][labels[y : y + bh, x : x + bw] == frame] = 0
    _, stats = connected(cv2, joined, 4)
    found = [(x, y, bw, bh) for x, y, bw, bh, _ in stats[1:].tolist()]
    return tuple(sorted(_merged(found, typical), key=lambda box: (box[1], box[0])))


def _merged(boxes: list[Box], typical: float) -> list[Box]:
    """Dots and accents joined to the line that they stand over; crumbs and what is beyond _MOST_LINES dropped."""
    done: list[Box] = []
    for box in sorted(boxes, key=lambda b: -b[2] * b[3])[:_MOST_LINES]:
        x, y, w, h = box
        host = next(
            (
                i
                for i, (ox, oy, ow, oh) in enumerate(done)
                if h < 0.7 * oh
                and x + w > ox - 0.35 * oh
                and x < ox + ow + 0.35 * oh
                and y + h > oy - 0.35 * oh
                and y < oy + oh + 0.1 * oh
                and oh <= 2.2 * typical
            ),
            None,
        )
        if host is None:
            done.append(box)
            continue
        ox, oy, ow, oh = done[host]
        left, top = min(x, ox), min(y, oy)
        done[host] = (left, top, max(x + w, ox + ow) - left, max(y + h, oy + oh) - top)
    return [box for box in done if box[2] >= 3 and box[3] >= 5]
