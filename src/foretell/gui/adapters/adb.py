"""An Android device by adb: `screencap` for screenshots, `input` for touches, texts and keys.

`adb shell` hands one line to the device's shell, whatever list of arguments it was given: every text is quoted for that
shell, and written so that `input text` reads it back as it was.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Mapping

from foretell.gui.actions import CLICKS, Action, Kind, Platform, Point
from foretell.gui.adapters import keys
from foretell.gui.adapters.commands import call, find
from foretell.gui.adapters.rest import SETTLE_S
from foretell.gui.adapters.screen import SPOKEN, WAIT_S, bad, checked, decode, place
from foretell.gui.observation import Pixels
from foretell.gui.parse.keys import usual

TIMEOUT_S = 30.0
PRESS_MS = 800
HOLD_S = 0.5  # a key held as long is pressed long, which takes as long as the device has it
SWIPE_MS = 300
DRAG_MS = 900
EDGE_SHARE = 0.1  # of the screen at each side that a scroll keeps away from: gestures of the system begin there
MOST_SWIPES = 10
TEXT_CHARACTERS = 400  # typed by one call

_SERIAL = re.compile(r"[\w.:-]{1,100}")
_PACKAGE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+")
_HOME, _BACK, _ENTER, _TAB = "3", "4", "66", "61"

Command = tuple[str, ...]


class AdbScreen:
    """The screen of the device `serial`, or of the only one. `apps` are packages by the names that an agent uses.

    At most `settle_s` are waited after an action until it has come to rest.
    """

    platform: Platform = "mobile"

    def __init__(
        self,
        serial: str | None = None,
        apps: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        sleep: Callable[[float], None] = time.sleep,
        settle_s: float = SETTLE_S,
    ) -> None:
        self.settle_s = settle_s
        if serial is not None and (not _SERIAL.fullmatch(serial) or serial.startswith("-")):
            raise bad("that is no serial number of a device: see `adb devices`")
        self._adb = (find("adb", "install Android's platform tools"), *(() if serial is None else ("-s", serial)))
        self._apps, self._timeout_s, self._sleep = dict(apps or {}), timeout_s, sleep
        self._size: tuple[int, int] | None = None

    def observe(self) -> Pixels:
        image = decode(call((*self._adb, "exec-out", "screencap", "-p"), self._timeout_s))
        self._size = (image.shape[1], image.shape[0])
        return image

    def perform(self, action: Action) -> None:
        if self._size is None:
            self.observe()
        checked(action, self.platform, self._size or (1, 1))
        if action.kind is Kind.WAIT:
            self._sleep(WAIT_S if action.seconds is None else action.seconds)
            return
        private = action.kind is Kind.TYPE
        for command in commands(action, self._size or (1, 1), self._apps):
            timeout_s = self._timeout_s + (action.seconds or 0.0)
            call((*self._adb, "shell", *map(shlex.quote, command)), timeout_s, private=private)


def commands(action: Action, size: tuple[int, int], apps: Mapping[str, str] | None = None) -> list[Command]:
    """What the device is to run for an action, as arguments that are not quoted yet."""
    kind = action.kind
    if action.held:
        raise bad(f"adb's input holds no keys during a {kind.value}")
    if kind in (Kind.CLICK, Kind.DOUBLE_CLICK) and action.point is not None:
        tap = ("input", "tap", *_at(action.point))
        return [tap] * (2 if kind is Kind.DOUBLE_CLICK else 1)
    if kind is Kind.LONG_PRESS and action.point is not None:
        hold_ms = PRESS_MS if action.seconds is None else max(PRESS_MS, round(1000 * action.seconds))
        return [_swipe(action.point, action.point, hold_ms)]
    if kind is Kind.DRAG and action.point is not None and action.to is not None:
        drag_ms = DRAG_MS if action.seconds is None else max(1, round(1000 * action.seconds))
        return [_swipe(action.point, action.to, drag_ms)]
    if kind is Kind.SCROLL:
        return _scroll(action, size)
    if kind is Kind.TYPE:
        focus: list[Command] = [] if action.point is None else [("input", "tap", *_at(action.point))]
        return [*focus, *typing(action.text or "")]
    if kind is Kind.KEY:
        return _press(action)
    if kind in (Kind.BACK, Kind.HOME):
        return [("input", "keyevent", _BACK if kind is Kind.BACK else _HOME)]
    if kind is Kind.OPEN:
        return [_open(action.text or "", apps or {})]
    if kind in SPOKEN:
        return []
    raise bad(f"{kind.value} is no action for adb" + (": it knows one button only" if kind in CLICKS else ""))


def typing(text: str) -> list[Command]:
    """The commands that type a text, or ScreenError where `input` cannot: it knows ASCII only.

    `input text` turns %s into a blank and knows no way to write %s itself, so the two characters go in two calls.
    """
    if not all(" " <= c <= "~" or c in "\n\t" for c in text):
        raise bad("adb's input types ASCII only: use a keyboard app that takes other texts")
    found: list[Command] = []
    for piece in re.split(r"([\n\t])", text):
        if piece in ("\n", "\t"):
            found.append(("input", "keyevent", _ENTER if piece == "\n" else _TAB))
            continue
        for part in re.split(r"(?<=%)(?=s)", piece):
            chunks = [part[i : i + TEXT_CHARACTERS] for i in range(0, len(part), TEXT_CHARACTERS)]
            found += [("input", "text", chunk.replace(" ", "%s")) for chunk in chunks]
    return found


def _scroll(action: Action, size: tuple[int, int]) -> list[Command]:
    """Swipes against the direction of looking, within the screen, as many as the distance takes."""
    middle = place(action, size)
    found: list[Command] = []
    for distance, extent, along_y in ((action.dy, size[1], True), (action.dx, size[0], False)):
        if not distance:
            continue
        low, high = EDGE_SHARE * extent, (1.0 - EDGE_SHARE) * extent
        reach = max(1.0, high - low)
        swipes = min(MOST_SWIPES, max(1, -(-int(abs(distance)) // int(reach))))
        half = min(abs(distance) / swipes, reach) / 2 * (1 if distance > 0 else -1)
        centre = min(max(middle.y if along_y else middle.x, low + abs(half)), high - abs(half))
        if along_y:
            swipe = _swipe(Point(middle.x, centre + half), Point(middle.x, centre - half), SWIPE_MS)
        else:
            swipe = _swipe(Point(centre + half, middle.y), Point(centre - half, middle.y), SWIPE_MS)
        found += [swipe] * swipes
    return found


def _press(action: Action) -> list[Command]:
    """A sign that Android has no key for is typed, as its own keyboards do."""
    codes = [key.android for key in keys.names(action.keys)]
    if len(codes) == 1 and codes[0] is None and len(usual(action.keys[0])) == 1:
        return typing(usual(action.keys[0]))
    if None in codes:
        raise bad(f"Android has no key for one of the {len(codes)} that were asked for")
    seconds = action.seconds or 0.0
    if len(codes) == 1:
        return [("input", "keyevent", *(("--longpress",) if seconds >= HOLD_S else ()), str(codes[0]))]
    duration = ("-t", str(round(1000 * seconds))) if seconds else ()
    return [("input", "keycombination", *duration, *map(str, codes))]


def _open(name: str, apps: Mapping[str, str]) -> Command:
    package = apps.get(name, name)
    if not _PACKAGE.fullmatch(package):
        raise bad("an app is opened by its package, such as com.android.settings, or by a name given in apps")
    return ("monkey", "-p", package, "-c", "android.intent.category.LAUNCHER", "1")


def _at(point: Point) -> tuple[str, str]:
    return str(int(point.x)), str(int(point.y))


def _swipe(start: Point, end: Point, duration_ms: int) -> Command:
    return ("input", "swipe", *_at(start), *_at(end), str(duration_ms))
