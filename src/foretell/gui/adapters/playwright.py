"""A browser page by Playwright, sync or async: screenshots, and actions as mouse and keyboard events.

Points are pixels of the screenshot, which a device scale factor makes larger than the page's own. Whatever is asked of
a page has a time limit: a page whose scripts never end gives no evidence, and no screenshot (`timeout`).
"""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from foretell.gui.actions import TEXTS, Action, Kind, Platform, Point
from foretell.gui.adapters.loop import AsyncGuardedScreen, GuardedScreen, GuardLike
from foretell.gui.adapters.page_answers import LOADING, SIZE, elements_script, evidence_of, width_of
from foretell.gui.adapters.page_calls import (
    OVER_S,
    SCHEMES,
    TIMEOUT_MS,
    UNFINISHED,
    WAITS_FOR_PAGE,
    Call,
    address,
    calls,
    most_s,
    part_of,
    to_let_go,
)
from foretell.gui.adapters.page_shots import unnoticed, without_caret
from foretell.gui.adapters.page_world import ASK_S, AsyncPageWorld, PageWorld, is_chromium, limited, limited_async
from foretell.gui.adapters.rest import SETTLE_S
from foretell.gui.adapters.screen import Fault, ScreenError, decode, line_of
from foretell.gui.evidence import Evidence
from foretell.gui.observation import Pixels

T = TypeVar("T")

__all__ = [
    "SCHEMES",
    "TIMEOUT_MS",
    "AsyncGuardedPage",
    "AsyncPlaywrightScreen",
    "Call",
    "GuardedPage",
    "PlaywrightScreen",
    "address",
    "calls",
    "evidence_of",
]

LOOK_MS = 10_000.0  # the most that a screenshot may take, where an action may take as long


class PlaywrightScreen:
    """A page of `playwright.sync_api`. `schemes` are the addresses that an agent may open.

    At most `settle_s` are waited after an action until the page has come to rest. With `evidence` the page is asked for
    the elements under the points that an agent proposes: their names, roles, and what keeps them from being acted on.
    `note` says what the last action has left undone: a page that was opened and is still being loaded.
    """

    platform: Platform = "web"
    looks_again = True

    def __init__(
        self,
        page: Any,
        schemes: Collection[str] = SCHEMES,
        timeout_ms: float = TIMEOUT_MS,
        settle_s: float = SETTLE_S,
        evidence: bool = False,
    ) -> None:
        self.page, self.settle_s, self._asks = page, settle_s, evidence
        self._schemes, self._timeout_ms = tuple(schemes), timeout_ms
        self._size: tuple[int, int] | None = None
        self._scale = 1.0
        self._world: PageWorld | None = None
        self.note = ""

    def observe(self) -> Pixels:
        try:
            # First the picture that no script notices: a frame that was drawn for the other one may still be there.
            seen = _again(self._unnoticed) if is_chromium(self.page) else None
            shot = _again(self._shot)
            image = decode(shot)
            scale = image.shape[1] / max(1.0, self._width())
            image = image if seen is None else without_caret(seen, image, scale)
        except _errors() as error:
            raise _failed(error, "the page gives no screenshot") from None
        self._size, self._scale = (image.shape[1], image.shape[0]), scale
        return image

    def approach(self, point: Point) -> None:
        """Move the pointer to where something is to be pressed, so that what that alone does is seen before."""
        self.perform(Action(Kind.MOVE, point))

    def gather(self, points: Sequence[Point]) -> Evidence | None:
        """What the page says of points of its screenshot; None unless `evidence` is on, or where it does not answer."""
        if not self._asks:
            return None
        try:
            found = self._ask(elements_script(), [[p.x / self._scale, p.y / self._scale] for p in points])
        except _errors():
            return None
        return evidence_of(points, found)

    def loading(self) -> bool:
        """Whether the page says that it is being loaded; a page that cannot answer is between two of them."""
        try:
            return self._ask(LOADING) is True
        except _errors():
            return True

    def _unnoticed(self) -> Pixels:
        limit_s = min(self._timeout_ms, LOOK_MS) / 1000.0
        return decode(b64decode(self._known_world().send(unnoticed(), limit_s)))

    def _shot(self, **options: Any) -> bytes:
        limit_ms = min(self._timeout_ms, LOOK_MS)
        with limited(limit_ms / 1000.0 + OVER_S):
            shot: bytes = self.page.screenshot(type="png", timeout=limit_ms, **options)
        return shot

    def _width(self) -> float:
        """How wide the page is in its own pixels, as its driver says and not its scripts."""
        if self.page.viewport_size:
            return float(self.page.viewport_size["width"])
        if is_chromium(self.page) and (width := width_of(self._ask(SIZE))) is not None:
            return width
        return float(decode(self._shot(scale="css")).shape[1])

    def _ask(self, function: str, argument: Any = None) -> Any:
        return self._known_world().ask(function, argument)

    def _known_world(self) -> PageWorld:
        if self._world is None or self._world.page is not self.page:  # a loop's owner may follow a new tab
            self._world = PageWorld(self.page)
        return self._world

    def perform(self, action: Action) -> None:
        if self._size is None:
            self.observe()
        wanted = calls(action, self._size or (1, 1), self._scale, self._schemes, self._timeout_ms)
        self.note = ""
        for done, call in enumerate(wanted):
            try:
                self._call(call, most_s(call, self._timeout_ms))
            except _errors() as error:
                if call.method == WAITS_FOR_PAGE and is_too_slow(error):
                    self.note = UNFINISHED
                    continue
                for last in to_let_go(wanted[done:]):
                    with suppress(*_errors()):
                        self._call(last, ASK_S)
                raise _failed(error, f"{action.kind.value} failed", action) from None

    def _call(self, call: Call, seconds: float) -> None:
        with limited(seconds):
            getattr(part_of(self.page, call), call.method)(*call.positional, **call.named)


