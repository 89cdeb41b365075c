from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
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
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.guard import Guard, Limits
from foretell.gui.observation import Observation, Proposal
from foretell.gui.risk import RiskTier
from foretell.gui.verdict import Mode
from tests.gui.adapter_fakes import NotingGuard, awaited, launching, png

SIZE = (400, 200)
PAGE = """<body style="margin:0;height:3000px;background:white">
<button style="position:absolute;left:20px;top:20px;width:60px;height:30px" onclick="note('button')">Go</button>
<input style="position:absolute;left:120px;top:20px;width:60px;height:20px" id="field">
<script>
var seen = []; function note(what) { seen.push(what) }
for (const kind of ['dblclick', 'contextmenu', 'auxclick', 'mousedown', 'mouseup'])
  addEventListener(kind, e => note(kind + ' ' + Math.round(e.clientX) + ' ' + Math.round(e.clientY)))
addEventListener('keydown', e => note('key ' + (e.ctrlKey ? 'ctrl ' : '') + e.key))
addEventListener('mousedown', e => { if (e.shiftKey) note('with shift') })
addEventListener('wheel', e => { if (e.altKey) note('wheel with alt') })
addEventListener('keyup', e => note('up ' + e.key))
addEventListener('click', e => { if (e.detail == 3) note('triple') })
</script>"""

BUTTONS = """<body><h1>Mail</h1><script>var seen = []</script>
<p><button id="settings" onclick="seen.push('settings')">Settings</button></p>
<p><button id="delete" onclick="seen.push('delete')">Delete all</button></p>"""


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
    assert found[-2:] == ["key Enter", "up Enter"]
    screen.perform(Action(Kind.SCROLL, dy=300.0))
    page.wait_for_function("scrollY == 150")
    screen.perform(Action(Kind.SCROLL, Point(10, 10), dy=-300.0))
    page.wait_for_function("scrollY == 0")
    screen.perform(Action(Kind.WAIT, seconds=0.0))
    screen.perform(Action(Kind.ANSWER, text="done"))
    screen.perform(Action(Kind.TERMINATE))


def test_keys_are_held_meanwhile_and_let_go(page: Any) -> None:
    screen = PlaywrightScreen(page)
    screen.perform(Action(Kind.CLICK, Point(300, 150), keys=("shift",)))
    assert seen(page) == ["key Shift", "mousedown 150 75", "with shift", "mouseup 150 75", "up Shift"]
    screen.perform(Action(Kind.SCROLL, Point(300, 150), keys=("alt",), dy=20.0))
    page.wait_for_function("seen.includes('wheel with alt')")
    screen.perform(Action(Kind.KEY, keys=("KP_0",)))
    screen.perform(Action(Kind.KEY, keys=("question",)))
    assert seen(page)[-4:] == ["key 0", "up 0", "key ?", "up ?"]
    page.evaluate("addEventListener('keydown', e => at = e.timeStamp)")
    page.evaluate("addEventListener('keyup', e => took = e.timeStamp - at)")
    screen.perform(Action(Kind.KEY, keys=("a",), seconds=0.3))
    assert page.evaluate("took") >= 250.0


def test_no_key_stays_down_where_a_click_fails() -> None:
    from playwright.sync_api import Error

    called: list[str] = []

    class Part:
        def __getattr__(self, name: str) -> Any:
            def note(*given: object, **_: object) -> None:
                called.append(f"{name} {given[0] if name != 'click' else ''}".strip())
                if name == "click":
                    raise Error("crashed")

            return note

    class Page:
        mouse = keyboard = Part()

    screen = PlaywrightScreen(Page())
    screen._size = SIZE
    with pytest.raises(ScreenError, match="click failed: crashed"):
        screen.perform(Action(Kind.CLICK, Point(3, 5), keys=("ctrl", "shift")))
    assert called == ["down Control", "down Shift", "click", "up Shift", "up Control"]


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
    screen = PlaywrightScreen(page)
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


LATE = """<body style="margin:0;background:white"><button style="position:absolute;left:20px;top:20px"
onclick="setTimeout(() => { document.body.style.background = 'rgb(9, 9, 9)' }, 300)">Go</button>"""


def test_a_result_that_comes_late_is_seen(page: Any) -> None:
    def corner(settle_s: float | None) -> int:
        page.set_content(LATE)
        options = {} if settle_s is None else {"settle_s": settle_s}
        guarded = GuardedPage(page, NotingGuard(), "Press Go", **options)
        guarded.step(lambda observation, text: Proposal((Action(Kind.CLICK, Point(60, 60)),)))
        last = guarded.step(lambda observation, text: Proposal((Action(Kind.TERMINATE, success=True),)))
        return int(last.observation.image[-1, -1, 0])

    assert corner(None) == 9
    assert corner(0.0) == 255


def test_a_new_tab_is_followed_where_the_loops_owner_says_so(page: Any) -> None:
    page.set_content('<a href="about:blank#x" target="_blank" style="font-size:40px">open</a>')
    guarded = GuardedPage(page, NotingGuard(), "Open it", settle_s=0.4)
    page.on("popup", lambda tab: setattr(guarded.screen, "page", tab))
    guarded.step(lambda observation, text: Proposal((Action(Kind.CLICK, Point(80, 60)),)))
    guarded.step(lambda observation, text: Proposal((Action(Kind.CLICK, Point(80, 60)),)))
    assert guarded.screen.page.url == "about:blank#x"


def test_an_awaited_guarded_page(chromium: None) -> None:
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
        (Action(Kind.KEY, keys=("a",), seconds=2.0), [Call("keyboard", "press", ("a",), {"delay": 2000.0})]),
        (
            Action(Kind.MOVE, Point(3, 6), keys=("ctrl", "shift")),
            [
                Call("keyboard", "down", ("Control",)),
                Call("keyboard", "down", ("Shift",)),
                Call("mouse", "move", (1.0, 2.0)),
                Call("keyboard", "up", ("Shift",)),
                Call("keyboard", "up", ("Control",)),
            ],
        ),
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


def turns(*actions: Action) -> Callable[[Observation, str], Proposal]:
    """An agent that proposes one after the other."""
    left = iter(actions)
    return lambda observation, text: Proposal((next(left),))


def test_an_irreversible_click_on_a_large_page_is_held_back(browser: Any) -> None:
    """As docs/gui.md wires it: a guard without a mode, which advises on a page of the default size."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.set_content(BUTTONS)
    critic = EmbeddedCritic(pictures=False)
    patient = Limits(judgement_s=300.0, history_s=300.0)
    guard = Guard(critic, threshold=critic.threshold(0.02), limits=patient, risk=RiskTier(most_p_bad=0.0))
    found = {}
    for name in ("delete", "settings"):
        box = page.locator(f"#{name}").bounding_box()
        point = Point(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        click, wait = Action(Kind.CLICK, point), Action(Kind.WAIT, seconds=0.1)
        outcome = GuardedPage(page, guard, "Open the settings").step(turns(click, wait))
        found[name] = (outcome.verdicts[0].intervene, page.evaluate("seen.splice(0)"))
    context.close()
    assert guard.mode is Mode.ADVISE
    assert found == {"delete": (True, []), "settings": (False, ["settings"])}
