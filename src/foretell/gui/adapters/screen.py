"""A screen that can be looked at and acted on, and what may go wrong with one. Values and protocols only."""

from __future__ import annotations

import math
from enum import StrEnum
from io import BytesIO
from typing import Protocol

import numpy as np

from foretell.gui.actions import ALLOWED, POINTED, TEXTS, Action, Kind, Platform, Point
from foretell.gui.observation import Pixels
from foretell.gui.quoting import LEFT_OUT, instructs, plain_line

MOST_WAIT_S = 60.0
MOST_SCROLL_PX = 100_000.0
WAIT_S = 1.0  # a wait that does not say how long
_SHOWN_CHARACTERS = 200
SPOKEN = frozenset((Kind.ANSWER, Kind.TERMINATE))  # kinds that speak to the user


class Fault(StrEnum):
    """Why a screen could not be seen or acted on. Closed."""

    MISSING_TOOL = "missing_tool"  # a program or package that is not installed
    BAD_ACTION = "bad_action"  # not an action that this screen knows
    NO_PICTURE = "no_picture"  # what came is no screenshot
    FAILED = "failed"
    TIMEOUT = "timeout"


class ScreenError(Exception):
    """`fault` is for programs, the sentence for people; it never quotes a text that was to be typed."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class Screen(Protocol):
    """What the loop needs of a screen. Both raise ScreenError and nothing else."""

    platform: Platform

    def observe(self) -> Pixels:
        """The screen as it is now."""
        ...

    def perform(self, action: Action) -> None:
        """Do it; points are pixels of what `observe` last gave. Answers and terminations leave most screens alone."""
        ...


class AsyncScreen(Protocol):
    """The same for a screen that is awaited."""

    platform: Platform

    async def observe(self) -> Pixels: ...

    async def perform(self, action: Action) -> None: ...


def checked(action: Action, platform: Platform, size: tuple[int, int]) -> Action:
    """The action, if this platform knows it and nothing that its kind needs is missing or out of range."""
    kind = action.kind
    if kind not in ALLOWED[platform]:
        raise bad(f"{kind.value} is no action for {platform} screens")
    if kind in POINTED and action.point is None:
        raise bad(f"{kind.value} needs a point")
    if kind is Kind.DRAG and action.to is None:
        raise bad("drag needs a point where it ends")
    for point in (action.point, action.to):
        if point is not None and not point.inside(*size):
            raise bad(f"({point.x:g}, {point.y:g}) is not on the screen of {size[0]} x {size[1]} pixels")
    if kind in TEXTS and not action.text:
        raise bad(f"{kind.value} needs a text")
    if action.text is not None and ("\0" in action.text or not _encodable(action.text)):
        raise bad("the text holds characters that nothing can type")
    if kind is Kind.KEY and not action.keys:
        raise bad("key needs at least one key")
    if kind is Kind.SCROLL and not (0.0 < max(abs(action.dx), abs(action.dy)) <= MOST_SCROLL_PX):
        raise bad(f"scroll needs a distance of at most {MOST_SCROLL_PX:g} pixels")
    if kind is Kind.SCROLL and not (math.isfinite(action.dx) and math.isfinite(action.dy)):
        raise bad("scroll needs a distance that is a number")
    if action.seconds is not None and not 0.0 <= action.seconds <= MOST_WAIT_S:
        raise bad(f"{kind.value} may take from 0 to {MOST_WAIT_S:g} seconds")
    return action


def bad(message: str) -> ScreenError:
    return ScreenError(Fault.BAD_ACTION, message)


def line_of(text: str) -> str:
    """What a page, a program or a driver says, for an error: on one line, short, without what reads like an order."""
    return LEFT_OUT if instructs(text) else plain_line(text, _SHOWN_CHARACTERS)


def place(action: Action, size: tuple[int, int]) -> Point:
    """Where an action happens: its point, or the middle of the screen."""
    return action.point if action.point is not None else Point(size[0] / 2, size[1] / 2)


def decode(data: bytes) -> Pixels:
    """The pixels of an encoded picture; ScreenError where it is none."""
    from PIL import Image

    try:
        with Image.open(BytesIO(data)) as picture:
            return np.asarray(picture.convert("RGB"), dtype=np.uint8)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ScreenError(
            Fault.NO_PICTURE, f"the screenshot cannot be read as a picture ({len(data)} bytes)"
        ) from error


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates
        return False
    return True
