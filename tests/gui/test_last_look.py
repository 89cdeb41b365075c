"""The last look before a press, pictures that a page cannot notice, and pages that do not answer."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.loop import GuardedScreen, StepOutcome
from foretell.gui.adapters.page_calls import INPUT_MS, calls
from foretell.gui.adapters.page_shots import without_caret
from foretell.gui.adapters.playwright import AsyncGuardedPage, GuardedPage, PlaywrightScreen
from foretell.gui.adapters.screen import Fault, ScreenError
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.verdict import Reason, Verdict
from tests.gui.adapter_fakes import NotingGuard, NotingScreen, awaited, launching

AT = Point(120, 40)
CLICK, MOVE = Action(Kind.CLICK, AT), Action(Kind.MOVE, AT)
BUTTON = """<body style="margin:0"><button id=b style="position:absolute;left:20px;top:20px;width:200px;height:40px;
font-size:24px">Next</button><script>window.log = []; b.onclick = () => log.push(b.textContent);"""
STUCK = "b.onmousedown = () => { const end = Date.now() + 9000; while (Date.now() < end); };"
CHANGED = "b.textContent = 'DELETE';"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 640, "height": 400})
    yield context.new_page()
    context.close()


class Sharp(NotingGuard):
    """Objects where the screenshot around the button is not what it was at first."""

    first: Pixels | None = None

    def after_proposal(self, observation: Observation, proposal: Proposal) -> Verdict:
        here = observation.image[20:60, 20:220]
        self.first = here if self.first is None else self.first
        objects = bool(proposal.actions) and not np.array_equal(self.first, here)
        self.seen.append(("judge", proposal))
        return Verdict(None, objects, "changed" if objects else "", 0, Reason.DOUBTED if objects else Reason.FINE)


def once(*actions: Action, intent: str = "delete the mail") -> Any:
    proposals = [Proposal(actions, intent)]
    return lambda observation, text: proposals.pop() if proposals else Proposal((), "nothing", fault="nothing")


def test_what_a_pointer_brings_up_is_seen_before_the_press(page: Any) -> None:
    page.set_content(f"{BUTTON} document.onmousemove = () => {{ {CHANGED} }}</script>")
    outcome = GuardedPage(page, Sharp(), "x", settle_s=0.0).step(once(CLICK))
    assert page.evaluate("log") == [] and len(outcome.proposals) == 2


def test_an_honest_shade_under_the_pointer_holds_nothing(page: Any) -> None:
    page.set_content(BUTTON + "</script><style>#b:hover { background: #00f; color: #fff }</style>")
    outcome = GuardedPage(page, Sharp(), "x", settle_s=0.0).step(once(CLICK, intent="click Next"))
    assert page.evaluate("log") == ["Next"] and outcome.performed


@pytest.mark.parametrize("first", [MOVE, Action(Kind.WAIT, seconds=0.0), Action(Kind.KEY, keys=("tab",))])
def test_every_press_of_a_batch_is_looked_at(page: Any, first: Action) -> None:
    page.set_content(f"{BUTTON}</script>")
    propose, texts = once(first, CLICK), []

    def changing(observation: Observation, text: str) -> Proposal:
        texts.append(text)
        page.evaluate(CHANGED)
        proposal: Proposal = propose(observation, text)
        return proposal

    guard = Sharp()
    screen = GuardedPage(page, guard, "x", settle_s=0.0)
    outcome = screen.step(changing)
    assert page.evaluate("log") == [] and outcome.cut_short is not None
    assert guard.last("executed").actions == (first,) and not outcome.finished
    screen.step(changing)
    assert "changed" in texts[1]


def test_an_honest_batch_is_performed_whole(page: Any) -> None:
    page.set_content(f"{BUTTON} setTimeout(() => {{ {CHANGED} }}, 0)</script>")
    page.wait_for_function("b.textContent == 'DELETE'")
    outcome = GuardedPage(page, Sharp(), "x", settle_s=0.0).step(once(MOVE, CLICK))
    assert page.evaluate("log") == ["DELETE"] and outcome.cut_short is None
    ordinary = GuardedPage(page, Sharp(), "x", settle_s=0.0)
    page.evaluate("document.onmousemove = () => { b.textContent = 'Go on' }")
    assert ordinary.step(once(MOVE, CLICK, intent="click Next")).performed
    assert page.evaluate("log") == ["DELETE", "Go on"]  # new there, and not irreversible


def test_awaited_pages_are_looked_at_in_the_same_way(chromium: None) -> None:
    async def episode() -> tuple[StepOutcome, Any]:
        from playwright.async_api import async_playwright

        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(**launching())
            page = await browser.new_page(viewport={"width": 640, "height": 400})
            await page.set_content(f"{BUTTON} document.onmousemove = () => {{ {CHANGED} }}</script>")
            outcome = await AsyncGuardedPage(page, Sharp(), "x", settle_s=0.0).step(once(CLICK))
            log = await page.evaluate("log")
            await browser.close()
            return outcome, log

    outcome, log = awaited(episode())
    assert log == [] and len(outcome.proposals) == 2


