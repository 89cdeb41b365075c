"""From an action to a tool call: what an agent that proposes it would have written."""

from __future__ import annotations

import json
from typing import Any

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.parse.build import NOTCH_PX
from foretell.gui.parse.faults import BadProposal, Reason
from foretell.gui.parse.scale import Scale, from_pixels

_Json = dict[str, Any]
_CLICKS = {
    Kind.CLICK: "left_click",
    Kind.DOUBLE_CLICK: "double_click",
    Kind.TRIPLE_CLICK: "triple_click",
    Kind.RIGHT_CLICK: "right_click",
    Kind.MIDDLE_CLICK: "middle_click",
    Kind.MOVE: "mouse_move",
}
_OPENAI_CLICKS = {Kind.CLICK: "left", Kind.RIGHT_CLICK: "right", Kind.MIDDLE_CLICK: "wheel"}
_ON_PHONES = frozenset((Kind.LONG_PRESS, Kind.BACK, Kind.HOME, Kind.OPEN))


def to_qwen(action: Action, size: tuple[int, int], scale: Scale = Scale.THOUSANDTHS, intent: str | None = None) -> str:
    """Qwen-VL's text: the intent, where there is one, and a tool call; `mobile_use` for what only phones have.

    Raises `BadProposal` for what the form has no words for.
    """
    tool = "mobile_use" if action.kind in _ON_PHONES else "computer_use"
    call = json.dumps({"name": tool, "arguments": _qwen(action, size, scale)}, ensure_ascii=False)
    said = f"Action: {intent}\n" if intent else ""
    return f"{said}<tool_call>\n{call}\n</tool_call>"


def _qwen(action: Action, size: tuple[int, int], scale: Scale) -> _Json:
    def at(point: Point | None) -> list[float]:
        return list(from_pixels(_needed(point, action), scale, size))

    timed: _Json = {} if action.seconds is None else {"time": action.seconds}
    held: _Json = {"keys": list(action.held)} if action.held else {}
    place: _Json = {} if action.point is None else {"coordinate": at(action.point)}
    match action.kind:
        case Kind.LONG_PRESS:
            return {"action": "long_press", "coordinate": at(action.point), **timed, **held}
        case Kind.TYPE:
            return {"action": "type", "text": action.text, **place}
        case Kind.KEY:
            return {"action": "key", "keys": list(action.keys), **timed}
        case Kind.SCROLL if not (action.dx and action.dy):
            name, pixels = ("hscroll", action.dx) if action.dx else ("scroll", -action.dy)
            return {"action": name, "pixels": pixels, **place, **held}
        case Kind.DRAG:
            ends = {"start_coordinate": at(action.point), "coordinate": at(action.to)}
            return {"action": "left_click_drag", **ends, **held}
        case Kind.WAIT:
            return {"action": "wait", **timed}
        case Kind.OPEN | Kind.ANSWER:
            return {"action": action.kind.value, "text": action.text}
        case Kind.BACK | Kind.HOME:
            return {"action": "system_button", "button": action.kind.value.capitalize()}
        case Kind.TERMINATE:
            return {"action": "terminate", "status": "failure" if action.success is False else "success"}
    if action.kind not in _CLICKS:
        raise _wordless(action, "Qwen-VL's tools")
    return {"action": _CLICKS[action.kind], "coordinate": at(action.point), **held}


def to_openai(action: Action, size: tuple[int, int]) -> _Json:
    """OpenAI's `computer_call`, in pixels. Raises `BadProposal` for what the form has no words for."""
    return {"type": "computer_call", "action": _openai(action, size)}


