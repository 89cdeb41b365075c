from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.playwright import (
    AsyncGuardedPage,
    Call,
    GuardedPage,
    PlaywrightScreen,
    address,
    calls,
)
from foretell.gui.adapters.screen import Fault, ScreenError
from foretell.gui.bench.chromium import NoChromium, find_chromium
from foretell.gui.observation import Observation, Proposal
from tests.gui.adapter_fakes import NotingGuard, awaited, png

SIZE = (400, 200)
PAGE = """<body style="margin:0;height:3000px;background:white">
<button style="position:absolute;left:20px;top:20px;width:60px;height:30px" onclick="note('button')">Go</button>
<input style="position:absolute;left:120px;top:20px;width:60px;height:20px" id="field">
<script>
var seen = []; function note(what) { seen.push(what) }
for (const kind of ['dblclick', 'contextmenu', 'auxclick', 'mousedown', 'mouseup'])
  addEventListener(kind, e => note(kind + ' ' + Math.round(e.clientX) + ' ' + Math.round(e.clientY)))
addEventListener('keydown', e => note('key ' + (e.ctrlKey ? 'ctrl ' : '') + e.key))
addEventListener('click', e => { if (e.detail == 3) note('triple') })
</script>"""


def launching() -> dict[str, Any]:
    where = find_chromium()
    return {"executable_path": None if where is None else str(where), "args": ["--no-sandbox"]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        try:
            opened = playwright.chromium.launch(**launching())
        except Error as error:
            raise NoChromium(str(error).splitlines()[0]) from None
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 200, "height": 100}, device_scale_factor=2)
    page = context.new_page()
    page.set_content(PAGE)
    yield page
    context.close()


def seen(page: Any) -> list[str]:
    found: list[str] = page.evaluate("seen.splice(0)")
    return found


def test_actions_reach_the_page_where_the_screenshot_shows_it(page: Any) -> None:
    screen = PlaywrightScreen(page)
    image = screen.observe()
    assert image.shape == (200, 400, 3)
    assert image.max() == 255
    screen.perform(Action(Kind.CLICK, Point(100, 70)))
    assert seen(page) == ["mousedown 50 35", "mouseup 50 35", "button"]
    screen.perform(Action(Kind.DOUBLE_CLICK, Point(300, 150)))
    assert "dblclick 150 75" in seen(page)
    screen.perform(Action(Kind.TRIPLE_CLICK, Point(300, 150)))
    assert "triple" in seen(page)
    screen.perform(Action(Kind.RIGHT_CLICK, Point(300, 150)))
    assert "contextmenu 150 75" in seen(page)
    screen.perform(Action(Kind.DRAG, Point(300, 150), Point(320, 180)))
    assert seen(page) == ["mousedown 150 75", "mouseup 160 90"]


def test_keyboard_and_wheel(page: Any) -> None:
    screen = PlaywrightScreen(page)
    text = 'it\'s "ö" $(x) `y`'
    screen.perform(Action(Kind.TYPE, Point(300, 60), text=text))  # without a look before
    assert page.evaluate("field.value") == text
    screen.perform(Action(Kind.KEY, keys=("ctrl", "a")))
    screen.perform(Action(Kind.KEY, keys=("Backspace",)))
    assert page.evaluate("field.value") == ""
    screen.perform(Action(Kind.KEY, keys=("enter",)))
    found = seen(page)
    assert "key ctrl a" in found
    assert found[-1] == "key Enter"
    screen.perform(Action(Kind.SCROLL, dy=300.0))
    page.wait_for_function("scrollY == 150")
    screen.perform(Action(Kind.SCROLL, Point(10, 10), dy=-300.0))
    page.wait_for_function("scrollY == 0")
    screen.perform(Action(Kind.WAIT, seconds=0.0))
    screen.perform(Action(Kind.ANSWER, text="done"))
    screen.perform(Action(Kind.TERMINATE))


