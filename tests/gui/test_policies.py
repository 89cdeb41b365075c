"""Scripted agents and the episodes they play, with a guard and without."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.bench.episodes import most_steps, play
from foretell.gui.bench.pages import Page
from foretell.gui.bench.policies import IMPERFECT, PERFECT, SWAYED, Habits, Policy, rehearse, tells
from foretell.gui.bench.truth import Tally, Watched, achievements, is_true
from foretell.gui.claims import Claim, Sort
from foretell.gui.guard import Guard
from foretell.gui.history import Historian, History
from foretell.gui.judgement import ErrorClass, Judgement
from foretell.gui.observation import Observation, Proposal
from foretell.gui.verdict import Mode

ONLY_STOPS = Habits(errs=1.0, forgets=0.0, stubborn=0.0, revises=1.0, ways={ErrorClass.TERMINATION: 1.0})


class Against:
    """Objects to every proposal, or to those that end the episode."""

    name = "against"

    def __init__(self, everything: bool) -> None:
        self.everything = everything

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        ends = any(action.kind is Kind.TERMINATE for action in proposal.actions)
        return Judgement(1.0 if self.everything or ends else 0.0, None, "so it is")


def test_who_makes_no_mistakes_solves_it(page: Page) -> None:
    for task in ("login-user", "click-checkboxes"):
        course = rehearse(page, task, 2)
        outcome = play(page, task, 2, course, PERFECT)
        assert outcome.solved and outcome.steps == len(course) and outcome.wrong == 0


def test_errors_are_the_same_every_time(page: Page) -> None:
    course = rehearse(page, "login-user", 4)
    habits = replace(IMPERFECT, errs=0.6)
    first, second = (play(page, "login-user", 4, course, habits) for _ in range(2))
    assert replace(first, seconds=0.0) == replace(second, seconds=0.0)


def test_errors_come_at_about_the_rate_asked_for(page: Page) -> None:
    wrong = proposals = 0
    for seed in range(2):
        course = rehearse(page, "click-checkboxes", seed)
        outcome = play(page, "click-checkboxes", seed, course, replace(IMPERFECT, errs=0.5))
        wrong, proposals = wrong + outcome.wrong, proposals + outcome.proposals
        assert outcome.steps <= most_steps(course)
    assert 0.2 < wrong / proposals < 0.8


def test_an_early_stop_fails_alone_and_not_under_a_guard(page: Page) -> None:
    course = rehearse(page, "click-button", 1)
    assert not play(page, "click-button", 1, course, ONLY_STOPS).solved
    guard = Guard(Against(everything=False), Historian(), 0.5)
    outcome = play(page, "click-button", 1, course, ONLY_STOPS, guard)
    assert outcome.solved and outcome.stopped == 1 and outcome.interrupted == 0
    assert outcome.caught == {ErrorClass.TERMINATION.value: 1}


def test_false_interruptions_are_counted_and_may_mislead(page: Page) -> None:
    course = rehearse(page, "login-user", 1)
    steady = play(page, "login-user", 1, course, PERFECT, Guard(Against(everything=True), Historian(), 0.5))
    assert steady.solved and steady.interrupted == steady.steps and steady.stopped == 0
    guard = Guard(Against(everything=True), Historian(), 0.5)
    swayed = play(page, "login-user", 1, course, replace(SWAYED, revises=0.0), guard)
    assert swayed.wrong > 0


def test_a_guard_in_the_shadow_changes_nothing(page: Page) -> None:
    course = rehearse(page, "login-user", 3)
    guard = Guard(Against(everything=True), Historian(), 0.5, mode=Mode.SHADOW)
    alone, watched = (play(page, "login-user", 3, course, replace(IMPERFECT, reads=0.0), one) for one in (None, guard))
    assert (alone.solved, alone.steps, alone.wrong) == (watched.solved, watched.steps, watched.wrong)


def test_who_is_told_that_nothing_changed_does_not_repeat_it(page: Page) -> None:
    habits = Habits(errs=1.0, forgets=0.0, stubborn=1.0, reads=1.0, ways={ErrorClass.HALLUCINATION: 1.0})
    course = rehearse(page, "click-button", 1)
    page.start("click-button", 1)
    image = page.screenshot()
    looks = [Observation(page.goal, image, step) for step in range(3)]
    policy = Policy(page, "click-button", 1, course, habits)
    first = policy.propose(looks[0], "")
    assert policy.propose(looks[1], "") is first
    assert policy.propose(looks[2], "Visible effect of the last action: nothing changed.") is not first


def test_what_was_told_to_be_done_is_recognised() -> None:
    typed = Proposal((Action(Kind.TYPE, text="tula"),), "type 'tula' into the username field")
    clicked = Proposal((Action(Kind.CLICK, point=Point(1, 1)),), "click the checkbox 'SOy'")
    assert tells("- 'tula' is in the field that was clicked", typed) and not tells("", typed)
    assert tells("- 'SOy' was ticked", clicked) and not tells("- 'other' was ticked", clicked)


def test_claims_are_held_against_the_page(page: Page) -> None:
    tally, watched = Tally(), Watched()
    course = rehearse(page, "click-checkboxes", 1)
    guard = Guard(Against(everything=False), watched, 0.5)
    assert play(page, "click-checkboxes", 1, course, PERFECT, guard, watched, tally).solved
    assert tally.made[Sort.TICKED] and tally.made == tally.true
    assert tally.claimed[Sort.TICKED] == tally.achieved[Sort.TICKED]


@pytest.mark.parametrize(("text", "right"), [("quick", True), ("slow", False)])
def test_typed_text_is_true_where_the_field_holds_it(page: Page, text: str, right: bool) -> None:
    page.start("enter-text", 1)
    before = page.elements()
    field = next(e for e in before if e.id == "tt")
    page.perform(Action(Kind.CLICK, point=field.centre))
    page.perform(Action(Kind.TYPE, text="quick"))
    after = page.elements()
    x, y, width, height = (round(side) for side in field.box)
    assert is_true(Claim(Sort.TYPED, "", (x, y, width, height), text), before, after) is right
    assert Sort.TYPED in set(achievements(Action(Kind.TYPE, text="quick"), before, after))
