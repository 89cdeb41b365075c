"""What a changed region looks like: a box that was ticked, an outline that shows the focus, the field around a text."""

from __future__ import annotations

import numpy as np

from foretell.gui.actions import Point
from foretell.gui.effects import Mask, crop, grown
from foretell.gui.observation import Pixels
from foretell.gui.words import Box

_TOGGLE_SIDES_PX = (7, 64)
_TOGGLE_SHAPE = (0.7, 1.45)
_MOST_GLOW_PX = 6  # around a box that has the focus
_DOT_FILLED = (0.6, 0.95)  # of its square; a disc fills 0.79
_INK = 60  # levels of light between ink and paper
_HANGS_PX = 3  # changed pixels so close together are of one thing
_MOST_GROWTH = 64  # steps in which a box grows; what is larger is cut off there
_PLAIN = 6.0  # standard deviation of the light in what has nothing in it
_SAME_PAPER = 40.0
_FRAME = 25.0  # levels of light between a frame and what is in it
_WHITE = 245.0
_SAME_GROUND, _GREYISH, _GROUND_SHARE = 24, 48, 0.6  # levels within and between channels; of the pixels
_FIELD_HEIGHT_PX = 10
_FIELD_SHAPE = 1.4  # a field is at least so much wider than high
_INSIDE_CHANGED = 0.01
_SIDE_CHANGED = 0.9


def field_around(image: Pixels, region: Box) -> Box:
    """The region widened to the sides of the field that it lies in, or so far as a field may reach."""
    height, width = image.shape[:2]
    reach = 12 * region[3]
    x, y, wide, tall = grown(region, reach, 3, width, height)
    rows = image[region[1] : region[1] + region[3], x : x + wide].astype(np.int16).mean(axis=2)
    steps = np.abs(np.diff(rows, axis=1))
    # A side is a column where nearly every row has an edge; letters have one in some rows only.
    sides = np.flatnonzero((steps > 12).mean(axis=0) > 0.9) + x
    left = max((int(s) + 2 for s in sides if s < region[0] - 1), default=x)
    right = min((int(s) for s in sides if s >= region[0] + region[2]), default=x + wide)
    return left, y, max(region[2], right - left), tall


def local_box(mask: Mask, point: Point, within_px: float) -> Box | None:
    """The box of the changed pixels around a point that hang together, apart from other changes nearby.

    None where nothing changed so close to the point.
    """
    height, width = mask.shape
    reach = int(within_px)
    x, y = int(point.x), int(point.y)
    left, top, wide, tall = grown((x, y, 1, 1), reach, reach, width, height)
    rows, columns = np.nonzero(mask[top : top + tall, left : left + wide])
    if not rows.size:
        return None
    nearest = int(np.argmin(np.hypot(rows + top - y, columns + left - x)))
    box = (int(columns[nearest]) + left, int(rows[nearest]) + top, 1, 1)
    for _ in range(_MOST_GROWTH):
        wider = grown(box, _HANGS_PX, _HANGS_PX, width, height)
        inner_rows, inner_columns = np.nonzero(mask[wider[1] : wider[1] + wider[3], wider[0] : wider[0] + wider[2]])
        x0, y0 = wider[0] + int(inner_columns.min()), wider[1] + int(inner_rows.min())
        new = (x0, y0, wider[0] + int(inner_columns.max()) + 1 - x0, wider[1] + int(inner_rows.max()) + 1 - y0)
        if new == box:
            break
        box = new
    return box


def ticked(before: Pixels, after: Pixels, region: Box) -> bool | None:
    """Whether a small box was filled (true) or emptied (false); None if it is not a checkbox.

    The box may be the region or lie within it: some get a glow around them.
    """
    x, y, width, height = region
    low, high = _TOGGLE_SIDES_PX
    shape = width / height
    if not (low <= min(width, height) and max(width, height) <= high and _TOGGLE_SHAPE[0] <= shape <= _TOGGLE_SHAPE[1]):
        return None
    for glow in range(_MOST_GLOW_PX + 1):
        box = (x + glow, y + glow, width - 2 * glow, height - 2 * glow)
        if min(box[2:]) < low or (glow and not _is_plain_around(before, region, box)):
            break
        was, now = _is_empty_box(before, box), _is_empty_box(after, box)
        if was != now:
            return was
    return None


def _is_plain_around(image: Pixels, region: Box, box: Box) -> bool:
    """Whether a region is plain outside of a box in it."""
    light = crop(image, region).astype(np.int16).mean(axis=2)
    outside = np.ones(light.shape, dtype=bool)
    left, top = box[0] - region[0], box[1] - region[1]
    outside[top : top + box[3], left : left + box[2]] = False
    return float(light[outside].std()) <= _PLAIN


