"""MiniWoB++ task pages in headless Chromium: what a person would see, and what only labels and oracles may know.

A critic is given `screenshot()` and nothing else; `elements()`, `done` and `reward` are for labels, oracles and scores.
Everything is in pixels of the screenshot, which shows the task area alone (160 by 210 CSS pixels) at three times its
size. The reward panel and the cover between episodes are never drawn, because they tell the reward.
"""

from __future__ import annotations

import base64
import importlib.util
import io
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from foretell.extras import EXTRAS, MissingPackage
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.playwright import passing
from foretell.gui.bench.chromium import NoChromium, find_chromium
from foretell.gui.observation import Pixels

__all__ = ["HEIGHT", "SCALE", "WIDTH", "Element", "NoChromium", "NoTask", "Page", "tasks"]

SCALE = 3
AREA_WIDTH, AREA_HEIGHT = 160, 210  # CSS pixels
WIDTH, HEIGHT = AREA_WIDTH * SCALE, AREA_HEIGHT * SCALE
EPISODE_MS = 3_600_000
LONGEST_WAIT_S = 5.0
DRAG_STEPS = 8
READY_MS = 10_000

KEYS: Mapping[str, str] = {
    "ctrl": "Control",
    "control": "Control",
    "alt": "Alt",
    "option": "Alt",
    "shift": "Shift",
    "cmd": "Meta",
    "meta": "Meta",
    "super": "Meta",
    "win": "Meta",
    "enter": "Enter",
    "return": "Enter",
    "esc": "Escape",
    "escape": "Escape",
    "tab": "Tab",
    "space": "Space",
    "backspace": "Backspace",
    "delete": "Delete",
    "del": "Delete",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "page_up": "PageUp",
    "pagedown": "PageDown",
    "page_down": "PageDown",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "arrowup": "ArrowUp",
    "arrowdown": "ArrowDown",
    "arrowleft": "ArrowLeft",
    "arrowright": "ArrowRight",
}
CLICKED: Mapping[Kind, dict[str, Any]] = {
    Kind.CLICK: {},
    Kind.LONG_PRESS: {"delay": 800},
    Kind.DOUBLE_CLICK: {"click_count": 2},
    Kind.TRIPLE_CLICK: {"click_count": 3},
    Kind.RIGHT_CLICK: {"button": "right"},
    Kind.MIDDLE_CLICK: {"button": "middle"},
}

# A caret that blinks would make two looks at an unchanged page differ.
STYLE = """#reward-display, #sync-task-cover, #click-canvas { display: none !important; }
* { caret-color: transparent !important; }
html, body { overflow: hidden !important; background: white !important; }"""
SCREEN = {"width": AREA_WIDTH, "height": AREA_HEIGHT, "deviceScaleFactor": SCALE, "mobile": False}
SHOT = {"format": "png", "optimizeForSpeed": True}
FRAME_FLAGS = ("--disable-frame-rate-limit", "--disable-gpu-vsync")  # as quick as it goes, for half as much work again
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-smooth-scrolling",
    "--force-color-profile=srgb",
    *FRAME_FLAGS,
)
READY = "typeof core !== 'undefined' && core.cover_div !== null && WOB_TASK_READY"


class NoTask(ValueError):
    """There is no task page of that name."""

    def __init__(self, task: str) -> None:
        super().__init__(f"MiniWoB++ has no task page named {task!r}; see foretell.gui.bench.pages.tasks().")


@dataclass(frozen=True)
class Element:
    """An element of the page as the DOM knows it, for labels and oracles alone.

    `ref` stays the same as long as the episode lasts. `text` is all text inside, `own` only what stands in the element
    itself. `box` is x, y, width, height in screenshot pixels: of the part that can be seen where it is `visible`
    (inside the task area, not scrolled away, not wholly covered), else of all of it; `aim` is a point of it to click.
    `value` is what a field holds, "on" for what is ticked or selected, and a drop-down list's choice. `attributes` are
    those of the tag, with the computed `background` and `colour`; `scroll-top`, `scroll-height`, `client-height` of
    what scrolls; `selection`, the marked text in it; and `last-event`, the last of click, input and copy that happened
    to it.
    """

    ref: int
    tag: str
    text: str
    own: str
    box: tuple[float, float, float, float]
    aim: tuple[float, float]
    value: str
    attributes: Mapping[str, str] = field(hash=False)
    parent: int | None
    focused: bool
    visible: bool
    enabled: bool

    @property
    def id(self) -> str:
        return self.attributes.get("id", "")

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.attributes.get("class", "").split())

    @property
    def type(self) -> str:
        """The `type` of an input: text where it says nothing; empty for other tags."""
        return self.attributes.get("type", "text").lower() if self.tag == "input" else ""

    @property
    def centre(self) -> Point:
        """Where a person would click it: the middle of its text or of its box, or else a part that is not covered."""
        return Point(*self.aim)

    @property
    def middle(self) -> Point:
        """The middle of the box."""
        x, y, width, height = self.box
        return Point(x + width / 2, y + height / 2)

    def holds(self, point: Point) -> bool:
        """Whether a point of the screenshot lies in the box."""
        x, y, width, height = self.box
        return x <= point.x < x + width and y <= point.y < y + height


def pages_at() -> Path:
    """The folder of the task pages. Raises MissingPackage if MiniWoB++ is not installed."""
    spec = importlib.util.find_spec("miniwob")
    if spec is None or not spec.submodule_search_locations:
        raise MissingPackage("miniwob", EXTRAS["gui"])
    return Path(next(iter(spec.submodule_search_locations))) / "html" / "miniwob"


