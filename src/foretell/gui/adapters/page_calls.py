"""What is to be called on a page of Playwright for an action, as plain values: the screens only make the calls."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.adapters import keys
from foretell.gui.adapters.screen import SPOKEN, WAIT_S, bad, checked, place

SCHEMES = ("http", "https", "about")
DRAG_STEPS = 12
TYPE_DELAY_MS = 0.0
TIMEOUT_MS = 30_000.0  # of an action
INPUT_MS = 7_000.0  # of a mouse or key event: a page that takes longer over one does not come back from it
LOADED_MS = 5_000.0  # the most that is waited for the contents of a page that has been opened
WAITS_FOR_PAGE = "wait_for_load_state"  # the call that may end early
UNFINISHED = f"the page was opened, and was still being loaded after {LOADED_MS / 1000:g} s"
OVER_S = 1.0  # beyond what Playwright itself limits, so that its own message comes first

_BUTTONS: Mapping[Kind, tuple[str, int]] = {
    Kind.CLICK: ("left", 1),
    Kind.DOUBLE_CLICK: ("left", 2),
    Kind.TRIPLE_CLICK: ("left", 3),
    Kind.RIGHT_CLICK: ("right", 1),
    Kind.MIDDLE_CLICK: ("middle", 1),
}


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
        opened = {"timeout": timeout_ms, "wait_until": "commit"}
        return [Call("page", "goto", (address(action.text or "", schemes),), opened), _loaded(timeout_ms)]
    if kind is Kind.BACK:
        return [Call("page", "go_back", (), {"timeout": timeout_ms, "wait_until": "commit"}), _loaded(timeout_ms)]
    if kind in SPOKEN:
        return []
    raise bad(f"{kind.value} is no action for a page")


def _loaded(timeout_ms: float) -> Call:
    """The wait for a page's contents, not for its pictures: one of them may never come."""
    return Call("page", WAITS_FOR_PAGE, ("domcontentloaded",), {"timeout": min(timeout_ms, LOADED_MS)})


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


def to_let_go(calls: Sequence[Call]) -> list[Call]:
    """What is still to be called where one before it failed: no button and no key may stay down."""
    return [call for call in calls if call.method == "up"]


def most_s(call: Call, timeout_ms: float) -> float:
    """The most that a call may take: what an action may, and what it waits or holds a key of its own accord."""
    waits_ms = call.positional[0] if call.method == "wait_for_timeout" else call.named.get("delay", 0.0)
    is_event = call.on == "mouse" or (call.on == "keyboard" and call.method != "type")
    limit_ms = min(timeout_ms, INPUT_MS) if is_event else timeout_ms
    return (limit_ms + float(waits_ms)) / 1000.0 + OVER_S


def part_of(page: Any, call: Call) -> Any:
    return page if call.on == "page" else getattr(page, call.on)