class AsyncPlaywrightScreen:
    """A page of `playwright.async_api`."""

    platform: Platform = "web"
    looks_again = True

    def __init__(
        self,
        page: Any,
        schemes: Collection[str] = SCHEMES,
        timeout_ms: float = TIMEOUT_MS,
        settle_s: float = SETTLE_S,
        evidence: bool = False,
    ) -> None:
        self.page, self.settle_s, self._asks = page, settle_s, evidence
        self._schemes, self._timeout_ms = tuple(schemes), timeout_ms
        self._size: tuple[int, int] | None = None
        self._scale = 1.0
        self._world: AsyncPageWorld | None = None
        self.note = ""

    async def observe(self) -> Pixels:
        try:
            # First the picture that no script notices: a frame that was drawn for the other one may still be there.
            seen = await _again_async(self._unnoticed) if is_chromium(self.page) else None
            shot = await _again_async(self._shot)
            image = decode(shot)
            scale = image.shape[1] / max(1.0, await self._width())
            image = image if seen is None else without_caret(seen, image, scale)
        except _errors() as error:
            raise _failed(error, "the page gives no screenshot") from None
        self._size, self._scale = (image.shape[1], image.shape[0]), scale
        return image

    async def approach(self, point: Point) -> None:
        """Move the pointer to where something is to be pressed, so that what that alone does is seen before."""
        await self.perform(Action(Kind.MOVE, point))

    async def gather(self, points: Sequence[Point]) -> Evidence | None:
        """What the page says of points of its screenshot; None unless `evidence` is on, or where it does not answer."""
        if not self._asks:
            return None
        try:
            found = await self._ask(elements_script(), [[p.x / self._scale, p.y / self._scale] for p in points])
        except _errors():
            return None
        return evidence_of(points, found)

    async def loading(self) -> bool:
        """Whether the page says that it is being loaded; a page that cannot answer is between two of them."""
        try:
            return await self._ask(LOADING) is True
        except _errors():
            return True

    async def _unnoticed(self) -> Pixels:
        limit_s = min(self._timeout_ms, LOOK_MS) / 1000.0
        return decode(b64decode(await self._known_world().send(unnoticed(), limit_s)))

    async def _shot(self, **options: Any) -> bytes:
        limit_ms = min(self._timeout_ms, LOOK_MS)
        call = self.page.screenshot(type="png", timeout=limit_ms, **options)
        return bytes(await limited_async(call, limit_ms / 1000.0 + OVER_S))

    async def _width(self) -> float:
        """How wide the page is in its own pixels, as its driver says and not its scripts."""
        if self.page.viewport_size:
            return float(self.page.viewport_size["width"])
        if is_chromium(self.page) and (width := width_of(await self._ask(SIZE))) is not None:
            return width
        return float(decode(await self._shot(scale="css")).shape[1])

    async def _ask(self, function: str, argument: Any = None) -> Any:
        return await self._known_world().ask(function, argument)

    def _known_world(self) -> AsyncPageWorld:
        if self._world is None or self._world.page is not self.page:  # a loop's owner may follow a new tab
            self._world = AsyncPageWorld(self.page)
        return self._world

    async def perform(self, action: Action) -> None:
        if self._size is None:
            await self.observe()
        wanted = calls(action, self._size or (1, 1), self._scale, self._schemes, self._timeout_ms)
        self.note = ""
        for done, call in enumerate(wanted):
            try:
                await self._call(call, most_s(call, self._timeout_ms))
            except _errors() as error:
                if call.method == WAITS_FOR_PAGE and is_too_slow(error):
                    self.note = UNFINISHED
                    continue
                for last in to_let_go(wanted[done:]):
                    with suppress(*_errors()):
                        await self._call(last, ASK_S)
                raise _failed(error, f"{action.kind.value} failed", action) from None

    async def _call(self, call: Call, seconds: float) -> None:
        await limited_async(getattr(part_of(self.page, call), call.method)(*call.positional, **call.named), seconds)


