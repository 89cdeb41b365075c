"""Marks show on any ground, crops are centred on the point, and the screenshot itself is never touched."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.marker import BLUE, OUTSIDE, RED, WHITE, arm_px, crop, evidence, marked
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
    assert tuple(shown[80, 100]) == RED
    assert (shown != image).any()
    around = shown[60:101, 80:121]
    assert count(around, RED) > 20
    assert count(around, WHITE) > 20
    assert (image == before).all()


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
    assert tuple(shown[0, 199]) == RED


def test_a_crop_is_centred_and_padded() -> None:
    image = ground()
    image[:2, :2] = (255, 255, 0)
    cut = crop(image, Point(0.4, 0.9), reach_px=4, side_px=90)
    assert cut.shape == (90, 90, 3)
    assert tuple(cut[49, 49]) == (255, 255, 0)
    assert tuple(cut[5, 5]) == OUTSIDE
    assert tuple(cut[85, 85]) == (90, 90, 90)


@pytest.mark.parametrize("point", [Point(-5000, 3), Point(199.9, 239.9), Point(1e9, 1e9)])
def test_a_crop_anywhere_has_its_size(point: Point) -> None:
    assert crop(ground(), point, side_px=64).shape == (64, 64, 3)


def test_evidence_names_what_it_shows() -> None:
    assert set(evidence(ground(), Proposal((Action(Kind.WAIT),)))) == {"screen"}
    assert set(evidence(ground(), Proposal((CLICK,)))) == {"screen", "crop"}
    assert set(evidence(ground(), Proposal((CLICK, DRAG)))) == {"screen", "crop 1", "crop 2", "crop 2 end"}


def test_a_crops_cross_leaves_the_point_itself_open() -> None:
    picture = evidence(ground(), Proposal((CLICK,)))["crop"]
    middle = picture.shape[0] // 2
    assert tuple(picture[middle, middle]) == (90, 90, 90)
    assert count(picture, RED) > 50
