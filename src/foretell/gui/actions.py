"""Actions: what an agent proposes to do to a screen, whatever its tool-call form was. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Literal

from foretell.gui.fields import is_a_or_none, number, texts

Platform = Literal["web", "desktop", "mobile"]


class Kind(StrEnum):
    """Everything that the web, desktop and mobile action spaces know."""

    CLICK = "click"
    DOUBLE_CLICK = "double_click"
    TRIPLE_CLICK = "triple_click"
    RIGHT_CLICK = "right_click"
    MIDDLE_CLICK = "middle_click"
    LONG_PRESS = "long_press"
    MOVE = "move"
    TYPE = "type"
    KEY = "key"
    SCROLL = "scroll"
    DRAG = "drag"
    WAIT = "wait"
    NAVIGATE = "navigate"
    OPEN = "open"
    BACK = "back"
    HOME = "home"
    ANSWER = "answer"
    TERMINATE = "terminate"


POINTED = frozenset(
    (
        Kind.CLICK,
        Kind.DOUBLE_CLICK,
        Kind.TRIPLE_CLICK,
        Kind.RIGHT_CLICK,
        Kind.MIDDLE_CLICK,
        Kind.LONG_PRESS,
        Kind.MOVE,
        Kind.DRAG,
    )
)  # kinds that need a point
CLICKS = POINTED - {Kind.MOVE, Kind.DRAG}
HOLDING = POINTED | {Kind.SCROLL}  # kinds during which keys may be held
ENDINGS = frozenset((Kind.TERMINATE, Kind.ANSWER))  # kinds after which nothing more is done
TEXTS = frozenset((Kind.TYPE, Kind.NAVIGATE, Kind.OPEN, Kind.ANSWER))  # kinds that need a text
ALLOWED: Mapping[Platform, frozenset[Kind]] = {
    "web": frozenset(Kind) - {Kind.LONG_PRESS, Kind.HOME, Kind.OPEN},
    "desktop": frozenset(Kind) - {Kind.LONG_PRESS, Kind.HOME, Kind.BACK, Kind.NAVIGATE},
    "mobile": frozenset(
        (
            Kind.CLICK,
            Kind.DOUBLE_CLICK,
            Kind.LONG_PRESS,
            Kind.TYPE,
            Kind.KEY,
            Kind.SCROLL,
            Kind.DRAG,
            Kind.WAIT,
            Kind.OPEN,
            Kind.BACK,
            Kind.HOME,
            Kind.ANSWER,
            Kind.TERMINATE,
        )
    ),
}


@dataclass(frozen=True)
class Point:
    """A place on the screenshot, in its pixels, from the top left."""

    x: float
    y: float

    def inside(self, width: int, height: int) -> bool:
        return 0.0 <= self.x < width and 0.0 <= self.y < height


@dataclass(frozen=True)
class Action:
    """One action. Which fields mean something depends on the kind.

    `point` is where it happens (where a drag begins), `to` where a drag ends. `keys` are pressed together, in order, by
    their usual names ("ctrl", "a", "enter"); those of a click, a move, a drag or a scroll are held while it happens.
    `dx`, `dy` are pixels that a scroll moves the view: positive dy looks further down. `seconds` is how long to wait
    or press. `success` is what a termination claims.
    """

    kind: Kind
    point: Point | None = None
    to: Point | None = None
    text: str | None = None
    keys: tuple[str, ...] = ()
    dx: float = 0.0
    dy: float = 0.0
    seconds: float | None = None
    success: bool | None = None

    @property
    def held(self) -> tuple[str, ...]:
        """The keys that are down while it happens; those of a key press are not held but pressed."""
        return self.keys if self.kind in HOLDING else ()

    def to_dict(self) -> dict[str, Any]:
        """What is set, as JSON."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        found |= {"keys": list(self.keys)}
        return {name: value for name, value in found.items() if name not in ("keys", "dx", "dy") or value}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Action:
        """What `to_dict` wrote; LookupError, TypeError or ValueError if a field is not what it must be."""
        if unknown := set(data) - _FIELDS:
            raise TypeError(f"an action has no {', '.join(sorted(unknown))}")
        seconds = data.get("seconds")
        return Action(
            kind=Kind(data["kind"]),
            point=_point(data.get("point")),
            to=_point(data.get("to")),
            text=is_a_or_none(str, data.get("text")),
            keys=texts(data.get("keys", [])),
            dx=number(data.get("dx", 0.0)),
            dy=number(data.get("dy", 0.0)),
            seconds=None if seconds is None else number(seconds),
            success=is_a_or_none(bool, data.get("success")),
        )


_FIELDS = frozenset(field.name for field in fields(Action))


def _point(data: Mapping[str, Any] | None) -> Point | None:
    return None if data is None else Point(number(data["x"]), number(data["y"]))