def _openai(action: Action, size: tuple[int, int]) -> _Json:
    def at(point: Point | None) -> _Json:
        x, y = from_pixels(_needed(point, action), Scale.PIXELS, size)
        return {"x": x, "y": y}

    held: _Json = {"keys": list(action.held)} if action.held else {}
    match action.kind:
        case Kind.CLICK | Kind.RIGHT_CLICK | Kind.MIDDLE_CLICK:
            return {"type": "click", "button": _OPENAI_CLICKS[action.kind], **at(action.point), **held}
        case Kind.DOUBLE_CLICK | Kind.MOVE:
            return {"type": action.kind.value, **at(action.point), **held}
        case Kind.TYPE:
            return {"type": "type", "text": action.text}
        case Kind.KEY if not action.seconds:
            return {"type": "keypress", "keys": list(action.keys)}
        case Kind.SCROLL:
            place = at(action.point or Point(size[0] / 2, size[1] / 2))
            return {"type": "scroll", "scroll_x": action.dx, "scroll_y": action.dy, **place, **held}
        case Kind.DRAG:
            return {"type": "drag", "path": [at(action.point), at(action.to)], **held}
        case Kind.WAIT:
            return {"type": "wait"}
    raise _wordless(action, "OpenAI's computer use")


def to_anthropic(action: Action, size: tuple[int, int]) -> _Json:
    """Anthropic's `tool_use`, in pixels. Raises `BadProposal` for what the form has no words for."""
    return {"type": "tool_use", "name": "computer", "input": _anthropic(action, size)}


def _anthropic(action: Action, size: tuple[int, int]) -> _Json:
    def at(point: Point | None) -> list[float]:
        return list(from_pixels(_needed(point, action), Scale.PIXELS, size))

    held: _Json = {"text": "+".join(action.held)} if action.held else {}
    match action.kind:
        case Kind.TYPE:
            return {"action": "type", "text": action.text}
        case Kind.KEY:
            keys = "+".join(action.keys)
            if action.seconds:
                return {"action": "hold_key", "text": keys, "duration": action.seconds}
            return {"action": "key", "text": keys}
        case Kind.SCROLL if not (action.dx and action.dy):
            across = {True: "right", False: "left"} if action.dx else {True: "down", False: "up"}
            way, notches = across[action.dx + action.dy >= 0], round(abs(action.dx + action.dy) / NOTCH_PX)
            centre = Point(size[0] / 2, size[1] / 2)
            at_point = {"coordinate": at(action.point or centre)}
            return {"action": "scroll", "scroll_direction": way, "scroll_amount": notches, **at_point, **held}
        case Kind.DRAG if not action.held:
            return {"action": "left_click_drag", "start_coordinate": at(action.point), "coordinate": at(action.to)}
        case Kind.WAIT:
            return {"action": "wait", "duration": 1.0 if action.seconds is None else action.seconds}
    if action.kind not in _CLICKS or (action.kind is Kind.MOVE and action.held):
        raise _wordless(action, "Anthropic's computer use")
    return {"action": _CLICKS[action.kind], "coordinate": at(action.point), **held}


def to_python(action: Action) -> str:
    """A plain call in pixels, as `click(x=10.0, y=20.0)`: the one form that has words for every kind."""
    fields: _Json = {}
    if action.kind is Kind.DRAG:
        begin, end = _needed(action.point, action), _needed(action.to, action)
        fields = {"from_x": begin.x, "from_y": begin.y, "to_x": end.x, "to_y": end.y}
    elif action.point is not None:
        fields = {"x": action.point.x, "y": action.point.y}
    if action.text is not None:
        fields["text"] = action.text
    if action.keys:
        fields["keys"] = list(action.keys)
    if action.kind is Kind.SCROLL:
        fields |= {"dx": action.dx, "dy": action.dy}
    if action.seconds is not None:
        fields["seconds"] = action.seconds
    if action.success is not None:
        fields["success"] = action.success
    return f"{action.kind}({', '.join(f'{name}={value!r}' for name, value in fields.items())})"


def _needed(point: Point | None, action: Action) -> Point:
    if point is None:
        raise BadProposal(Reason.MISSING, f"the {action.kind} has no point", "its coordinates")
    return point


def _wordless(action: Action, form: str) -> BadProposal:
    held = " with keys held" if action.held or (action.kind is Kind.KEY and action.seconds) else ""
    return BadProposal(Reason.UNSUPPORTED, f"{form} has no call for {action.kind}{held}")
