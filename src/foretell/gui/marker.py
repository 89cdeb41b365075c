"""The proposed points drawn on the screenshot, and a magnified crop around each: what a critic, or a person, looks at.

A red cross marks where something is pressed, a blue arrow where something is dragged, each with a white rim so that it
shows on any ground. Where there are several, each has its number. A point beyond the edge is drawn at the edge, one
that is nowhere (infinite, or no number) not at all.
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
OUTSIDE = (128, 128, 128)  # what a crop shows beyond the screen
_ARM_SHARE, _LEAST_ARM_PX, _MOST_ARM_PX = 0.03, 7, 40  # a cross's arm, of the screen's shorter side
_REACH_SHARE, _LEAST_REACH_PX = 0.125, 24  # half a crop's side, of the same
_CROP_PX = 384

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
            _cross(draw, at, arm, gap=0)
        else:
            _arrow(draw, at, _on_screen(action.to, image), arm)
        if len(actions) > 1:
            _number(draw, at, number, arm, image)
    return np.asarray(picture)


def crop(image: Pixels, point: Point, reach_px: int | None = None, side_px: int = _CROP_PX) -> Pixels:
    """A square of `reach_px` pixels to each side of the point, magnified to `side_px`, grey beyond the screen's edges.

    The point is the centre of the middle pixel, whether or not it lies on the screen.
    """
    from PIL import Image

    reach = reach_px or max(_LEAST_REACH_PX, round(min(image.shape[:2]) * _REACH_SHARE))
    height, width = image.shape[:2]
    left, top = math.floor(point.x) - reach, math.floor(point.y) - reach
    cut = np.empty((2 * reach + 1, 2 * reach + 1, 3), np.uint8)
    cut[:] = OUTSIDE
    x0, x1 = max(left, 0), min(left + 2 * reach + 1, width)
    y0, y1 = max(top, 0), min(top + 2 * reach + 1, height)
    if x0 < x1 and y0 < y1:
        cut[y0 - top : y1 - top, x0 - left : x1 - left] = image[y0:y1, x0:x1]
    return np.asarray(Image.fromarray(cut).resize((side_px, side_px), Image.Resampling.BICUBIC))


def evidence(image: Pixels, proposal: Proposal) -> dict[str, Pixels]:
    """Named pictures: the screen with its marks, and a crop around each point ("crop", or "crop 1" and so on).

    A crop's cross leaves its middle open, so that what lies under the point is seen. A drag has a crop for its end too.
    """
    from PIL import Image, ImageDraw

    pictures = {"screen": marked(image, proposal)}
    actions = _with_points(proposal)
    for number, action in enumerate(actions, start=1):
        which = f" {number}" if len(actions) > 1 else ""
        for name, point in ((f"crop{which}", action.point), (f"crop{which} end", action.to)):
            if point is None:
                continue
            picture = Image.fromarray(crop(image, point))
            colour = RED if action.to is None else BLUE
            _cross(ImageDraw.Draw(picture), (_CROP_PX / 2, _CROP_PX / 2), _CROP_PX // 6, _CROP_PX // 20, colour)
            pictures[name] = np.asarray(picture)
    return pictures


def _with_points(proposal: Proposal) -> list[Action]:
    return [action for action in proposal.actions if action.point is not None and is_placed(action)]


def _on_screen(point: Point | None, image: Pixels) -> _Spot:
    assert point is not None
    return min(max(point.x, 0), image.shape[1] - 1), min(max(point.y, 0), image.shape[0] - 1)


def _widths(arm: int) -> tuple[int, int]:
    """How wide a line is, and how wide it is with its rim."""
    line = min(max(2, round(arm / 5)), 6)
    return line, line + 2 * max(1, round(line / 2))


def _cross(draw: ImageDraw.ImageDraw, at: _Spot, arm: int, gap: int, colour: tuple[int, int, int] = RED) -> None:
    line, rimmed = _widths(arm)
    x, y = at
    for width, fill in ((rimmed, WHITE), (line, colour)):
        longer = arm + (rimmed - line) // 2 * (fill == WHITE)
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
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
