"""Doubts that rest on nothing the models for larger screens were taught: which are set aside, and which stand."""

from __future__ import annotations

import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.judgement import ErrorClass
from foretell.gui.untaught import is_untaught

AT = Point(100, 100)
CLICK = Action(Kind.CLICK, AT)
QUIET = {"at.goal_margin": 0.0, "at.intent_margin": 0.0, "at.intent_here": 1.0, "check.most": 0.0}


@pytest.mark.parametrize(
    ("action", "intent", "set_aside"),
    [
        (Action(Kind.NAVIGATE, text="http://localhost/register"), "open the registration page", True),
        (Action(Kind.BACK), "go back", True),
        (Action(Kind.DOUBLE_CLICK, AT), "open the folder by a double click", True),
        (Action(Kind.RIGHT_CLICK, AT), "open the context menu of notes.txt", True),
        (Action(Kind.RIGHT_CLICK, AT), "click notes.txt", False),
        (Action(Kind.TERMINATE, success=True), "all is done", False),
        (Action(Kind.TYPE, text="Ann"), "type Ann", False),
    ],
)
def test_kinds_that_no_recorded_walk_did(action: Action, intent: str, set_aside: bool) -> None:
    assert is_untaught(action, intent, False, QUIET, ErrorClass.MISALIGNMENT) is set_aside


def test_a_double_click_on_another_thing_than_is_named_stays_doubted() -> None:
    elsewhere = QUIET | {"at.intent_margin": -0.7}
    assert not is_untaught(Action(Kind.DOUBLE_CLICK, AT), "open Reports", False, elsewhere, ErrorClass.MISALIGNMENT)


@pytest.mark.parametrize(
    ("named", "changes", "error", "set_aside"),
    [
        (True, {}, ErrorClass.SEMANTIC, True),
        (True, {"at.goal_margin": -0.42}, ErrorClass.TERMINATION, True),
        (True, {"at.goal_margin": -1.0}, ErrorClass.SEMANTIC, False),  # the goal names something else in view
        (True, {"check.most": 0.6}, ErrorClass.SEMANTIC, False),  # the same was done before
        (True, {}, ErrorClass.GROUNDING, False),
        (False, {}, ErrorClass.SEMANTIC, True),  # by the words alone
        (False, {"at.intent_here": 0.3}, ErrorClass.SEMANTIC, False),
        (False, {"at.intent_margin": -0.85}, ErrorClass.SEMANTIC, False),
    ],
)
def test_clicks_on_what_the_intent_names(
    named: bool, changes: dict[str, float], error: ErrorClass, set_aside: bool
) -> None:
    assert is_untaught(CLICK, "click F7", named, QUIET | changes, error) is set_aside


@pytest.mark.parametrize(
    ("intent", "set_aside"),
    [("click into the editor", True), ("click into the query editor", True), ("click the Editor tab", False)],
)
def test_the_ground_of_an_editor_bears_no_words(intent: str, set_aside: bool) -> None:
    ground = QUIET | {"at.intent_margin": -0.5, "at.goal_margin": -1.35}
    assert is_untaught(CLICK, intent, False, ground, ErrorClass.HALLUCINATION) is set_aside


def test_without_an_intent_the_model_stands() -> None:
    assert not is_untaught(CLICK, None, True, QUIET, ErrorClass.SEMANTIC)
