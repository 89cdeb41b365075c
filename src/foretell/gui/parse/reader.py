"""Reading a proposal: which form it is, its calls, what it says it does, and its coordinates in pixels."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from foretell.gui.actions import POINTED, TEXTS, Action, Kind, Point
from foretell.gui.observation import Proposal
from foretell.gui.parse.build import build
from foretell.gui.parse.calls import Call, calls_of, code_of, comment_of
from foretell.gui.parse.envelopes import (
    anthropic_said,
    called,
    message_of,
    objects_of,
    openai_said,
    tagged_calls,
    text_of,
)
from foretell.gui.parse.faults import BadProposal, Reason
from foretell.gui.parse.scale import Scale, resolve, to_pixels
from foretell.gui.parse.thoughts import without_thoughts
from foretell.received import parsed

_MOST_CHARACTERS = 100_000
_IN_PIXELS = re.compile(r"\bpyautogui\.|\.mouse\.|\bmouse_(?:click|dblclick|move|drag_and_drop)\(")
_LABELLED = re.compile(r"^[ \t]*\**(?:Action|Intent|Step)\**[ \t]*:\**[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
_LABEL = re.compile(r"^\W*(?:thought|reason(?:ing)?|plan|summary|action|observation)\W*:\**\s*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_MESSAGE = "message without a call"
_QUOTES = {'"': '"', "'": "'", "“": "”", "`": "`"}


class Form(StrEnum):
    """The tool-call forms that can be read."""

    QWEN = "qwen"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    PYTHON = "python"


def read(
    said: object,
    form: Form | None = None,
    scale: Scale = Scale.AUTO,
    size: tuple[int, int] | None = None,
    *,
    seen: tuple[int, int] | None = None,
    cursor: Point | None = None,
    max_calls: int | None = None,
) -> Proposal:
    """`parse`, with a fault as a value: a proposal without actions that says why. Never raises."""
    try:
        return parse(said, form, scale, size, seen=seen, cursor=cursor, max_calls=max_calls)
    except BadProposal as fault:
        return Proposal((), raw=_raw(said), fault=str(fault))


def parse(
    said: object,
    form: Form | None,
    scale: Scale,
    size: tuple[int, int] | None,
    *,
    seen: tuple[int, int] | None = None,
    cursor: Point | None = None,
    max_calls: int | None = None,
) -> Proposal:
    """The proposal in a text, in parsed JSON or in a client library's object; raises `BadProposal`.

    `form` None takes the form from what is there. `size` is the screen's width and height; without it only pixels can
    be read. `seen` is the size of the picture that the agent was shown, where that was another: pixels are its pixels,
    and points are brought to the screen (the distances of scrolls stay as they are). `cursor` is where the pointer
    rests, in pixels of the screen: it stands for the point of calls that leave theirs out. More calls than `max_calls`
    are refused. A message without a call, in the forms that have messages, answers the user and is the agent's last
    word. What the agent thought is passed over.
    """
    data = _plain(said)
    form, calls, intent = _calls(data, form)
    if not calls:
        raise BadProposal(Reason.UNREADABLE, "there is no call in it", "a tool call")
    if max_calls is not None and len(calls) > max_calls:
        raise BadProposal(Reason.SEVERAL, f"{len(calls)} calls in one proposal", f"at most {max_calls}")
    closing = calls[0][0] == _MESSAGE
    actions = [action for name, fields in calls for action in build("answer" if closing else name, fields)]
    always_pixels = form in (Form.OPENAI, Form.ANTHROPIC) or (
        form is Form.PYTHON and bool(_IN_PIXELS.search(without_thoughts(str(data))))
    )
    placed = _placed(actions, scale, size, seen, cursor, always_pixels)
    return Proposal(placed, intent=intent, raw=_raw(said), closing=closing)


def _calls(data: Any, form: Form | None) -> tuple[Form, list[Call], str | None]:
    if not isinstance(data, str):
        return _structured(data, form)
    if len(data) > _MOST_CHARACTERS:
        raise BadProposal(Reason.UNREADABLE, f"{len(data)} characters", f"at most {_MOST_CHARACTERS}")
    whole = _whole(data) if form is not Form.PYTHON else None
    if whole is not None:
        return _structured(whole, form)
    data = without_thoughts(data)
    if form in (None, Form.QWEN):
        tagged = _tagged(data)
        if tagged is not None:
            return tagged
    if form is not Form.PYTHON:
        whole = _whole(data)
        objects = [whole] if whole is not None else objects_of(data)
        if objects:
            found, calls, intent = _structured(objects[0] if len(objects) == 1 else objects, form)
            return found, calls, intent or (intent_of(data[: data.index("{")]) if "{" in data else None)
        if form is not None:
            raise BadProposal(Reason.UNREADABLE, f"there is no call of the form {form} in it", "a JSON object")
    code = code_of(data)
    if code is None:
        raise BadProposal(Reason.UNREADABLE, "there is no call in it", "a tool call")
    before = data[: data.index(code)] if code in data else data.split("```")[0]
    return Form.PYTHON, calls_of(code), intent_of(before) or comment_of(code)


def _tagged(text: str) -> tuple[Form, list[Call], str | None] | None:
    calls = tagged_calls(text)
    return None if calls is None else (Form.QWEN, calls, intent_of(re.split(r"<tool_call>|<function=", text)[0]))


def _whole(text: str) -> Any:
    """The text's JSON where the whole of it is an object or a list."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return parsed(text, nan=True)
    except (ValueError, RecursionError):
        return None


