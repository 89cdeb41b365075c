"""Variants of recorded screens: what is pointed at stays the same thing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.dataset import Row
from foretell.gui.history import History, Step, screen_digest
from foretell.gui.observation import Pixels, Proposal
from foretell.gui.vary import WAYS, varied, ways

POINT = Point(41.0, 23.0)


def screen() -> Pixels:
    image = np.full((120, 90, 3), 230, np.uint8)
    image[20:28, 36:48] = (10, 200, 60)
    return image


def row(name: str = "a.png", split: str = "train") -> Row:
    step = Step(Action(Kind.DRAG, point=POINT, to=Point(2.0, 4.0)), screen_digest(screen()), True, None)
    other = Step(Action(Kind.WAIT), "another", False, None)
    history = History(steps=(step, other), count=2)
    proposal = Proposal((Action(Kind.CLICK, point=POINT),), "click it")
    return Row(name, "t", 0, 0, split, "click it", name, history, proposal, False)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", WAYS)
def test_the_point_moves_with_what_it_points_at(way: str) -> None:
    image = screen()
    other, shown = varied(row(), image, way)
    point = other.proposal.actions[0].point
    assert point is not None
    under = shown[int(point.y), int(point.x)]
    assert under.tolist() == ([245, 55, 195] if way == "dark" else [10, 200, 60])
    assert other.history.steps[0].screen == screen_digest(shown) != screen_digest(image)
    assert other.history.steps[0].action.point == point
    assert other.history.steps[1].screen == "another"
    assert (shown.shape == image.shape) == (way == "dark")
    again, same = varied(row(), image, way)
    assert again == other and np.array_equal(same, shown)


def test_screens_of_held_out_tasks_have_no_variants() -> None:
    rows = [row(f"{i}.png") for i in range(360)]
    chosen = list(ways(rows))
    assert 30 < len(chosen) < 90
    assert {way for _, way in chosen} == set(WAYS)
    assert not list(ways(replace(one, split="held_out") for one in rows))
