"""An X11 desktop, such as one under Xvfb: screenshots by whatever program is there, input by xdotool.

Arguments are lists, never a shell's line; what is typed goes to xdotool's standard input, so that it appears in no list
of processes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from foretell.gui.actions import CLICKS, Action, Kind, Platform, Point
from foretell.gui.adapters import keys
from foretell.gui.adapters.atspi import AtspiReader
from foretell.gui.adapters.commands import call, find, launch
from foretell.gui.adapters.rest import SETTLE_S
from foretell.gui.adapters.screen import SPOKEN, WAIT_S, Fault, ScreenError, bad, checked, decode, place
from foretell.gui.evidence import Evidence
from foretell.gui.observation import Pixels

TIMEOUT_S = 15.0
PIXELS_PER_NOTCH = 120.0  # what one click of a wheel scrolls in Chromium; other programs about as much
MOST_NOTCHES = 100
DRAG_STEPS = 8
TYPE_DELAY_MS = 8
_FILE = "{file}"
SHOOTERS: Mapping[str, tuple[str, ...]] = {
    "import": ("-silent", "-window", "root", "png:-"),  # ImageMagick
    "xwd": ("-silent", "-root"),
    "scrot": ("--silent", _FILE),  # only its newest versions print the picture
}

_BUTTONS: Mapping[Kind, tuple[int, int]] = {
    Kind.CLICK: (1, 1),
    Kind.DOUBLE_CLICK: (1, 2),
    Kind.TRIPLE_CLICK: (1, 3),
    Kind.RIGHT_CLICK: (3, 1),
    Kind.MIDDLE_CLICK: (2, 1),
}
_UP, _DOWN, _LEFT, _RIGHT = 4, 5, 6, 7


class X11Screen:
    """The whole screen of a display. `openers` are the programs that an agent may open, by name: none by default.

    At most `settle_s` are waited after an action until it has come to rest. With `evidence` the accessibility bus is
    asked for the elements under proposed points and for what has the focus; `session` are variables of the programs'
    session, if it is not this process's. Raises ScreenError if a program or package for that is missing.
    """

    platform: Platform = "desktop"
    looks_again = True

    def __init__(
        self,
        display: str | None = None,
        openers: Mapping[str, Sequence[str]] | None = None,
        timeout_s: float = TIMEOUT_S,
        sleep: Callable[[float], None] = time.sleep,
        settle_s: float = SETTLE_S,
        evidence: bool = False,
        session: Mapping[str, str] | None = None,
    ) -> None:
        self.settle_s = settle_s
        self._display = display or os.environ.get("DISPLAY", "")
        if not self._display:
            raise ScreenError(
                Fault.FAILED, "there is no DISPLAY: start one (`Xvfb :99 &`) and give it as display=':99'"
            )
        self._xdotool = find("xdotool", "install the package xdotool")
        self._shooter = next(((path, name) for name in SHOOTERS if (path := shutil.which(name)) is not None), None)
        self._openers, self._timeout_s, self._sleep = dict(openers or {}), timeout_s, sleep
        self._size: tuple[int, int] | None = None
        self._reader = AtspiReader(self._display, session) if evidence else None

    def gather(self, points: Sequence[Point]) -> Evidence | None:
        """What the desktop says of points; None unless `evidence` is on, or if no program answers."""
        return None if self._reader is None else self._reader.gather(points)

    def observe(self) -> Pixels:
        image = self._grabbed() if self._shooter is None else self._shot(*self._shooter)
        self._size = (image.shape[1], image.shape[0])
        return image

    def approach(self, point: Point) -> None:
        """Move the pointer to where something is to be pressed, so that what that alone does is seen before."""
        self.perform(Action(Kind.MOVE, point))

    def perform(self, action: Action) -> None:
        if self._size is None:
            self.observe()
        checked(action, self.platform, self._size or (1, 1))
        if action.kind is Kind.WAIT:
            self._sleep(WAIT_S if action.seconds is None else action.seconds)
        elif action.kind is Kind.OPEN:
            self._open(action.text or "")
        elif action.kind not in SPOKEN:
            for arguments, typed in commands(action, self._size or (1, 1)):
                private, pressed_s = action.kind is Kind.TYPE, action.seconds or 0.0
                try:
                    self._call((self._xdotool, *arguments), typed.encode(), private, pressed_s)
                except ScreenError:
                    self._let_go(action)
                    raise

    def _let_go(self, action: Action) -> None:
        """No key may stay down where what held it failed half way."""
        if action.held or (action.kind is Kind.KEY and action.seconds):
            with suppress(ScreenError):
                self._call((self._xdotool, "keyup", _together(action)))

    def _open(self, name: str) -> None:
        command = self._openers.get(name)
        if not command:
            known = ", ".join(sorted(self._openers)) or "none"
            raise bad(f"that program may not be opened here: allowed are {known} (see openers)")
        launch(command, {"DISPLAY": self._display})

    def _call(
        self, arguments: Sequence[str], given: bytes = b"", private: bool = False, longer_s: float = 0.0
    ) -> bytes:
        return call(arguments, self._timeout_s + longer_s, given, {"DISPLAY": self._display}, private)

    def _shot(self, path: str, name: str) -> Pixels:
        with tempfile.TemporaryDirectory(prefix="foretell") as folder:
            file = Path(folder) / "screen.png"
            data = self._call((path, *(str(file) if part == _FILE else part for part in SHOOTERS[name])))
            if _FILE in SHOOTERS[name]:
                data = file.read_bytes() if file.exists() else b""
        return decode_xwd(data) if name == "xwd" else decode(data)

    def _grabbed(self) -> Pixels:
        from PIL import ImageGrab

        try:
            return np.asarray(ImageGrab.grab(xdisplay=self._display).convert("RGB"), dtype=np.uint8)
        except OSError as error:
            hint = f"no screenshot of {self._display}: install one of {', '.join(SHOOTERS)}, or check the display"
            raise ScreenError(Fault.MISSING_TOOL, hint) from error


def commands(action: Action, size: tuple[int, int]) -> list[tuple[tuple[str, ...], str]]:
    """The arguments of each call of xdotool that performs an action, with what goes to its standard input."""
    if action.held:
        ((arguments, typed),) = commands(replace(action, keys=()), size)
        return [(("keydown", _together(action), *arguments, "keyup", _together(action)), typed)]
    kind = action.kind
    if kind in CLICKS and action.point is not None:
        button, times = _BUTTONS[kind]
        return [((*_move(action.point), "click", *_times(times, 60), str(button)), "")]
    if kind is Kind.MOVE and action.point is not None:
        return [(_move(action.point), "")]
    if kind is Kind.DRAG and action.point is not None and action.to is not None:
        path = [step for i in range(1, DRAG_STEPS + 1) for step in _move(_between(action.point, action.to, i))]
        return [((*_move(action.point), "mousedown", "1", *path, "mouseup", "1"), "")]
    if kind is Kind.SCROLL:
        found: list[str] = [*_move(place(action, size))]
        for distance, back, on in ((action.dy, _UP, _DOWN), (action.dx, _LEFT, _RIGHT)):
            if distance:
                notches = min(MOST_NOTCHES, max(1, round(abs(distance) / PIXELS_PER_NOTCH)))
                found += ["click", *_times(notches, 20), str(on if distance > 0 else back)]
        return [(tuple(found), "")]
    if kind is Kind.TYPE:
        focus = [] if action.point is None else [((*_move(action.point), "click", "1"), "")]
        typing = ("type", "--clearmodifiers", "--delay", str(TYPE_DELAY_MS), "--file", "-")
        return [*focus, (typing, action.text or "")]
    if kind is Kind.KEY:
        if action.seconds:
            down, up = ("keydown", _together(action)), ("keyup", _together(action))
            return [((*down, "sleep", f"{action.seconds:g}", *up), "")]
        return [(("key", "--clearmodifiers", _together(action)), "")]
    raise bad(f"{kind.value} is no action for xdotool")


def decode_xwd(data: bytes) -> Pixels:
    """The pixels of a dump by xwd: true colour, 24 or 32 bits a pixel, which is what screens have."""
    if len(data) < 100:
        raise ScreenError(Fault.NO_PICTURE, f"the screenshot is no dump by xwd ({len(data)} bytes)")
    header = np.frombuffer(data[:100], ">u4").astype(np.int64)
    start, version, form, width, height = (int(header[i]) for i in (0, 1, 2, 4, 5))
    little, bits, row_bytes, colours = header[7] == 0, int(header[11]), int(header[12]), int(header[19])
    begin, step = start + 12 * colours, bits // 8
    if version != 7 or form != 2 or bits not in (24, 32) or not width or not height or row_bytes < width * step:
        raise ScreenError(
            Fault.NO_PICTURE, "xwd gave a kind of picture that is not known here: install import or scrot"
        )
    if len(data) < begin + height * row_bytes:
        raise ScreenError(Fault.NO_PICTURE, "the dump by xwd is not whole")
    rows = np.frombuffer(data, np.uint8, height * row_bytes, begin).reshape(height, row_bytes)
    parts = rows[:, : width * step].reshape(height, width, step).astype(np.uint32)
    parts = parts if little else parts[:, :, ::-1]
    pixels = sum((parts[:, :, i] << np.uint32(8 * i) for i in range(step)), np.zeros((height, width), np.uint32))
    shifts = [int(mask & -mask).bit_length() - 1 for mask in (int(header[i]) for i in (14, 15, 16))]
    if min(shifts) < 0:
        raise ScreenError(Fault.NO_PICTURE, "the dump by xwd says nothing of its colours")
    return np.stack([(pixels >> np.uint32(shift)) & np.uint32(255) for shift in shifts], axis=2).astype(np.uint8)


def _together(action: Action) -> str:
    return "+".join(key.x11 for key in keys.names(action.keys))


def _move(point: Point) -> tuple[str, ...]:
    return ("mousemove", str(int(point.x)), str(int(point.y)))


def _between(start: Point, end: Point, step: int) -> Point:
    share = step / DRAG_STEPS
    return Point(start.x + share * (end.x - start.x), start.y + share * (end.y - start.y))


def _times(count: int, delay_ms: int) -> tuple[str, ...]:
    return ("--repeat", str(count), "--delay", str(delay_ms)) if count > 1 else ()
