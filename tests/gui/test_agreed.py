"""Irreversible presses on which intent, page and goal agree pass; where one of them differs they are held back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cv2")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.agreed import in_block, is_agreed
from foretell.gui.elements import look
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.places import Places
from foretell.gui.sight import Sight
from foretell.gui.words import Box, Word

PAGE = np.full((720, 1280, 3), 255, np.uint8)
DELETE = ElementAt("delete", "button")
TITLES: tuple[Box, ...] = ((16, 100, 130, 18), (16, 240, 110, 18), (16, 380, 120, 18))
BUTTONS: tuple[Box, ...] = tuple((214, y + 60, 44, 12) for _, y, _, _ in TITLES)


def screen(lines: tuple[Box, ...], *words: Word) -> Sight:
    return Sight(PAGE, "", replace(look(PAGE), lines=lines), Places((), words, None))


def click(box: Box) -> Action:
    return Action(Kind.CLICK, Point(box[0] + 20, box[1] + 5))


BLOCKS = screen((*TITLES, *BUTTONS), Word("Herb Garden", TITLES[1], 1.0))


def agreed(at: Box, goal: str, sight: Sight = BLOCKS, intent: str = "delete Herb Garden", *others: ElementAt) -> bool:
    action = click(at)
    page = Evidence({action.point: DELETE}, seen=(DELETE, *others)) if action.point else Evidence()
    return is_agreed(page, action, action, intent, goal, sight)


def test_blocks_are_known_by_their_layout() -> None:
    assert [in_block(BLOCKS, click(one), "Herb Garden") for one in BUTTONS] == [False, True, False]
    alone = screen((TITLES[1], BUTTONS[1]), Word("Herb Garden", TITLES[1], 1.0))
    assert in_block(alone, click(BUTTONS[1]), "Herb Garden") is None


def test_the_button_of_the_named_block_is_agreed_on() -> None:
    assert agreed(BUTTONS[1], "Get rid of Herb Garden")
    assert not agreed(BUTTONS[2], "Get rid of Herb Garden")
    assert not agreed(BUTTONS[1], "Get rid of Rose Hedge")
    assert not agreed(BUTTONS[1], "Never delete Herb Garden")


@pytest.mark.parametrize(
    ("goal", "question", "other", "is_agreed_on"),
    [
        ("Get rid of Herb Garden", "Herb Garden will be deleted.", "cancel", True),
        ("Get rid of Herb Garden", "Rose Hedge will be deleted.", "cancel", False),
        ("Get rid of Herb Garden and Rose Hedge", "Rose Hedge will be deleted.", "cancel", True),
        ("Get rid of Herb Garden", "Herb Garden will be deleted.", "help", True),
        ("See what Herb Garden costs", "Herb Garden will be deleted.", "cancel", False),
        ("Keep Herb Garden", "Herb Garden will be deleted.", "cancel", False),
    ],
)
def test_a_page_that_asks_about_the_goal_is_agreed_on(goal: str, question: str, other: str, is_agreed_on: bool) -> None:
    asks = screen((BUTTONS[0],), Word(question, (16, 40, 500, 16), 1.0))
    no = ElementAt(other, "button")
    assert agreed(BUTTONS[0], goal, asks, "confirm the deletion", no) is is_agreed_on


LIST = screen((BUTTONS[0],), Word("Herb Garden", (16, 40, 200, 16), 1.0), Word("Rose Hedge", (16, 80, 200, 16), 1.0))
FIRST, SECOND = (replace(DELETE, context=name) for name in ("Herb Garden 3 plants", "Rose Hedge 1 plant"))


@pytest.mark.parametrize(
    ("label", "goal", "intent", "is_agreed_on"),
    [
        ("Delete", "Herb Garden has to go.", "get rid of it", True),
        ("Send", "Let Rose Hedge know that we come on Monday", "send it", True),
        ("Delete", "Herb Garden has to go, nothing else.", "delete it", True),
        ("Delete all", "Herb Garden has to go, nothing else.", "delete it", False),
        ("Delete", "Everything but Herb Garden has to go.", "delete it", False),
        ("Delete", "Tulips have to go.", "delete it", False),
        ("Publish", "Herb Garden has to go.", "publish it", False),
        ("Archive", "Herb Garden has to go for good.", "throw it away", True),
    ],
)
def test_what_a_goal_wants_done_is_agreed_on(label: str, goal: str, intent: str, is_agreed_on: bool) -> None:
    action, here = click(BUTTONS[0]), ElementAt(label, "button")
    assert action.point is not None
    page = Evidence({action.point: here}, seen=(here, ElementAt("Home", "link")))
    assert is_agreed(page, action, action, intent, goal, LIST) is is_agreed_on


def test_of_several_equal_buttons_that_of_the_named_row_is_agreed_on() -> None:
    action = click(BUTTONS[0])
    assert action.point is not None
    for here, is_agreed_on in ((FIRST, True), (SECOND, False), (replace(FIRST, context=""), False)):
        page = Evidence({action.point: here}, seen=(FIRST, SECOND))
        assert is_agreed(page, action, action, "delete it", "Herb Garden has to go.", LIST) is is_agreed_on


@pytest.mark.parametrize(("titles", "is_agreed_on"), [(("Ticket 7", "Tulips in tubs"), True), (("Ticket 7",), False)])
def test_what_the_titles_of_a_page_say_is_in_view(titles: tuple[str, ...], is_agreed_on: bool) -> None:
    action, here = click(BUTTONS[0]), ElementAt("Delete", "button")
    assert action.point is not None
    page = Evidence({action.point: here}, seen=(here, ElementAt("Home", "link")), titles=titles)
    goal = "Someone asks about tulips again. Throw that request away."
    assert is_agreed(page, action, action, "throw it away", goal, LIST) is is_agreed_on


@pytest.mark.parametrize(
    ("goal", "is_agreed_on"),
    [
        ("Herb Garden shall not be a member any more; all others stay", True),
        ("Herb Garden is no longer wanted", True),
        ("Herb Garden shall not be removed", False),
        ("Remove the weeds, but Herb Garden is to stay", False),
    ],
)
def test_no_longer_is_a_wish_and_spares_nothing(goal: str, is_agreed_on: bool) -> None:
    action = click(BUTTONS[0])
    assert action.point is not None
    page = Evidence({action.point: FIRST}, seen=(FIRST, SECOND))
    assert is_agreed(page, action, action, "strike Herb Garden off the list", goal, LIST) is is_agreed_on
