"""The proposed points drawn on the screenshot, and a magnified crop around each: what a critic, or a person, looks at.

A red diagonal cross, open in its middle, marks where something is pressed, a blue arrow what is dragged, each with a
white rim so that it shows on any ground. Where there are several, each has its number. A point beyond the edge is drawn
at the edge, one that is nowhere (infinite, or no number) not at all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from foretell.gui.actions import Action, Point
from foretell.gui.observation import Pixels, Proposal, is_placed

if TYPE_CHECKING:
    from PIL import ImageDraw

RED = (230, 0, 0)
BLUE = (0, 70, 230)
WHITE = (255, 255, 255)
_ARM_SHARE, _LEAST_ARM_PX, _MOST_ARM_PX = 0.03, 7, 40  # a cross's arm, of the screen's shorter side
_GAP_SHARE = 0.45  # of a cross's arm that is left open around the point
_CROP_WIDTH_SHARE, _CROP_HEIGHT_SHARE, _LEAST_CROP_PX = 0.6, 0.25, 64  # a crop's part of the screen
_CROP_PX, _MOST_MAGNIFIED, _CROP_ARM_SHARE = 1024, 4.0, 0.15  # its width afterwards, and a cross's arm in it

_Spot = tuple[float, float]


def arm_px(image: Pixels) -> int:
    """How long a cross's arm is on this screen."""
    shorter: int = min(image.shape[:2])
    return round(min(max(shorter * _ARM_SHARE, _LEAST_ARM_PX), _MOST_ARM_PX))


def marked(image: Pixels, proposal: Proposal) -> Pixels:
    """The screenshot with every point of the proposal drawn on it; the screenshot itself is left as it is."""
    from PIL import Image, ImageDraw

    picture = Image.fromarray(image)
    draw = ImageDraw.Draw(picture)
    actions = _with_points(proposal)
    arm = arm_px(image)
    for number, action in enumerate(actions, start=1):
        at = _on_screen(action.point, image)
        if action.to is None:
            _cross(draw, at, arm)
        else:
            _arrow(draw, at, _on_screen(action.to, image), arm)
        if len(actions) > 1:
            _number(draw, at, number, arm, image)
    return np.asarray(picture)


def crop(image: Pixels, point: Point) -> Pixels:
    """The part of the screen around a point, magnified: wide, so that a row and the label beside a field stay in it.

    The part is moved to where it lies on the screen as a whole, so that the point need not be its middle.
    """
    return _cut(image, point)[0]


def evidence(image: Pixels, proposal: Proposal) -> dict[str, Pixels]:
    """Named pictures: the screen with its marks, and a crop around each point ("crop", or "crop 1" and so on).

    Crosses leave their middle open, so that what lies under the point is seen. A drag has a crop for its end too.
    """
    from PIL import Image, ImageDraw

    pictures = {"screen": marked(image, proposal)}
    actions = _with_points(proposal)
    for number, action in enumerate(actions, start=1):
        which = f" {number}" if len(actions) > 1 else ""
        for name, point in ((f"crop{which}", action.point), (f"crop{which} end", action.to)):
            if point is None:
                continue
            part, at = _cut(image, point)
            picture = Image.fromarray(part)
            arm = min(max(_LEAST_ARM_PX, round(part.shape[0] * _CROP_ARM_SHARE)), _MOST_ARM_PX)
            _cross(ImageDraw.Draw(picture), at, arm, RED if action.to is None else BLUE)
            pictures[name] = np.asarray(picture)
    return pictures


def _cut(image: Pixels, point: Point) -> tuple[Pixels, _Spot]:
    """The magnified part around a point, and where in it the point lies."""
    from PIL import Image

    height, width = image.shape[:2]
    if not height or not width:
        return image, (0.0, 0.0)
    wide = min(width, max(_LEAST_CROP_PX, round(width * _CROP_WIDTH_SHARE)))
    high = min(height, max(_LEAST_CROP_PX, round(height * _CROP_HEIGHT_SHARE)))
    x, y = _on_screen(point, image)
    left = int(min(max(x - wide / 2, 0), width - wide))
    top = int(min(max(y - high / 2, 0), height - high))
    scale = min(max(1.0, _CROP_PX / wide), _MOST_MAGNIFIED)
    size = (round(wide * scale), round(high * scale))
    part = Image.fromarray(image[top : top + high, left : left + wide]).resize(size, Image.Resampling.BICUBIC)
    return np.asarray(part), ((x - left) * scale, (y - top) * scale)


def _with_points(proposal: Proposal) -> list[Action]:
    return [action for action in proposal.actions if action.point is not None and is_placed(action)]


def _on_screen(point: Point | None, image: Pixels) -> _Spot:
    assert point is not None
    return min(max(point.x, 0), image.shape[1] - 1), min(max(point.y, 0), image.shape[0] - 1)


def _widths(arm: int) -> tuple[int, int]:
    """How wide a line is, and how wide it is with its rim."""
    line = min(max(2, round(arm / 5)), 6)
    return line, line + 2 * max(1, round(line / 2))


def _cross(draw: ImageDraw.ImageDraw, at: _Spot, arm: int, colour: tuple[int, int, int] = RED) -> None:
    """Four diagonal arms that begin beside the point: the line of text that it lies on stays readable."""
    line, rimmed = _widths(arm)
    x, y = at
    gap = max(2, round(arm * _GAP_SHARE))
    for width, fill in ((rimmed, WHITE), (line, colour)):
        longer = arm + (rimmed - line) // 2 * (fill == WHITE)
        for dx, dy in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            ends = (x + dx * gap, y + dy * gap, x + dx * longer, y + dy * longer)
            draw.line(ends, fill=fill, width=width)


def _arrow(draw: ImageDraw.ImageDraw, start: _Spot, end: _Spot, arm: int) -> None:
    line, rimmed = _widths(arm)
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    length = math.hypot(end[0] - start[0], end[1] - start[1])
    wings = [(end[0] - arm * math.cos(angle + turn), end[1] - arm * math.sin(angle + turn)) for turn in (0.5, -0.5)]
    neck = (
        start[0] + max(length - arm * 0.8, 0) * math.cos(angle),
        start[1] + max(length - arm * 0.8, 0) * math.sin(angle),
    )
    for width, fill in ((rimmed, WHITE), (line, BLUE)):
        out = (rimmed - line) / 2 if fill == WHITE else 0.0
        dot = line + out
        draw.ellipse((start[0] - dot, start[1] - dot, start[0] + dot, start[1] + dot), fill=fill)
        draw.line((*start, *neck), fill=fill, width=width)
        draw.polygon([end, *wings], fill=fill)
        if out:
            draw.line([end, *wings, end], fill=fill, width=round(2 * out) + 1, joint="curve")


def _number(draw: ImageDraw.ImageDraw, at: _Spot, number: int, arm: int, image: Pixels) -> None:
    """Beside the mark, up and to the right, or on the other side where the screen ends there."""
    from PIL import ImageFont

    size = max(14, round(arm * 1.6))
    x = at[0] + arm * 0.4 if at[0] + arm * 0.4 + size < image.shape[1] else at[0] - arm * 0.4 - size
    y = at[1] - arm * 0.4 - size if at[1] - arm * 0.4 - size > 0 else at[1] + arm * 0.4
    font = ImageFont.load_default(size)
    draw.text((x, y), str(number), fill=RED, font=font, stroke_width=max(1, size // 7), stroke_fill=WHITE)
