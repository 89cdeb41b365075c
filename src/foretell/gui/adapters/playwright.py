"""A browser page by Playwright, sync or async: screenshots, and actions as mouse and keyboard events.

Points are pixels of the screenshot, which a device scale factor makes larger than the page's own. What is to be called
on the page is worked out as plain values first; the two screens only make the calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from foretell.gui.actions import CLICKS, TEXTS, Action, Kind, Platform, Point
from foretell.gui.adapters import keys
from foretell.gui.adapters.loop import AsyncGuardedScreen, GuardedScreen, GuardLike
from foretell.gui.adapters.rest import SETTLE_S
from foretell.gui.adapters.screen import SPOKEN, WAIT_S, Fault, ScreenError, bad, checked, decode, place
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.observation import Pixels

SCHEMES = ("http", "https", "about")
DRAG_STEPS = 12
TYPE_DELAY_MS = 0.0
TIMEOUT_MS = 30_000.0

_BUTTONS: Mapping[Kind, tuple[str, int]] = {
    Kind.CLICK: ("left", 1),
    Kind.DOUBLE_CLICK: ("left", 2),
    Kind.TRIPLE_CLICK: ("left", 3),
    Kind.RIGHT_CLICK: ("right", 1),
    Kind.MIDDLE_CLICK: ("middle", 1),
}
_SIZE = "() => ({width: window.innerWidth, height: window.innerHeight})"
_READY = "() => document.readyState"
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class Call:
    """One call of the page, its `mouse` or its `keyboard`."""

    on: str
    method: str
    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)


def calls(
    action: Action,
    size: tuple[int, int],
    scale: float,
    schemes: Collection[str] = SCHEMES,
    timeout_ms: float = TIMEOUT_MS,
) -> list[Call]:
    """What performs an action on a page whose screenshot has `size` pixels, `scale` of them to one of the page's."""
    checked(action, "web", size)
    held = [key.web for key in keys.names(action.held)]
    down = [Call("keyboard", "down", (name,)) for name in held]
    up = [Call("keyboard", "up", (name,)) for name in reversed(held)]
    return [*down, *_calls(action, size, scale, schemes, timeout_ms), *up]


def _calls(
    action: Action, size: tuple[int, int], scale: float, schemes: Collection[str], timeout_ms: float
) -> list[Call]:
    kind = action.kind

    def at(point: Point) -> tuple[float, float]:
        return point.x / scale, point.y / scale

    if kind in CLICKS and action.point is not None:
        button, count = _BUTTONS[kind]
        return [Call("mouse", "click", at(action.point), {"button": button, "click_count": count})]
    if kind is Kind.MOVE and action.point is not None:
        return [Call("mouse", "move", at(action.point))]
    if kind is Kind.DRAG and action.point is not None and action.to is not None:
        return [
            Call("mouse", "move", at(action.point)),
            Call("mouse", "down"),
            Call("mouse", "move", at(action.to), {"steps": DRAG_STEPS}),
            Call("mouse", "up"),
        ]
    if kind is Kind.SCROLL:
        wheel = Call("mouse", "wheel", (action.dx / scale, action.dy / scale))
        return [Call("mouse", "move", at(place(action, size))), wheel]
    if kind is Kind.TYPE:
        focus = [] if action.point is None else [Call("mouse", "click", at(action.point))]
        return [*focus, Call("keyboard", "type", (action.text,), {"delay": TYPE_DELAY_MS})]
    if kind is Kind.KEY:
        together = "+".join(key.web for key in keys.names(action.keys))
        return [Call("keyboard", "press", (together,), {"delay": 1000.0 * action.seconds} if action.seconds else {})]
    if kind is Kind.WAIT:
        return [Call("page", "wait_for_timeout", (1000.0 * (WAIT_S if action.seconds is None else action.seconds),))]
    if kind is Kind.NAVIGATE:
        return [Call("page", "goto", (address(action.text or "", schemes),), {"timeout": timeout_ms})]
    if kind is Kind.BACK:
        return [Call("page", "go_back", (), {"timeout": timeout_ms})]
    if kind in SPOKEN:
        return []
    raise bad(f"{kind.value} is no action for a page")


def address(text: str, schemes: Collection[str] = SCHEMES) -> str:
    """The URL that a text means, https where it names no scheme; ScreenError for schemes that are not allowed."""
    found = text.strip()
    try:
        scheme = urlsplit(found).scheme.lower()
    except ValueError:
        raise bad("that is no address") from None
    if not scheme or found[len(scheme) + 1 :].split("/")[0].isdecimal():  # host:port is no scheme
        found, scheme = f"https://{found}", "https"
    if any(c.isspace() or not c.isprintable() for c in found):
        raise bad("an address has no blanks")
    if scheme not in schemes:
        raise bad(f"pages are opened by {', '.join(schemes)} only, not by {scheme[:20]!r}")
    return found


