"""Goals as plans: their clauses, how far a history is, and which clause a proposal serves."""

from __future__ import annotations

import math

import numpy as np

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.elements import Screen
from foretell.gui.history import History, Step
from foretell.gui.places import Place, Places
from foretell.gui.plan import clauses_of, course, plan_features
from foretell.gui.sight import Sight
from foretell.gui.wording import wording

GOAL = "In Trac, open 'New Ticket', then enter 'plum, ripe' as Summary and press Create."


def test_a_goal_is_cut_at_its_verbs_and_never_inside_quotes() -> None:
    assert [one.text for one in clauses_of(GOAL)] == [
        "open 'New Ticket'",
        "enter 'plum, ripe' as Summary",
        "press Create",
    ]
    assert [one.about for one in clauses_of(GOAL)] == ["new ticket", "plum ripe as summary", "create"]
    assert [one.text for one in clauses_of("The wiki: press close all. Then go to Recent.")] == [
        "press close all",
        "go to Recent",
    ]
    assert len(clauses_of("Find red, green and blue")) == 1
    assert len(clauses_of("")) == 1


def click(intent: str | None) -> Step:
    return Step(Action(Kind.CLICK, Point(1, 1)), "a", True, intent)


def typed(text: str, intent: str | None = None) -> Step:
    return Step(Action(Kind.TYPE, text=text), "a", True, intent)


def test_a_history_is_followed_by_words_and_by_count() -> None:
    def done(*steps: Step, achieved: tuple[str, ...] = ()) -> tuple[int, int]:
        at = course(GOAL, History(achieved, steps=steps, count=len(steps)))
        return at.by_words, at.by_count

    assert done() == (0, 0)
    assert done(click("click the 'New Ticket' link")) == (1, 1)
    assert done(click("open New Ticket"), click("click into the Summary field"))[1] == 2
    both = (click("open New Ticket"), click("click into Summary"), typed("plum, ripe", "type it"))
    assert done(*both) == (2, 2)
    assert done(click(None), achieved=("'New Ticket' was clicked and changed",)) == (1, 1)
    assert done(click("scroll around the page")) == (0, 1)


def sight_of(*places: Place) -> Sight:
    screen = Screen(100, 50, (), (), np.zeros((50, 100), dtype=bool), (255, 255, 255))
    return Sight(np.full((50, 100, 3), 255, np.uint8), "d", screen, Places(places, (), None))


def test_a_proposal_serves_the_clause_that_is_due_or_another() -> None:
    sight = sight_of(Place("button", (0, 0, 40, 20), "Create"), Place("link", (50, 0, 40, 20), "New Ticket"))
    history = History(steps=(click("open New Ticket"),), count=1)

    def told(x: float, intent: str | None) -> dict[str, float]:
        words = wording(intent) if intent else None
        return plan_features(sight, Action(Kind.CLICK, Point(x, 10)), history, wording(GOAL), words)

    again, ahead = told(70, "click New Ticket"), told(20, "press the Create button")
    assert again["label_past"] == again["intent_past"] == 1.0 > again["label_due"]
    assert ahead["label_final"] == ahead["intent_final"] == 1.0 and ahead["label_due"] == 0.0
    assert ahead["left"] == 2.0 and math.isnan(told(20, None)["intent_best"])
    end = plan_features(sight, Action(Kind.TERMINATE, success=True), history, wording(GOAL), None)
    assert end["left"] == end["left_count"] == 2.0 and end["last_served"] < 0.5