def _structured(data: Any, form: Form | None) -> tuple[Form, list[Call], str | None]:
    data = message_of(data)
    text = text_of(data)
    if text is not None and form not in (Form.OPENAI, Form.ANTHROPIC):
        return _calls(text, form)
    asked, form = form, form or _form_of(data)
    if form is Form.OPENAI or form is Form.ANTHROPIC:
        calls, said = openai_said(data) if form is Form.OPENAI else anthropic_said(data)
        prose = without_thoughts(said).strip()
        if not calls and prose:
            written = _tagged(prose) if asked is None else None
            return written or (form, [(_MESSAGE, {"text": prose})], None)
        return form, calls, intent_of(prose)
    if form is Form.PYTHON:
        raise BadProposal(Reason.WRONG_TYPE, "the proposal is no text", "python-style calls in a text")
    said = ""
    if isinstance(data, Mapping) and "tool_calls" in data:
        said = data["content"] if isinstance(data.get("content"), str) else ""
        data = data["tool_calls"] or []
    listed = data if isinstance(data, list) else [data]
    return Form.QWEN, [call for item in listed for call in called(item)], intent_of(said)


def _form_of(data: Any) -> Form:
    items = data if isinstance(data, list) else [data]
    first = [item for item in items if isinstance(item, Mapping)]
    kinds = {item["type"] for item in first if isinstance(item.get("type"), str)}
    if any(isinstance(item.get("tool_calls"), list) for item in first):
        return Form.QWEN
    inner = [part for item in first if isinstance(item.get("content"), list) for part in item["content"]]
    kinds_inside = {part["type"] for part in inner if isinstance(part, Mapping) and isinstance(part.get("type"), str)}
    if kinds & {"tool_use", "text", "thinking"} or kinds_inside & {"tool_use", "text", "thinking"}:
        return Form.ANTHROPIC
    if any("output" in item for item in first):
        return Form.OPENAI
    if kinds - {"function"} and not any("name" in item and "type" not in item for item in first):
        return Form.OPENAI
    return Form.QWEN


def intent_of(prose: str) -> str | None:
    """What the agent says it does: the last "Action: ..." line, else the last sentence before the call."""
    shown = without_thoughts(prose)
    labelled = _LABELLED.findall(shown)
    if labelled:
        return _unquoted(labelled[-1]) or None
    sentences = [part.strip() for part in _SENTENCE_END.split(shown) if part.strip(" \t\r`*#-")]
    bare = [_LABEL.sub("", part).strip() for part in sentences]
    said = [part for part in bare if any(letter.isalpha() for letter in part) and not part.startswith("```")]
    return _unquoted(said[-1]) if said else None


def _unquoted(text: str) -> str:
    text = text.strip().strip("*").strip()
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and text[-1] not in text[1:-1]:
        return text[1:-1].strip()
    return text


def _placed(
    actions: list[Action],
    scale: Scale,
    size: tuple[int, int] | None,
    seen: tuple[int, int] | None,
    cursor: Point | None,
    always_pixels: bool,
) -> tuple[Action, ...]:
    """Points in pixels, those left out taken from where the pointer was left, and every needed field there."""
    written = [point for action in actions for point in (action.point, action.to) if point is not None]
    scale = resolve(scale, written, seen or size, always_pixels)
    placed = []
    for action in actions:
        point = to_pixels(action.point, scale, size, seen) if action.point else None
        to = to_pixels(action.to, scale, size, seen) if action.to else None
        if point is None and action.kind in POINTED:
            if cursor is None:
                what = "point to start from" if action.kind is Kind.DRAG else "point"
                raise BadProposal(Reason.MISSING, f"the {action.kind} has no {what}", "its coordinates")
            point = cursor
        if action.kind in TEXTS and not action.text:
            raise BadProposal(Reason.MISSING, f"the {action.kind} has no text", "a text")
        placed.append(replace(action, point=point, to=to))
        cursor = to or point or cursor
    return tuple(placed)


def _plain(said: object) -> Any:
    """Client libraries' objects as the JSON they stand for."""
    if isinstance(said, list | tuple):
        return [_plain(item) for item in said]
    said = _dumped(said)
    if not isinstance(said, str | Mapping):
        raise BadProposal(Reason.WRONG_TYPE, f"a proposal of type {type(said).__name__}", "a text or a tool call")
    return said


def _raw(said: object) -> str:
    if isinstance(said, str):
        return said
    try:
        return json.dumps(said, default=_dumped, ensure_ascii=False)
    except (BadProposal, TypeError, ValueError, RecursionError):
        return f"<{type(said).__name__}>"


def _dumped(value: object) -> object:
    """What a client library's object stands for; anything else as it is."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    try:
        return dump()
    except Exception as error:  # foreign code: whatever it raises, this proposal cannot be read
        raise BadProposal(Reason.UNREADABLE, f"its model_dump failed with {type(error).__name__}") from error