class PlaywrightScreen:
    """A page of `playwright.sync_api`. `schemes` are the addresses that an agent may open.

    At most `settle_s` are waited after an action until the page has come to rest. With `evidence` the page is asked for
    the elements under the points that an agent proposes: their names, roles, and what keeps them from being acted on.
    """

    platform: Platform = "web"

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

    def observe(self) -> Pixels:
        try:
            try:
                shot = self.page.screenshot(type="png", timeout=self._timeout_ms)
            except _errors() as error:
                if not passing(error):
                    raise
                shot = self.page.screenshot(type="png", timeout=self._timeout_ms)
            image = decode(shot)
            width = (self.page.viewport_size or self.page.evaluate(_SIZE))["width"]
        except _errors() as error:
            raise _failed(error, "the page gives no screenshot") from None
        self._size, self._scale = (image.shape[1], image.shape[0]), image.shape[1] / max(1, width)
        return image

    def gather(self, points: Sequence[Point]) -> Evidence | None:
        """What the page says of points of its screenshot; None unless `evidence` is on, or where it does not answer."""
        if not self._asks:
            return None
        try:
            found = self.page.evaluate(_elements(), [[p.x / self._scale, p.y / self._scale] for p in points])
        except _errors():
            return None
        return evidence_of(points, found)

    def loading(self) -> bool:
        """Whether the page says that it is being loaded; a page that cannot answer is between two of them."""
        try:
            return bool(self.page.evaluate(_READY) == "loading")
        except _errors():
            return True

    def perform(self, action: Action) -> None:
        if self._size is None:
            self.observe()
        wanted = calls(action, self._size or (1, 1), self._scale, self._schemes, self._timeout_ms)
        for done, call in enumerate(wanted):
            try:
                self._call(call)
            except _errors() as error:
                for last in _to_let_go(wanted[done:]):
                    with suppress(*_errors()):
                        self._call(last)
                raise _failed(error, f"{action.kind.value} failed", action) from None

    def _call(self, call: Call) -> None:
        getattr(_part(self.page, call), call.method)(*call.positional, **call.named)


class AsyncPlaywrightScreen:
    """A page of `playwright.async_api`."""

    platform: Platform = "web"

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

    async def observe(self) -> Pixels:
        try:
            try:
                shot = await self.page.screenshot(type="png", timeout=self._timeout_ms)
            except _errors() as error:
                if not passing(error):
                    raise
                shot = await self.page.screenshot(type="png", timeout=self._timeout_ms)
            image = decode(shot)
            width = (self.page.viewport_size or await self.page.evaluate(_SIZE))["width"]
        except _errors() as error:
            raise _failed(error, "the page gives no screenshot") from None
        self._size, self._scale = (image.shape[1], image.shape[0]), image.shape[1] / max(1, width)
        return image

    async def gather(self, points: Sequence[Point]) -> Evidence | None:
        """What the page says of points of its screenshot; None unless `evidence` is on, or where it does not answer."""
        if not self._asks:
            return None
        try:
            found = await self.page.evaluate(_elements(), [[p.x / self._scale, p.y / self._scale] for p in points])
        except _errors():
            return None
        return evidence_of(points, found)

    async def loading(self) -> bool:
        """Whether the page says that it is being loaded; a page that cannot answer is between two of them."""
        try:
            return bool(await self.page.evaluate(_READY) == "loading")
        except _errors():
            return True

    async def perform(self, action: Action) -> None:
        if self._size is None:
            await self.observe()
        wanted = calls(action, self._size or (1, 1), self._scale, self._schemes, self._timeout_ms)
        for done, call in enumerate(wanted):
            try:
                await self._call(call)
            except _errors() as error:
                for last in _to_let_go(wanted[done:]):
                    with suppress(*_errors()):
                        await self._call(last)
                raise _failed(error, f"{action.kind.value} failed", action) from None

    async def _call(self, call: Call) -> None:
        await getattr(_part(self.page, call), call.method)(*call.positional, **call.named)


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


def evidence_of(points: Sequence[Point], found: Any) -> Evidence:
    """What `elements.js` answers, as evidence; a page can answer anything, so that all of it is checked."""
    listed = found.get("at") if isinstance(found, Mapping) else None
    at = {point: _element(one) for point, one in zip(points, listed or (), strict=False) if isinstance(one, Mapping)}
    focused = found.get("focused") if isinstance(found, Mapping) else None
    seen = found.get("seen") if isinstance(found, Mapping) else None
    return Evidence(
        at,
        _element(focused) if isinstance(focused, Mapping) else None,
        tuple(_element(one) for one in seen if isinstance(one, Mapping)) if isinstance(seen, list) else None,
    )


def _element(data: Mapping[str, Any]) -> ElementAt:
    name, role, cover, context, value = (
        str(data.get(key) or "")[:_SHOWN_CHARACTERS] for key in ("name", "role", "covered_by", "context", "value")
    )
    disabled, editable, checked = data.get("disabled") is True, data.get("editable") is True, data.get("checked")
    known = checked if isinstance(checked, bool) else None
    return ElementAt(name, role, disabled, editable, cover, context, value, known)


@cache
def _elements() -> str:
    return resources.files("foretell.gui.adapters").joinpath("elements.js").read_text("utf-8")


def passing(error: Exception) -> bool:
    """Whether a screenshot is worth asking for once more: a busy Chromium at times refuses one and gives the next."""
    return "Unable to capture screenshot" in str(error)


def _to_let_go(calls: Sequence[Call]) -> list[Call]:
    """What is still to be called where one before it failed: no button and no key may stay down."""
    return [call for call in calls if call.method == "up"]


def _part(page: Any, call: Call) -> Any:
    return page if call.on == "page" else getattr(page, call.on)


def _errors() -> tuple[type[Exception], ...]:
    from playwright.sync_api import Error

    return (Error,)


def _failed(error: Exception, what: str, action: Action | None = None) -> ScreenError:
    """Playwright's error as ours; where a text was to be typed nothing of what it says is repeated."""
    from playwright.sync_api import TimeoutError as TooSlow

    private = action is not None and action.kind in TEXTS
    said = "" if private else " ".join(str(error).split())[:_SHOWN_CHARACTERS]
    fault = Fault.TIMEOUT if isinstance(error, TooSlow) else Fault.FAILED
    return ScreenError(fault, f"{what}{': ' + said if said else ''}")
