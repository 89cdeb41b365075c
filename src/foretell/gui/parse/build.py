"""From one named call with its arguments to actions, the same for every form: names differ more than meanings do.

Coordinates are left as they were written and may be absent; `reader` brings them to pixels and insists on them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.parse.faults import BadProposal, Reason
from foretell.gui.parse.fields import Fields
from foretell.gui.parse.keys import MODIFIERS, combination, usual

NOTCH_PX = 100.0  # what one notch of a wheel scrolls in the usual browsers
_DEFAULT_NOTCHES = 5.0  # where only a direction is given
_MOST_NOTCHES = 50.0  # a larger count is in wheel units, about a pixel each
_MOST_PRESSES = 50

_POINTS = ("coordinate", "point", "start_box", "position", "start_point", "coordinates", "point_2d", "bbox_2d", "box")
_STARTS = ("start_coordinate", "start_box", "start_point", "start", "from", "coordinate1")
_ENDS = ("end_coordinate", "coordinate2", "end_box", "end_point", "end", "to")
_TEXTS = ("text", "content", "value", "message", "string")
_SECONDS = ("time", "duration", "seconds")
_AXES = {"down": (0.0, 1.0), "up": (0.0, -1.0), "right": (1.0, 0.0), "left": (-1.0, 0.0)}
_BUTTONS = {"left": Kind.CLICK, "right": Kind.RIGHT_CLICK, "middle": Kind.MIDDLE_CLICK, "wheel": Kind.MIDDLE_CLICK}
_COUNTED = {1: Kind.CLICK, 2: Kind.DOUBLE_CLICK, 3: Kind.TRIPLE_CLICK}
_STATUS = {"success": True, "complete": True, "completed": True, "done": True, "true": True} | dict.fromkeys(
    ("failure", "fail", "failed", "infeasible", "false"), False
)


def build(name: str, data: Mapping[str, Any]) -> list[Action]:
    """The actions of one call: one as a rule, more where keys are pressed one after the other."""
    plain = name.replace("_", "").replace("-", "").lower()
    fields = Fields(repr(name[:40]), data)
    for kind, names in _CLICKED.items():
        if plain in names.split():
            return [_click(kind, fields)]
    maker = _MAKERS.get(plain)
    if maker is not None:
        return maker(fields)
    if plain in _WITHOUT_ACTION:
        raise BadProposal(Reason.UNSUPPORTED, f"{fields.of} has no action value", _WITHOUT_ACTION[plain])
    near = difflib.get_close_matches(plain, [*_MAKERS, *" ".join(_CLICKED.values()).split()], n=1)
    hint = f"a known action such as {near[0]}" if near else "a known action such as click, type, key, scroll or drag"
    raise BadProposal(Reason.UNKNOWN_KIND, f"there is no action {fields.of}", hint)


_CLICKED = {
    Kind.CLICK: "click leftclick tap singleclick mouseclick leftsingle touch",
    Kind.DOUBLE_CLICK: "doubleclick leftdouble dblclick mousedblclick doubletap",
    Kind.TRIPLE_CLICK: "tripleclick",
    Kind.RIGHT_CLICK: "rightclick rightsingle",
    Kind.MIDDLE_CLICK: "middleclick",
    Kind.LONG_PRESS: "longpress longtap longclick",
    Kind.MOVE: "mousemove move moveto hover",
}


def _point(fields: Fields) -> Point | None:
    return fields.place(*_POINTS) or fields.xy("x", "y")


def _click(kind: Kind, fields: Fields) -> Action:
    if kind is Kind.CLICK:
        button = (fields.text("button") or "left").lower()
        if button in ("back", "forward"):
            return Action(Kind.BACK) if button == "back" else Action(Kind.KEY, keys=("alt", "right"))
        if button not in _BUTTONS:
            raise BadProposal(Reason.WRONG_TYPE, f"{fields.of}: there is no such button", "left, right or middle")
        kind = _BUTTONS[button]
        count = fields.number("clicks", "num_clicks", "click_count")
        if count not in (None, *_COUNTED):
            raise BadProposal(Reason.WRONG_TYPE, f"{fields.of}: clicks is {count:g}", "1, 2 or 3")
        kind = _COUNTED[int(count)] if count and kind is Kind.CLICK else kind
    seconds = fields.number(*_SECONDS) if kind is Kind.LONG_PRESS else None
    return Action(kind, _point(fields), keys=_held(fields), seconds=seconds)


def _held(fields: Fields) -> tuple[str, ...]:
    """The modifiers that are to be down meanwhile; a text that names anything else is no matter of keys."""
    written = [word for word in fields.words("keys", "modifiers", "text", "key") if word]
    held = tuple(key for word in written for key in combination(word))
    return held if set(held) <= MODIFIERS else ()


def _type(fields: Fields) -> list[Action]:
    typed = Action(Kind.TYPE, _point(fields), text=fields.need_text(*_TEXTS))
    submits = fields.data.get("press_enter") is True or fields.data.get("enter") is True
    return [typed, Action(Kind.KEY, keys=("enter",))] if submits else [typed]


def _key(fields: Fields) -> list[Action]:
    """A list is one combination, and so is a text; blanks part what is pressed one after the other."""
    words = fields.words("keys", "key", "text", "keyboard", "button")
    listed = isinstance(fields.data.get("keys"), list | tuple)
    if not any(words):
        raise fields.missing("keys")
    if len(words) == 1 and not listed and words[0].strip():
        pressed = [combination(part) for part in words[0].split()]
    else:
        pressed = [tuple(key for word in words for key in combination(word))]
    times = fields.number("presses", "repeat")
    if times is not None and not 1 <= times <= _MOST_PRESSES:
        raise BadProposal(Reason.WRONG_TYPE, f"{fields.of}: {times:g} presses", f"1 to {_MOST_PRESSES}")
    seconds = fields.number(*_SECONDS)
    return [Action(Kind.KEY, keys=keys, seconds=seconds) for keys in pressed] * int(times or 1)


def _hotkey(fields: Fields) -> list[Action]:
    words = [part for word in fields.words("keys", "key", "text", "hotkey") for part in (word.split() or [word])]
    if not words:
        raise fields.missing("keys")
    return [Action(Kind.KEY, keys=tuple(key for word in words for key in combination(word)))]


def _each_key(fields: Fields) -> list[Action]:
    """A list is pressed one after the other."""
    parts = [_key(Fields(fields.of, {**fields.data, "keys": None, "key": word})) for word in fields.words("keys")]
    return [action for part in parts for action in part] or _key(fields)


def _scroll(fields: Fields) -> list[Action]:
    """`pixels` and `clicks` look up where positive, as their inventors have it; every other delta looks down."""
    dx = fields.number("scroll_x", "delta_x", "dx") or 0.0
    dy = fields.number("scroll_y", "delta_y", "dy") or 0.0
    amount = fields.number("scroll_amount", "amount", "wheel_times")
    direction = fields.text("scroll_direction", "direction")
    if direction is not None:
        dx, dy = (part * _notches(_DEFAULT_NOTCHES if amount is None else amount) for part in _axis(fields, direction))
    elif fields.has("pixels"):
        dy = -(fields.number("pixels") or 0.0)
    elif fields.has("clicks"):
        dy = -_notches(fields.number("clicks") or 0.0)
    elif not fields.has("scroll_x", "scroll_y", "delta_x", "delta_y", "dx", "dy"):
        raise fields.missing("amount or direction")
    return [Action(Kind.SCROLL, _point(fields), keys=_held(fields), dx=dx, dy=dy)]


def _across(fields: Fields) -> list[Action]:
    amount = fields.number("pixels", "clicks", "amount")
    if amount is None:
        raise fields.missing("pixels")
    dx = amount if fields.has("pixels") else _notches(amount)
    return [Action(Kind.SCROLL, _point(fields), keys=_held(fields), dx=dx)]


def _notches(amount: float) -> float:
    return amount * NOTCH_PX if abs(amount) <= _MOST_NOTCHES else amount


def _axis(fields: Fields, direction: str) -> tuple[float, float]:
    if direction.strip().lower() not in _AXES:
        raise BadProposal(Reason.WRONG_TYPE, f"{fields.of}: there is no such direction", "up, down, left or right")
    return _AXES[direction.strip().lower()]


def _drag(fields: Fields) -> list[Action]:
    """Where only one point is given it is the end, and the drag begins where the cursor is."""
    path = fields.data.get("path")
    if path is not None:
        if not isinstance(path, list | tuple) or len(path) < 2:
            raise BadProposal(Reason.WRONG_TYPE, f"{fields.of}: path is no list of at least two points")
        ends = [Fields(fields.of, {"path": place}).place("path") for place in (path[0], path[-1])]
        return [Action(Kind.DRAG, ends[0], ends[1], keys=_held(fields))]
    end = fields.place(*_ENDS) or fields.xy("to_x", "to_y") or fields.xy("x2", "y2") or fields.xy("end_x", "end_y")
    begin = fields.place(*_STARTS) or fields.xy("from_x", "from_y") or fields.xy("x1", "y1")
    begin = begin or fields.xy("start_x", "start_y")
    if end is not None:
        return [Action(Kind.DRAG, begin or _point(fields), end, keys=_held(fields))]
    last = fields.place("coordinate", "point", "position") or fields.xy("x", "y")
    if last is None:
        raise fields.missing("point to drag to")
    return [Action(Kind.DRAG, begin, last, keys=_held(fields))]


def _swipe(fields: Fields) -> list[Action]:
    """A swipe that only names a direction shows what lies on the other side, as a scroll does."""
    direction = fields.text("direction")
    if direction is None or fields.has(*_ENDS):
        return _drag(fields)
    across, down = _axis(fields, direction)
    far = _DEFAULT_NOTCHES * NOTCH_PX
    return [Action(Kind.SCROLL, _point(fields), dx=-across * far, dy=-down * far)]


def _wait(fields: Fields) -> list[Action]:
    thousandths = fields.number("wait_ms", "ms")
    seconds = thousandths / 1000.0 if thousandths is not None else fields.number(*_SECONDS)
    if seconds is not None and seconds < 0:
        raise BadProposal(Reason.WRONG_TYPE, f"{fields.of}: the time is negative")
    return [Action(Kind.WAIT, seconds=seconds)]


def _looks(fields: Fields) -> list[Action]:
    """Taking another look does nothing to the screen: a wait without a time."""
    return [Action(Kind.WAIT)]


def _button(fields: Fields) -> list[Action]:
    name = fields.need_text("button", "text", "key").lower()
    kinds = {"back": Kind.BACK, "home": Kind.HOME}
    return [Action(kinds[name]) if name in kinds else Action(Kind.KEY, keys=(usual(name),))]


def _terminate(fields: Fields) -> list[Action]:
    status = fields.data.get("status", fields.data.get("goal_status", fields.data.get("success")))
    if status is not None and str(status).lower() not in _STATUS:
        raise BadProposal(Reason.WRONG_TYPE, f"{fields.of}: there is no such status", "success or failure")
    success = None if status is None else _STATUS[str(status).lower()]
    return [Action(Kind.TERMINATE, text=fields.text("answer", *_TEXTS, "reason"), success=success)]


def _ended(success: bool) -> Callable[[Fields], list[Action]]:
    return lambda fields: [replace(action, success=success) for action in _terminate(fields)]


def _texted(kind: Kind, *names: str) -> Callable[[Fields], list[Action]]:
    return lambda fields: [Action(kind, text=fields.need_text(*names, *_TEXTS))]


def _simple(action: Action) -> Callable[[Fields], list[Action]]:
    return lambda fields: [action]


_BY_MAKER: dict[Callable[[Fields], list[Action]], str] = {
    _type: "type write typewrite inputtext input keyboardtype inserttext fill",
    _key: "key press keypress keyboardpress presskey holdkey",
    _hotkey: "hotkey",
    _each_key: "presseach",
    _scroll: "scroll wheel mousewheel vscroll",
    _across: "hscroll",
    _drag: "drag leftclickdrag dragto draganddrop mousedraganddrop clickanddrag",
    _swipe: "swipe flick",
    _wait: "wait sleep noop waitfortimeout",
    _looks: "screenshot cursorposition zoom",
    _button: "systembutton",
    _terminate: "terminate status",
    _ended(True): "finished done finish stop",
    _ended(False): "fail reportinfeasible infeasible",
    _texted(Kind.NAVIGATE, "url"): "navigate goto openurl",
    _texted(Kind.OPEN, "app_name", "app", "name"): "open openapp launch launchapp",
    _texted(Kind.ANSWER, "answer"): "answer sendmsgtouser respond",
    _simple(Action(Kind.BACK)): "back goback pressback navigateback",
    _simple(Action(Kind.HOME)): "home presshome navigatehome",
    _simple(Action(Kind.KEY, keys=("enter",))): "keyboardenter pressenter",
}
_MAKERS = {name: maker for maker, names in _BY_MAKER.items() for name in names.split()}
_HALF = "a whole click, drag or key press in one call"
_RELATIVE = "the place where it ends"
_WITHOUT_ACTION = dict.fromkeys(["leftmousedown", "leftmouseup", "mousedown", "mouseup", "keydown", "keyup"], _HALF) | {
    **dict.fromkeys(["dragrel", "moverel"], _RELATIVE),
    **dict.fromkeys(
        ("bash", "texteditor", "strreplaceeditor", "strreplacebasededittool"), "a call that acts on the screen"
    ),
    "calluser": "an answer or a termination",
}
