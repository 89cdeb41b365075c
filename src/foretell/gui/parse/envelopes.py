"""What is wrapped around a call in JSON: Qwen-VL's tool calls, OpenAI's and Anthropic's output items, chat messages.

Each function finds the named calls, in order, and what was said beside them. What the calls mean is `build`'s matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from foretell.gui.parse.calls import Call
from foretell.gui.parse.faults import BadProposal, Reason
from foretell.received import BadJson, parsed

_TOOL_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.-]{1,60})>(.*?)(?:</function>|\Z)", re.DOTALL)
_TOOLS = frozenset(("computer_use", "mobile_use", "computer", "browser_use", "computer_use_preview", "gui"))
_CALL_FIELDS = frozenset(
    ("name", "action", "action_type", "type", "function", "tool_calls", "output", "content", "actions", "choices")
)
_WRITTEN = frozenset(
    ("text", "content", "value", "message", "string", "answer", "reason", "url", "app", "app_name", "name", "key")
)  # parameters that are texts, whatever they look like
_MOST_TRIES = 1000

Said = tuple[list[Call], str]


def objects_of(text: str) -> list[Mapping[str, Any]]:
    """The JSON objects that stand in a text, outermost only, that have a field which a call would have."""
    found: list[Mapping[str, Any]] = []
    decoder, at = json.JSONDecoder(), text.find("{")
    for _ in range(_MOST_TRIES):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict) and not _CALL_FIELDS.isdisjoint(value):
                found.append(value)
        at = text.find("{", end)
    return found


def tagged_calls(text: str) -> list[Call] | None:
    """The calls in <tool_call> tags, as JSON or as <function=...><parameter=...>; None where there are no tags."""
    blocks = [block.strip() for block in _TOOL_CALL.findall(text) if block.strip()] or (
        [text] if "<function=" in text else []
    )
    if not blocks:
        return None
    calls: list[Call] = []
    for block in blocks:
        functions = _FUNCTION.findall(block)
        for name, inside in functions:
            calls += called({"name": name, "arguments": _parameters(inside)})
        if not functions:
            calls += called(loads(block))
    return calls


def _parameters(inside: str) -> dict[str, Any]:
    parts = [part.partition(">") for part in inside.split("<parameter=")[1:]]
    values = {name.strip(): rest.split("</parameter>")[0].strip("\n") for name, _, rest in parts}
    return {name: value if name in _WRITTEN else _loaded(value) for name, value in values.items()}


def _loaded(value: str) -> Any:
    """What a parameter's JSON stands for. Numbers stay texts: they may be keys, and fields read them either way."""
    try:
        found = parsed(value, nan=True)
    except (ValueError, RecursionError):
        return value
    return value if isinstance(found, int | float) and not isinstance(found, bool) else found


def loads(text: str) -> Any:
    try:
        return parsed(text, strict=False, nan=True)
    except BadJson as error:
        raise BadProposal(Reason.UNREADABLE, f"the tool call cannot be read: {error}", "one JSON object") from None


def called(data: Any) -> list[Call]:
    """A call as {"name", "arguments"}, {"function": ...}, {"action": ...} or {"action_type": ...}."""
    if not isinstance(data, Mapping):
        raise BadProposal(Reason.WRONG_TYPE, "the tool call is no object", 'an object with "name" and "arguments"')
    function = data.get("function")
    if isinstance(function, Mapping):
        return called(function)
    name = data.get("name")
    if name is None:
        return [_action(data)]
    if not isinstance(name, str):
        raise BadProposal(Reason.WRONG_TYPE, "the tool's name is no text", "computer_use or mobile_use")
    arguments = data.get("arguments", data.get("parameters", data.get("input")))
    arguments = loads(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(arguments, Mapping):
        raise BadProposal(Reason.MISSING, "the tool call has no arguments", 'an object "arguments"')
    if "action" in arguments or name in _TOOLS:
        return [_action(arguments)]
    return [(name, dict(arguments))]


def _action(fields: Mapping[str, Any]) -> Call:
    inner = fields.get("action", fields.get("action_type"))
    if isinstance(inner, Mapping):
        return _typed(inner)
    if inner is None and "type" in fields:
        return _typed(fields)
    if inner is None:
        raise BadProposal(Reason.MISSING, "the tool call has no action", 'a field "action"')
    if not isinstance(inner, str):
        raise BadProposal(Reason.WRONG_TYPE, "the action's name is no text", 'an "action" such as "left_click"')
    return inner, {key: value for key, value in fields.items() if key not in ("action", "action_type")}


def _typed(action: Any) -> Call:
    """OpenAI's actions carry their name as "type"."""
    name = action.get("type") if isinstance(action, Mapping) else None
    if not isinstance(name, str):
        raise BadProposal(Reason.MISSING, "the action has no type", 'an object with "type", such as "click"')
    return name, {key: value for key, value in action.items() if key != "type"}


def message_of(data: Any) -> Any:
    """The message of a chat completion, of its first choice where there are several; anything else as it is."""
    choices = data.get("choices") if isinstance(data, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else data
    message = first.get("message") if isinstance(first, Mapping) else None
    return message if isinstance(message, Mapping) else first


def text_of(message: Any) -> str | None:
    """The text of a chat message that has no calls beside it; None for everything else."""
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        return None
    content = message.get("content")
    return content if isinstance(content, str) and "type" not in message and not message.get("tool_calls") else None


def openai_said(data: Any) -> Said:
    """The computer and function calls of a response, an output list or one item, and its messages and summaries."""
    calls: list[Call] = []
    prose: list[str] = []
    for item in _items(data, "output"):
        kind = item.get("type")
        if kind == "computer_call":
            batch = item.get("actions")
            calls += [_typed(action) for action in (batch if isinstance(batch, list) else [item.get("action")])]
        elif kind in ("function_call", "function"):
            calls += called(item)
        elif kind in ("message", "reasoning") or "tool_calls" in item or "role" in item:
            prose += _texts(item.get("content")) + _texts(item.get("summary"))
            wanted = item.get("tool_calls")
            calls += [call for one in (wanted if isinstance(wanted, list) else []) for call in called(one)]
        elif isinstance(kind, str):
            calls.append(_typed(item))
    return calls, "\n".join(prose)


def anthropic_said(data: Any) -> Said:
    """The tool uses of a message, a content list or one block, and the texts beside them."""
    calls: list[Call] = []
    prose: list[str] = []
    for item in _items(data, "content"):
        if item.get("type") == "tool_use":
            calls += called({"name": item.get("name", "computer"), "arguments": item.get("input")})
        elif item.get("type") == "text":
            prose += _texts([item])
        elif "role" in item:
            prose += _texts(item.get("content"))
    return calls, "\n".join(prose)


def _items(data: Any, inside: str) -> list[Mapping[str, Any]]:
    if isinstance(data, Mapping) and isinstance(data.get(inside), list) and data.get("type") != "reasoning":
        data = data[inside] if inside == "output" or "tool_calls" not in data else [data]
    listed = [data] if isinstance(data, Mapping) else data
    if not isinstance(listed, Sequence) or not all(isinstance(item, Mapping) for item in listed):
        raise BadProposal(Reason.WRONG_TYPE, "the output is no object or list of objects", "output items")
    return list(listed)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
