"""Wrong proposals made from right steps: labels hold on the page itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.bench.oracles import Planned, next_step
from foretell.gui.bench.pages import HEIGHT, WIDTH, Page
from foretell.gui.bench.perturb import Moment, Wrong, moment_of, perturbations
from foretell.gui.bench.perturb.copies import Copies, state_of
from foretell.gui.bench.perturb.moment import reworded
from foretell.gui.bench.perturb.timing import COVERS, covered
from foretell.gui.bench.policies import rehearse, with_future
from foretell.gui.history import History
from foretell.gui.judgement import ErrorClass


def begin(page: Page, task: str, seed: int = 3, steps: int = 0) -> Moment:
    """The moment after some right steps, with the future known."""
    course = rehearse(page, task, seed)
    page.start(task, seed)
    for one in course[:steps]:
        page.perform(one.planned.action)
    planned = None if page.done else next_step(task, page.goal, page)
    return with_future(moment_of(page, task, planned, History()), course)


def gathered(moment: Moment, rounds: int = 2) -> Iterator[Wrong]:
    for seed in range(rounds):
        for some in perturbations(moment, random.Random(seed)).values():
            yield from some


def test_every_class_is_there(page: Page) -> None:
    found: set[ErrorClass] = set()
    for task, steps in (("login-user", 0), ("login-user", 1), ("scroll-text", 0), ("click-shape", 0)):
        found |= {wrong.error for wrong in gathered(begin(page, task, steps=steps))}
    assert found == set(ErrorClass)


def test_near_misses_lie_on_nothing(page: Page) -> None:
    moment = begin(page, "login-user")
    misses = [w for w in gathered(moment) if w.error is ErrorClass.GROUNDING]
    assert misses
    for wrong in misses:
        assert wrong.action is not None
        point = wrong.action.point
        assert point is not None and point.inside(WIDTH, HEIGHT)
        assert not any(e.holds(point) for e in moment.things)
        assert not set(moment.hit(point)) & moment.right


def test_other_elements_are_neither_right_now_nor_later(page: Page) -> None:
    moment = begin(page, "login-user")
    elsewhere = (ErrorClass.SEMANTIC, ErrorClass.CONSTRAINT)
    for wrong in gathered(moment):
        if wrong.error in elsewhere and wrong.action is not None and wrong.action.kind in CLICKS:
            assert wrong.action.point is not None
            assert not set(moment.hit(wrong.action.point)) & (moment.right | moment.later)


def test_the_right_step_is_never_wrong_unless_the_page_is_busy(page: Page) -> None:
    for task, steps in (("click-checkboxes", 0), ("enter-text", 1), ("drag-box", 0)):
        moment = begin(page, task, steps=steps)
        assert moment.planned is not None
        for wrong in gathered(moment):
            assert (wrong.action == moment.planned.action) <= (wrong.busy is not None)


def test_malformed_texts_have_real_faults(page: Page) -> None:
    wrongs = [w for w in gathered(begin(page, "click-button")) if w.error is ErrorClass.FORMULATION]
    faults = [w for w in wrongs if w.proposal.fault]
    assert faults and all(not w.proposal.actions for w in faults)
    assert len({w.proposal.fault for w in faults}) > 1


def test_after_the_end_going_on_is_wrong(page: Page) -> None:
    moment = begin(page, "click-button", steps=1)
    assert moment.planned is None
    found = perturbations(moment, random.Random(0))
    assert set(found) == {ErrorClass.TERMINATION}
    assert all(w.action is not None and w.action.kind is not Kind.TERMINATE for w in found[ErrorClass.TERMINATION])


def test_a_step_that_helps_is_found_out_on_a_copy(page: Page) -> None:
    task, seed = "enter-text", 3
    course = rehearse(page, task, seed)
    page.start(task, seed)
    page.perform(course[0].planned.action)
    after = state_of(page.elements())
    copies = Copies(page, task, seed, (), len(course), after)
    click = course[0].planned.action
    assert click.point is not None
    assert copies.helps(click)
    assert copies.helps(replace(click, point=Point(click.point.x + 9, click.point.y)))
    assert not copies.helps(Action(Kind.CLICK, point=Point(470, 620)))
    assert not copies.helps(Action(Kind.TYPE, text="unseen"))
    assert not copies.helps(course[-1].planned.action), "submitting an empty form ends the episode without a reward"


def test_a_copy_has_the_same_state_and_refs(page: Page) -> None:
    course = rehearse(page, "navigate-tree", 5)
    page.start("navigate-tree", 5)
    done = []
    for one in course[:-1]:
        page.elements()
        page.perform(one.planned.action)
        done.append(one.planned.action)
    there = page.elements()
    Copies(page, "navigate-tree", 5, done, 1, None)
    again = page.elements()
    assert [e.ref for e in again] == [e.ref for e in there]
    assert state_of(again) == state_of(there)


@pytest.mark.parametrize("cover", sorted(COVERS))
def test_a_cover_is_seen_and_lifted(page: Page, cover: str) -> None:
    page.start("click-test", 0)
    before = page.screenshot()
    assert not np.array_equal(covered(page, cover), before)
    assert np.array_equal(page.screenshot(), before)


def test_rewording_keeps_what_is_named() -> None:
    click = Action(Kind.CLICK, point=Point(1, 1))
    said = {reworded("click the button 'OK'", click, random.Random(seed)) for seed in range(40)}
    assert len(said) > 4 and all(one is not None and "the button 'OK'" in one for one in said)
    assert reworded("everything is done", None, random.Random(1)) == "everything is done"
    assert reworded(None, click, random.Random(1)) is None


def test_moments_know_their_future(page: Page) -> None:
    moment = begin(page, "login-user")
    assert isinstance(moment.planned, Planned)
    assert [step.action.kind for step in moment.future][-1] is Kind.CLICK
    assert len(moment.later) == 3  # both fields and the button