SPY = """const show = () => { const hidden = getComputedStyle(i).caretColor === 'rgba(0, 0, 0, 0)';
b.textContent = hidden ? 'Next' : 'DELETE'; requestAnimationFrame(show); }; show();</script>"""


def test_a_page_cannot_look_different_in_pictures(page: Any) -> None:
    field = "<input id=i style='position:absolute;left:-50px;width:9px'>"
    page.set_content(f"{field}{BUTTON} b.textContent = 'DELETE'</script>")
    plain = PlaywrightScreen(page).observe()
    page.set_content(f"{field}{BUTTON} {SPY}")
    page.wait_for_timeout(100)
    assert np.array_equal(PlaywrightScreen(page).observe(), plain)


@pytest.mark.parametrize("scale", [1, 2])
def test_a_caret_is_not_in_the_picture(browser: Any, scale: int) -> None:
    context = browser.new_context(viewport={"width": 300, "height": 200}, device_scale_factor=scale)
    page = context.new_page()
    page.set_content("<body style='height:3000px'><input autofocus style='font-size:24px' value=Berlin>")
    screen = PlaywrightScreen(page)
    page.focus("input")
    looks = []
    for _ in range(3):
        looks.append(screen.observe())
        page.wait_for_timeout(250)
    assert all(np.array_equal(looks[0], one) for one in looks) and looks[0].shape == (200 * scale, 300 * scale, 3)
    page.mouse.wheel(0, 900)
    page.wait_for_timeout(100)
    assert screen.observe().shape == looks[0].shape and not np.array_equal(screen.observe(), looks[0])
    context.close()


def test_only_a_caret_is_taken_from_the_other_picture() -> None:
    quiet = np.full((100, 200, 3), 255, np.uint8)
    caret, label = quiet.copy(), quiet.copy()
    caret[40:60, 50:52] = 0
    label[40:60, 50:90] = 0
    assert np.array_equal(without_caret(caret, quiet, 1.0), quiet)
    assert np.array_equal(without_caret(label, quiet, 1.0), label)
    assert np.array_equal(without_caret(quiet[:50], quiet, 1.0), quiet)


def test_a_page_that_does_not_return_from_an_event_is_a_timeout(browser: Any) -> None:
    context = browser.new_context(viewport={"width": 640, "height": 400})
    page = context.new_page()
    page.set_content(
        BUTTON + " b.onmousedown = () => { const end = Date.now() + 9000; while (Date.now() < end); }</script>"
    )
    screen = PlaywrightScreen(page, timeout_ms=500.0)
    screen.observe()
    with pytest.raises(ScreenError) as error:
        screen.perform(CLICK)
    assert error.value.fault is Fault.TIMEOUT and INPUT_MS <= 10_000.0
    context.close()


class Unending(http.server.BaseHTTPRequestHandler):
    """A page with a picture that never comes; `/open` is one that never ends itself."""

    ended = threading.Event()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "image/png" if self.path == "/never.png" else "text/html")
        self.end_headers()
        self.wfile.write(b"" if self.path == "/never.png" else b"<h1>ready</h1><img src=/never.png>")
        self.wfile.flush()
        if self.path != "/":
            self.ended.wait(60)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def unending() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unending)
    server.daemon_threads = True
    Unending.ended.clear()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    Unending.ended.set()
    server.shutdown()


def test_a_page_is_opened_without_its_pictures_and_without_its_end(page: Any, unending: str) -> None:
    screen = PlaywrightScreen(page, timeout_ms=20_000.0)
    began_s = time.monotonic()
    screen.perform(Action(Kind.NAVIGATE, text=unending))
    assert screen.note == "" and page.inner_text("h1") == "ready" and time.monotonic() - began_s < 20.0
    short = PlaywrightScreen(page, timeout_ms=2000.0)
    short.perform(Action(Kind.NAVIGATE, text=f"{unending}/open"))
    assert "still being loaded" in short.note and page.url.endswith("/open")
    with pytest.raises(ScreenError):
        short.perform(Action(Kind.NAVIGATE, text="http://127.0.0.1:9/"))  # no server is no page


def test_the_wait_for_a_page_is_a_bounded_one() -> None:
    opened = calls(Action(Kind.NAVIGATE, text="https://a.org"), (9, 9), 1.0)
    assert [call.method for call in opened] == ["goto", "wait_for_load_state"]
    assert opened[0].named["wait_until"] == "commit" and opened[1].named["timeout"] <= 10_000.0


def test_a_screen_without_a_pointer_is_looked_at_as_before() -> None:
    screen = NotingScreen()
    outcome = GuardedScreen(screen, NotingGuard(), "x").step(lambda seen, text: Proposal((CLICK, replace(CLICK)), "go"))
    assert outcome.performed and len(screen.done) == 2