def tasks() -> tuple[str, ...]:
    """The names of all task pages."""
    return tuple(sorted(path.stem for path in pages_at().glob("*.html")))


class Page:
    """One browser with one page, used for one task after the other: `with Page() as page: page.start(task, seed)`.

    An episode is a function of task and seed: the page is loaded afresh for each, its random numbers are seeded, and
    jQuery's animations are off. It does not time out. Once it is `done` the page stays as it was, and further actions
    earn nothing. `playwright` is what `sync_playwright().start()` gave, if it runs in this thread already.
    """

    def __init__(self, playwright: Any = None) -> None:
        self._running = playwright
        self.task = ""
        self.goal = ""
        scripts = files("foretell.gui.bench")
        self._load, self._start, self._read = (
            scripts.joinpath(f"{name}.js").read_text("utf-8") for name in ("load", "start", "elements")
        )

    def __enter__(self) -> Self:
        from playwright.sync_api import Error, sync_playwright

        at = find_chromium()
        self._playwright = self._running or sync_playwright().start()
        try:
            self._browser = self._playwright.chromium.launch(executable_path=at, args=list(FLAGS))
        except Error as error:
            self._stop()
            raise NoChromium(str(error).splitlines()[0]) from error
        context = self._browser.new_context(
            viewport={"width": AREA_WIDTH, "height": AREA_HEIGHT}, device_scale_factor=SCALE
        )
        context.add_init_script(self._load)
        self._page = context.new_page()
        self._devtools = context.new_cdp_session(self._page)
        self._devtools.send("Emulation.setDeviceMetricsOverride", SCREEN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._browser.close()
        self._stop()

    def _stop(self) -> None:
        if self._running is None:
            self._playwright.stop()

    def start(self, task: str, seed: int) -> str:
        """Begins an episode and returns its goal in words."""
        at = pages_at() / f"{task}.html"
        if not at.is_file():
            raise NoTask(task)
        self._page.mouse.move(0, 0)
        self._page.goto(at.as_uri(), wait_until="load")
        self._page.wait_for_function(READY, timeout=READY_MS)
        self.task = task
        self.goal = str(self._page.evaluate(self._start, [seed, EPISODE_MS, STYLE])).strip()
        return self.goal

    def screenshot(self) -> Pixels:
        """The task area as it looks now: 480 by 630 pixels."""
        from PIL import Image
        from playwright.sync_api import Error

        try:
            shot = self._devtools.send("Page.captureScreenshot", SHOT)
        except Error as error:
            if not passing(error):
                raise
            shot = self._devtools.send("Page.captureScreenshot", SHOT)
        with Image.open(io.BytesIO(base64.b64decode(shot["data"]))) as image:
            return np.asarray(image.convert("RGB"), dtype=np.uint8)

    def elements(self) -> list[Element]:
        """Everything in the task area but the instruction, in the order of the document."""
        return [_element(row) for row in self._page.evaluate(self._read)]

    @property
    def done(self) -> bool:
        """Whether the page has ended the episode."""
        return bool(self._page.evaluate("WOB_DONE_GLOBAL"))

    @property
    def reward(self) -> float:
        """What the page gave: 1 for solved, 0 before the end, less where it is wrong; time does not count."""
        return float(self._page.evaluate("WOB_RAW_REWARD_GLOBAL"))

    def evaluate(self, script: str, given: Any = None) -> Any:
        """What a script gives when run in the page, for labels and for staging what a screen shows."""
        return self._page.evaluate(script, given)

    def perform(self, action: Action) -> None:
        """Does it with real mouse and keyboard events. What the page knows nothing of (answer, terminate) does nothing.

        A point that lacks is the centre for a scroll; other kinds that need one do nothing without it. The keys of a
        click are held down while it happens.
        """
        mouse, keyboard = self._page.mouse, self._page.keyboard
        match action.kind:
            case kind if kind in CLICKED and action.point is not None:
                held = _key_names(action.keys)
                for name in held:
                    keyboard.down(name)
                mouse.click(*_css(action.point), **CLICKED[kind])
                for name in reversed(held):
                    keyboard.up(name)
            case Kind.MOVE if action.point is not None:
                mouse.move(*_css(action.point), steps=3)
            case Kind.DRAG if action.point is not None and action.to is not None:
                mouse.move(*_css(action.point))
                mouse.down()
                mouse.move(*_css(action.to), steps=DRAG_STEPS)
                mouse.up()
            case Kind.SCROLL:
                mouse.move(*_css(action.point or Point(WIDTH / 2, HEIGHT / 2)))
                mouse.wheel(action.dx / SCALE, action.dy / SCALE)
                self._settle()
            case Kind.TYPE if action.text:
                keyboard.type(action.text)
            case Kind.KEY if action.keys:
                keyboard.press("+".join(_key_names(action.keys)))
            case Kind.WAIT:
                time.sleep(min(LONGEST_WAIT_S, 1.0 if action.seconds is None else action.seconds))
            case _:
                pass

    def _settle(self) -> None:
        self._page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def _css(point: Point) -> tuple[float, float]:
    return point.x / SCALE, point.y / SCALE


def _key_names(keys: Iterable[str]) -> list[str]:
    return [KEYS.get(key.lower(), key) for key in keys]


def _element(row: Mapping[str, Any]) -> Element:
    x, y, width, height = (float(side) * SCALE for side in row["box"])
    aim_x, aim_y = (float(side) * SCALE for side in row["aim"])
    return Element(**{**row, "box": (x, y, width, height), "aim": (aim_x, aim_y)})
