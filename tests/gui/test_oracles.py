"""Oracles solve their tasks, also after a wrong action."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.bench.oracles import HELD_OUT, SOLVED_AT, TASKS, TRAIN, next_step
from foretell.gui.bench.pages import HEIGHT, WIDTH, Page, tasks

SOME = (
    "choose-date-easy",
    "choose-list",
    "click-checkboxes-large",
    "click-menu-2",
    "click-shape",
    "click-tab-2",
    "drag-items",
    "email-inbox",
    "enter-time",
    "login-user-popup",
    "order-food",
    "social-media-some",
    "use-autocomplete",
    "use-slider",
)


def thirds(names: Sequence[str]) -> list[object]:
    """All of them, of which two of three are marked `full`."""
    return [pytest.param(name, marks=pytest.mark.full if at % 3 else ()) for at, name in enumerate(names)]


def solve(page: Page, task: str, goal: str, most: int = 60) -> bool:
    for _ in range(most):
        if page.done:
            break
        planned = next_step(task, goal, page)
        if planned is None:
            break
        page.perform(planned.action)
    return page.reward >= SOLVED_AT


@pytest.mark.parametrize("task", thirds(SOME))
def test_solves(page: Page, task: str) -> None:
    assert solve(page, task, page.start(task, 5))


@pytest.mark.parametrize("task", thirds(TASKS[::4]))
def test_the_first_step_aims_at_its_target(page: Page, task: str) -> None:
    planned = next_step(task, page.start(task, 1), page)
    assert planned is not None and planned.intent
    at = planned.action.point
    if at is None:
        return
    assert at.inside(WIDTH, HEIGHT)
    target = next(e for e in page.elements() if e.ref == planned.target)
    x, y, width, height = target.box
    near = x - 9 <= at.x <= x + width + 9 and y - 9 <= at.y <= y + height + 9
    assert near or task == "draw-line"


def test_recovers_from_a_wrong_box_and_a_wrong_text(page: Page) -> None:
    goal = page.start("click-checkboxes", 3)
    for box in [e for e in page.elements() if e.type == "checkbox"]:
        page.perform(Action(Kind.CLICK, point=box.centre))
    assert solve(page, "click-checkboxes", goal)
    goal = page.start("enter-text", 3)
    field = next(e for e in page.elements() if e.id == "tt")
    page.perform(Action(Kind.CLICK, point=field.centre))
    page.perform(Action(Kind.TYPE, text="nonsense"))
    page.perform(Action(Kind.CLICK, point=Point(470, 620)))
    assert solve(page, "enter-text", goal)


def test_recovers_from_the_wrong_email(page: Page) -> None:
    goal = page.start("email-inbox-reply", 2)
    first = next_step("email-inbox-reply", goal, page)
    wrong = next(e for e in page.elements() if "email-sender" in e.classes and first and e.ref != first.target)
    page.perform(Action(Kind.CLICK, point=wrong.centre))
    assert solve(page, "email-inbox-reply", goal)


def test_the_split_keeps_families_together() -> None:
    assert set(TRAIN) | set(HELD_OUT) == set(TASKS) and not set(TRAIN) & set(HELD_OUT)
    assert 0.3 < len(HELD_OUT) / len(TASKS) < 0.5 and len(TASKS) >= 80
    assert set(TASKS) <= set(tasks())
    for task in TASKS:
        twins = [other for other in TASKS if other.startswith(f"{task}-")]
        assert len({other in HELD_OUT for other in (task, *twins)}) == 1, task