def test_addresses_that_an_agent_may_open(page: Any) -> None:
    screen = PlaywrightScreen(page)
    for bad in ("file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "chrome://version"):
        with pytest.raises(ScreenError, match="opened by") as error:
            screen.perform(Action(Kind.NAVIGATE, text=bad))
        assert error.value.fault is Fault.BAD_ACTION
    screen.perform(Action(Kind.NAVIGATE, text="about:blank"))
    assert page.url == "about:blank"
    PlaywrightScreen(page, schemes=("data",)).perform(Action(Kind.NAVIGATE, text="data:text/html,hello"))
    assert page.url.startswith("data:")
    screen.perform(Action(Kind.BACK))
    assert address("example.org/a") == "https://example.org/a"
    assert address("localhost:8000/a") == "https://localhost:8000/a"
    assert address("HTTP://x.org") == "HTTP://x.org"
    for senseless in ("a b", "http://[", "x\ny"):
        with pytest.raises(ScreenError):
            address(senseless)


def test_trouble_with_the_page_is_typed_and_repeats_no_text(page: Any) -> None:
    screen = PlaywrightScreen(page, timeout_ms=300.0)
    screen.observe()
    with pytest.raises(ScreenError, match="key failed") as error:
        screen.perform(Action(Kind.KEY, keys=("f24",)))  # no key of this keyboard
    assert error.value.fault is Fault.FAILED
    with pytest.raises(ScreenError, match="no key called"):
        screen.perform(Action(Kind.KEY, keys=("hyper",)))
    page.close()
    with pytest.raises(ScreenError, match="screenshot"):
        screen.observe()
    with pytest.raises(ScreenError, match="type failed") as error:
        screen.perform(Action(Kind.TYPE, text="my secret"))
    assert "secret" not in str(error.value)


def test_a_guarded_page(page: Any) -> None:
    guard = NotingGuard(objections=1)
    places = [Point(10, 190), Point(100, 70)]

    def propose(observation: Observation, text: str) -> Proposal:
        assert observation.size == SIZE
        return Proposal((Action(Kind.CLICK, places[1 if "beside" in text else 0]),), "click Go")

    outcome = GuardedPage(page, guard, "Press Go").step(propose)
    assert outcome.interrupted
    assert "button" in seen(page)
    assert guard.names() == ["reset", "before", "judge", "judge", "executed"]


def test_an_awaited_guarded_page() -> None:
    async def episode() -> tuple[Any, list[str]]:
        from playwright.async_api import async_playwright

        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(**launching())
            page = await browser.new_page(viewport={"width": 200, "height": 100}, device_scale_factor=2)
            await page.set_content(PAGE)

            async def propose(observation: Observation, text: str) -> Proposal:
                await asyncio.sleep(0)
                if observation.step == 0:
                    return Proposal((Action(Kind.CLICK, Point(100, 70)), Action(Kind.TYPE, Point(300, 60), text="hi")))
                return Proposal((Action(Kind.TERMINATE, success=True),))

            outcomes = await AsyncGuardedPage(page, NotingGuard(), "Press Go").run(propose)
            value = await page.evaluate("field.value")
            found = await page.evaluate("seen")
            await browser.close()
            return (value, len(outcomes)), found

    (value, steps), found = awaited(episode())
    assert (value, steps) == ("hi", 2)
    assert "button" in found


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (Action(Kind.MOVE, Point(3, 5)), [Call("mouse", "move", (1.0, 5 / 3))]),
        (
            Action(Kind.MIDDLE_CLICK, Point(3, 6)),
            [Call("mouse", "click", (1.0, 2.0), {"button": "middle", "click_count": 1})],
        ),
        (
            Action(Kind.SCROLL, dx=30.0),
            [Call("mouse", "move", (200 / 3, 100 / 3)), Call("mouse", "wheel", (10.0, 0.0))],
        ),
        (Action(Kind.WAIT), [Call("page", "wait_for_timeout", (1000.0,))]),
        (Action(Kind.KEY, keys=("ctrl", "plus")), [Call("keyboard", "press", ("Control++",))]),
        (Action(Kind.KEY, keys=("shift", "f5")), [Call("keyboard", "press", ("Shift+F5",))]),
    ],
)
def test_what_is_called(action: Action, expected: list[Call]) -> None:
    assert calls(action, SIZE, 3.0) == expected


def test_a_screenshot_that_a_busy_browser_refuses_is_asked_for_once_more() -> None:
    from playwright.sync_api import Error

    asked: list[str] = []

    class Busy:
        viewport_size: ClassVar[dict[str, int]] = {"width": 4, "height": 2}

        def screenshot(self, **_: object) -> bytes:
            asked.append("screenshot")
            if len(asked) == 1:
                raise Error("Protocol error (Page.captureScreenshot): Unable to capture screenshot")
            return png(4, 2)

    assert PlaywrightScreen(Busy()).observe().shape == (2, 4, 3)
    assert len(asked) == 2
