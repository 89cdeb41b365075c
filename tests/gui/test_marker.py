"""Marks show on any ground, crops are centred on the point, and the screenshot itself is never touched."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.marker import BLUE, RED, WHITE, arm_px, crop, evidence, marked
from foretell.gui.observation import Pixels, Proposal

CLICK = Action(Kind.CLICK, Point(100, 80))
DRAG = Action(Kind.DRAG, Point(40, 50), Point(160, 150))


def ground(colour: tuple[int, int, int] = (90, 90, 90), width: int = 200, height: int = 240) -> Pixels:
    return np.full((height, width, 3), colour, np.uint8)


def count(image: Pixels, colour: tuple[int, int, int]) -> int:
    return int((image == colour).all(axis=2).sum())


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), RED, BLUE])
def test_a_click_is_a_red_cross_with_a_white_rim(colour: tuple[int, int, int]) -> None:
    image = ground(colour)
    before = image.copy()
    shown = marked(image, Proposal((CLICK,)))
    assert tuple(shown[80, 100]) == colour, "the point itself stays open"
    assert (shown != image).any()
    around = shown[60:101, 80:121]
    assert count(around, RED) > 20
    assert count(around, WHITE) > 20
    assert (image == before).all()


def test_a_mark_leaves_the_line_of_text_that_it_lies_on() -> None:
    image = ground(width=1280, height=720)
    shown = marked(image, Proposal((Action(Kind.CLICK, Point(640, 360)),)))
    assert (shown[354:367] == image[354:367]).all()


def test_a_drag_is_a_blue_arrow_from_start_to_end() -> None:
    shown = marked(ground(), Proposal((DRAG,)))
    for x, y in ((40, 50), (100, 100), (156, 146)):
        assert tuple(shown[y, x]) == BLUE
    assert count(shown, RED) == 0


def test_marks_grow_with_the_screen() -> None:
    assert (
        arm_px(ground(width=160, height=210))
        < arm_px(ground(width=480, height=630))
        < arm_px(ground(width=1920, height=1080))
    )


def test_several_points_are_numbered_and_one_is_not() -> None:
    image = ground()
    other = Action(Kind.CLICK, Point(20, 200))
    typed = Action(Kind.TYPE, text="a")
    alone = marked(image, Proposal((CLICK, typed)))
    assert (alone == marked(image, Proposal((CLICK,)))).all()
    apart = (alone != image) | (marked(image, Proposal((other,))) != image)
    assert ((marked(image, Proposal((CLICK, other))) != image) & ~apart).any()


def test_points_beyond_the_edge_are_drawn_at_the_edge() -> None:
    shown = marked(ground(), Proposal((Action(Kind.CLICK, Point(900, -50)),)))
    assert count(shown[:10, 185:], RED) > 5


def test_a_crop_keeps_the_row_and_the_label_beside_a_field() -> None:
    image = ground(width=1280, height=720)
    image[350:360, 300:310] = (255, 255, 0)  # a label far to the left of the point
    image[350:360, 970:980] = (0, 255, 255)  # and something at the other end of the row
    part = crop(image, Point(640, 355))
    assert part.shape[1] > 3 * part.shape[0]
    assert count(part, (255, 255, 0)) > 50
    assert count(part, (0, 255, 255)) > 50


@pytest.mark.parametrize("point", [Point(-5000, 3), Point(199.9, 239.9), Point(1e9, 1e9), Point(100, 100)])
def test_a_crop_anywhere_lies_on_the_screen_and_is_magnified(point: Point) -> None:
    part = crop(ground(), point)
    assert part.shape == (256, 480, 3)
    assert count(part, (90, 90, 90)) == 256 * 480


def test_a_crop_of_a_tiny_screen_is_all_of_it() -> None:
    assert crop(ground(width=1, height=1), Point(0, 0)).shape == (4, 4, 3)
    assert crop(ground(width=0, height=0), Point(0, 0)).size == 0


def test_evidence_names_what_it_shows() -> None:
    assert set(evidence(ground(), Proposal((Action(Kind.WAIT),)))) == {"screen"}
    assert set(evidence(ground(), Proposal((CLICK,)))) == {"screen", "crop"}
    assert set(evidence(ground(), Proposal((CLICK, DRAG)))) == {"screen", "crop 1", "crop 2", "crop 2 end"}


def test_a_crops_cross_is_at_the_point_and_leaves_it_open() -> None:
    corner = Action(Kind.CLICK, Point(2, 237))
    for action, at in ((CLICK, (128, 240)), (corner, (252, 8))):
        picture = evidence(ground(), Proposal((action,)))["crop"]
        assert tuple(picture[at]) == (90, 90, 90)
        assert count(picture, RED) > 50
        rows, columns = np.nonzero((picture == RED).all(axis=2))
        away = np.hypot(rows - at[0], columns - at[1])
        assert away.min() < 30
        assert away.max() < 65