class GuardedPage(GuardedScreen):
    """A sync page, a guard and a goal: `step(propose)`, `run(propose)`."""

    def __init__(
        self,
        page: Any,
        guard: GuardLike,
        goal: str,
        schemes: Collection[str] = SCHEMES,
        settle_s: float = SETTLE_S,
        evidence: bool = False,
    ) -> None:
        super().__init__(PlaywrightScreen(page, schemes, settle_s=settle_s, evidence=evidence), guard, goal)


class AsyncGuardedPage(AsyncGuardedScreen):
    """The same for an async page."""

    def __init__(
        self,
        page: Any,
        guard: GuardLike,
        goal: str,
        schemes: Collection[str] = SCHEMES,
        settle_s: float = SETTLE_S,
        evidence: bool = False,
    ) -> None:
        super().__init__(AsyncPlaywrightScreen(page, schemes, settle_s=settle_s, evidence=evidence), guard, goal)


PAUSES_S = (0.0, 0.2, 0.5, 1.0)  # before a screenshot is asked for again


def passing(error: Exception) -> bool:
    """Whether a screenshot is worth asking for once more: a Chromium that is busy, or between two pages, at times
    refuses one and gives another a moment later."""
    return any(words in str(error) for words in ("Unable to capture screenshot", "Not attached to an active page"))


def _again(take: Callable[[], T]) -> T:
    for pause in PAUSES_S:
        try:
            return take()
        except _errors() as error:
            if not passing(error):
                raise
            time.sleep(pause)
    return take()


async def _again_async(take: Callable[[], Awaitable[T]]) -> T:
    for pause in PAUSES_S:
        try:
            return await take()
        except _errors() as error:
            if not passing(error):
                raise
            await asyncio.sleep(pause)
    return await take()


def is_too_slow(error: Exception) -> bool:
    from playwright.sync_api import TimeoutError as TooSlow

    return isinstance(error, TooSlow)


def _errors() -> tuple[type[Exception], ...]:
    from playwright.sync_api import Error

    return (Error,)


def _failed(error: Exception, what: str, action: Action | None = None) -> ScreenError:
    """Playwright's error as ours; where a text was to be typed nothing of what it says is repeated."""
    private = action is not None and action.kind in TEXTS
    said = "" if private else line_of(str(error))
    fault = Fault.TIMEOUT if is_too_slow(error) else Fault.FAILED
    return ScreenError(fault, f"{what}{': ' + said if said else ''}")