def _is_empty_box(image: Pixels, region: Box) -> bool:
    """A frame around something plain, as light as what lies around it: an unset check box or radio button."""
    light = crop(image, region).astype(np.int16).mean(axis=2)
    height, width = light.shape
    inner = light[height // 4 : height - height // 4, width // 4 : width - width // 4]
    if inner.size == 0 or float(inner.std()) > _PLAIN:
        return False
    around = crop(image, grown(region, 3, 3, image.shape[1], image.shape[0])).astype(np.int16).mean(axis=2)
    paper = float(np.median(np.r_[around[0], around[-1], around[:, 0], around[:, -1]]))
    if abs(float(inner.mean()) - paper) > _SAME_PAPER and float(inner.mean()) < _WHITE:
        return False
    border = max(1, min(height, width) // 6)
    sides = (light[:border], light[-border:], light[:, :border], light[:, -border:])
    # The middle of each side: a round button has no corners.
    middles = [np.array_split(side, 3, axis=int(side.shape[1] > side.shape[0]))[1] for side in sides]
    return all(float(np.abs(middle - float(inner.mean())).max()) > _FRAME for middle in middles)


def focus_ring(after: Pixels, mask: Mask, point: Point) -> Box | None:
    """The field around a point that an outline marks: a wide plain box, changed all around and not inside.

    Other things that get an outline (a chosen picture or colour) are selected rather than focused: they do not count.
    """
    height, width = mask.shape
    x, y = int(point.x), int(point.y)
    if not (0 <= x < width and 0 <= y < height) or mask[y, x]:
        return None
    across, down = np.flatnonzero(mask[y]), np.flatnonzero(mask[:, x])
    lefts, rights, ups, downs = across[across < x], across[across > x], down[down < y], down[down > y]
    if not (lefts.size and rights.size and ups.size and downs.size):
        return None
    left, right, top, bottom = int(lefts[-1]), int(rights[0]), int(ups[-1]), int(downs[0])
    wide, tall = right - left - 1, bottom - top - 1
    if tall < _FIELD_HEIGHT_PX or wide < _FIELD_SHAPE * tall:
        return None
    inside = (slice(top + 1, bottom), slice(left + 1, right))
    if float(mask[inside].mean()) > _INSIDE_CHANGED or not _is_plain_grey(after[inside]):
        return None
    corner = tall // 5  # rounded corners are left out
    sides = (
        mask[max(0, top - 2) : top + 2, left + corner : right - corner].any(axis=0),
        mask[bottom - 1 : bottom + 3, left + corner : right - corner].any(axis=0),
        mask[top + corner : bottom - corner, max(0, left - 2) : left + 2].any(axis=1),
        mask[top + corner : bottom - corner, right - 1 : right + 3].any(axis=1),
    )
    whole = all(side.size and float(side.mean()) > _SIDE_CHANGED for side in sides)
    return (left, top, wide + 2, tall + 2) if whole else None


def _is_plain_grey(part: Pixels) -> bool:
    """Whether most of a part is one shade without colour, bright or dark: the ground of a field, not of a picture."""
    part = part.reshape(-1, 3)[:: max(1, part.size // 30_000)].astype(np.int16)
    ground = np.median(part, axis=0)
    same = np.abs(part - ground).max(axis=1) <= _SAME_GROUND
    return bool(np.ptp(ground) <= _GREYISH and float(same.mean()) >= _GROUND_SHARE)


def dots_in(image: Pixels, region: Box) -> int:
    """How many equal round dots stand in a row in a region, as a password field shows them; 0 where it is not that."""
    light = crop(image, region).astype(np.int16).mean(axis=2)
    # Round dots leave the corners free, while they may cover more than half of the region.
    paper = float(np.median([light[0, 0], light[0, -1], light[-1, 0], light[-1, -1]]))
    ink = np.abs(light - paper) > _INK
    columns = np.flatnonzero(np.diff(np.r_[False, ink.any(axis=0), False]))
    begins, ends = columns[::2], columns[1::2]
    if len(begins) < 2:
        return 0
    widths, gaps = ends - begins, begins[1:] - ends[:-1]
    if np.ptp(widths) > 2 or np.ptp(gaps) > 2 or int(gaps.max()) > 2 * int(widths.max()):
        return 0
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        dot = ink[:, begin:end]
        rows = np.flatnonzero(dot.any(axis=1))
        tall = int(rows[-1] - rows[0]) + 1
        if abs(tall - (end - begin)) > 2 or tall < 3:
            return 0
        if not _DOT_FILLED[0] <= float(dot[rows[0] : rows[-1] + 1].mean()) <= _DOT_FILLED[1]:
            return 0
    return len(begins)
