"""Task pages in headless Chromium: what is shown, what is known, and that actions do what a person would do."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.bench.chromium import find_chromium
from foretell.gui.bench.pages import HEIGHT, WIDTH, Element, NoChromium, NoTask, Page, tasks


def element(page: Page, name: str) -> Element:
    return next(e for e in page.elements() if e.id == name)


def test_an_episode_is_a_function_of_task_and_seed(page: Page) -> None:
    goal = page.start("login-user", 3)
    image, elements = page.screenshot(), page.elements()
    page.start("click-checkboxes-large", 1)
    other = page.start("login-user", 4)
    assert page.start("login-user", 3) == goal != other
    assert np.array_equal(page.screenshot(), image)
    assert page.elements() == elements


def test_the_screenshot_shows_the_task_area_alone(page: Page) -> None:
    page.start("click-test", 0)
    image = page.screenshot()
    assert image.shape == (HEIGHT, WIDTH, 3) and image.dtype == np.uint8
    assert tuple(image[2, WIDTH - 2]) == (255, 255, 0)
    page.perform(Action(Kind.CLICK, point=element(page, "subbtn").centre))
    assert page.done and page.reward == 1.0
    after = page.screenshot()
    assert tuple(after[2, WIDTH - 2]) == (255, 255, 0), "the cover between episodes hides the page"
    assert np.mean(after != image) < 0.2


def test_a_wrong_click_is_a_lost_episode(page: Page) -> None:
    page.start("click-test-2", 0)
    assert not page.done and page.reward == 0.0
    page.perform(Action(Kind.CLICK, point=element(page, "subbtn2").centre))
    assert page.done and page.reward == -1.0


def test_typing_goes_where_the_focus_is(page: Page) -> None:
    page.start("login-user", 0)
    page.perform(Action(Kind.TYPE, text="lost"))
    assert element(page, "username").value == ""
    page.perform(Action(Kind.CLICK, point=element(page, "username").centre))
    page.perform(Action(Kind.TYPE, text="päula"))
    assert element(page, "username").value == "päula" and element(page, "username").focused
    page.perform(Action(Kind.KEY, keys=("ctrl", "a")))
    assert element(page, "username").attributes["selection"] == "päula"
    page.perform(Action(Kind.KEY, keys=("backspace",)))
    assert element(page, "username").value == ""


def test_scrolling_moves_what_is_under_the_point(page: Page) -> None:
    page.start("scroll-text-2", 0)
    area = element(page, "text-area")
    page.perform(Action(Kind.SCROLL, point=area.centre, dy=-60.0))
    up = float(element(page, "text-area").attributes["scroll-top"])
    assert up == pytest.approx(float(area.attributes["scroll-top"]) - 20.0, abs=1.0)


def test_dragging_moves_a_box(page: Page) -> None:
    page.start("drag-box", 0)
    start = element(page, "draggableSmall").centre
    page.perform(Action(Kind.DRAG, point=start, to=Point(start.x + 60, start.y + 30)))
    end = element(page, "draggableSmall").centre
    assert (end.x - start.x, end.y - start.y) == pytest.approx((60, 30), abs=4)


def test_what_is_scrolled_away_is_not_visible(page: Page) -> None:
    page.start("click-scroll-list", 1)
    options = [e for e in page.elements() if e.tag == "option"]
    assert options[0].visible and not options[-1].visible
    page.perform(Action(Kind.SCROLL, point=options[0].centre, dy=600.0))
    options = [e for e in page.elements() if e.tag == "option"]
    assert not options[0].visible and options[-1].visible


def test_a_look_changes_nothing(page: Page) -> None:
    page.start("enter-text", 0)
    page.perform(Action(Kind.CLICK, point=element(page, "tt").centre))
    image = page.screenshot()
    for kind in (Kind.WAIT, Kind.ANSWER, Kind.TERMINATE):
        page.perform(Action(kind, text="done", seconds=0.6))
    assert np.array_equal(page.screenshot(), image)


def test_there_is_no_such_task(page: Page) -> None:
    with pytest.raises(NoTask, match="click-nothing"):
        page.start("click-nothing", 0)
    assert "click-test" in tasks() and len(tasks()) > 100


def test_without_chromium_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(NoChromium, match=r"apt package `chromium`.*playwright install chromium"):
        find_chromium()
    monkeypatch.setenv("FORETELL_CHROMIUM", sys.executable)
    assert str(find_chromium()) == sys.executable
