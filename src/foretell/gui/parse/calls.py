"""Python-style calls in a text, read off the syntax tree and never evaluated: pyautogui, Playwright, UI-TARS, plain."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from typing import Any

from foretell.gui.parse.faults import BadProposal, Reason

Call = tuple[str, dict[str, Any]]

_MOST_CHARACTERS = 20_000
_FENCE = re.compile(r"```(?:\w*)[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_BARE = frozenset(("DONE", "FAIL", "WAIT"))
_STARTS = re.compile(
    r"^[ \t]*(?:await[ \t]+)?(?:[A-Za-z_][\w.]*\(|import[ \t]|from[ \t]+\w+[ \t]+import|#)", re.MULTILINE
)
_ACTION = re.compile(r"^[ \t]*\**Action\**[ \t]*:\**[ \t]*", re.MULTILINE | re.IGNORECASE)
_LINE = re.compile(r"[ \t]*(?:await[ \t]+)?[A-Za-z_][\w.]*\(.*\)[ \t;]*")  # prose may follow a call
_COMMENT = re.compile(r"^[ \t]*#[ \t]*(\S.*)$", re.MULTILINE)
_POSITIONAL: dict[str, tuple[str, ...]] = {
    "click": ("x", "y", "clicks", "interval", "button"),
    "moveTo": ("x", "y"),
    "dragTo": ("x", "y", "seconds"),
    "drag": ("x1", "y1", "x2", "y2"),
    "swipe": ("x1", "y1", "x2", "y2"),
    "mouse_drag_and_drop": ("from_x", "from_y", "to_x", "to_y"),
    "wheel": ("dx", "dy"),
    "hscroll": ("clicks", "x", "y"),
    "mouse_click": ("x", "y", "button"),
    "terminate": ("status",),
    "goto": ("url",),
    "navigate": ("url",),
    "noop": ("wait_ms",),
    "wait_for_timeout": ("wait_ms",),
    **dict.fromkeys(("press", "keyboard_press", "key", "keypress"), ("keys", "presses")),
    **dict.fromkeys(("sleep", "wait"), ("seconds",)),
}
_ONE_TEXT = frozenset(
    [
        "write",
        "typewrite",
        "type",
        "keyboard_type",
        "insert_text",
        "answer",
        "send_msg_to_user",
        "finished",
        "done",
        "fail",
        "open",
        "open_app",
        "report_infeasible",
        "input_text",
        "system_button",
    ]
)


def code_of(text: str) -> str | None:
    """The part of a text that may be calls: what is fenced, what follows "Action:", or from the first call on."""
    fenced = _FENCE.findall(text)
    if fenced:
        return "\n".join(part.strip("\n") for part in fenced)
    labels = list(_ACTION.finditer(text))
    tail = text[labels[-1].end() :] if labels else text
    if tail.strip() in _BARE:
        return tail.strip()
    start = _STARTS.search(tail)
    return tail[start.start() :] if start else None


def comment_of(code: str) -> str | None:
    """The last comment in the code: what its writer says it does."""
    found = _COMMENT.findall(code)
    return found[-1].strip() if found else None


def calls_of(code: str) -> list[Call]:
    """The calls in the code, in order. Imports are passed over; anything else than calls of literals is refused.

    Where the whole is no python, because prose stands between the calls, the lines that are calls count.
    """
    if len(code) > _MOST_CHARACTERS:
        raise BadProposal(Reason.UNREADABLE, f"{len(code)} characters of code", f"at most {_MOST_CHARACTERS}")
    tree = _tree(textwrap.dedent(code).strip())
    if tree is None:
        lines = [line.strip() for line in code.splitlines() if _LINE.fullmatch(line)]
        tree = _tree("\n".join(lines)) if lines else None
    if tree is None:
        raise BadProposal(Reason.UNREADABLE, "the call is not well formed", "a call such as click(x=10, y=20)")
    return [call for statement in tree.body for call in _statement(statement)]


def _tree(code: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _statement(statement: ast.stmt) -> list[Call]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return []
    value = statement.value if isinstance(statement, ast.Expr) else None
    value = value.value if isinstance(value, ast.Await) else value
    if isinstance(value, ast.Name) and value.id in _BARE:
        return [(value.id.lower(), {})]
    if not isinstance(value, ast.Call):
        raise BadProposal(Reason.UNSUPPORTED, f"a python {type(statement).__name__.lower()} statement", "plain calls")
    base, name = _name(value.func)
    arguments = [_literal(name, node) for node in value.args]
    named = {word.arg: _literal(name, word.value) for word in value.keywords if word.arg is not None}
    if len(named) != len(value.keywords):
        raise BadProposal(Reason.UNSUPPORTED, f"{name[:40]!r} with unpacked arguments", "plain arguments")
    return [_call(base, name, arguments, named)]


def _call(base: str, name: str, arguments: list[Any], named: dict[str, Any]) -> Call:
    if name == "hotkey":
        keys = arguments[0] if len(arguments) == 1 else arguments
        return name, named | ({"keys": keys} if arguments else {})
    if base == "pyautogui" and name in ("drag", "move"):
        return name + "Rel", {}
    only = arguments[0] if len(arguments) == 1 else None
    if name == "press" and isinstance(only, list | tuple):
        return "press_each", named | {"keys": only}
    if name in ("scroll", "swipe") and isinstance(only, str):
        return name, named | {"direction": only}
    if isinstance(only, list | tuple) and name not in _ONE_TEXT:
        return name, named | {"point": only}
    places: tuple[str, ...]
    if name == "scroll":
        places = ("dx", "dy") if base != "pyautogui" and len(arguments) == 2 else ("clicks", "x", "y")
    else:
        places = ("text",) if name in _ONE_TEXT else _POSITIONAL.get(name, ("x", "y"))
    if len(arguments) > len(places) and name not in _ONE_TEXT:
        raise BadProposal(Reason.WRONG_TYPE, f"{name[:40]!r} has {len(arguments)} arguments", ", ".join(places))
    return name, dict(zip(places, arguments, strict=False)) | named


def _name(func: ast.expr) -> tuple[str, str]:
    """What a call's function is an attribute of (empty for none) and its own name."""
    if isinstance(func, ast.Name):
        return "", func.id
    if isinstance(func, ast.Attribute):
        return (func.value.id if isinstance(func.value, ast.Name) else ""), func.attr
    raise BadProposal(Reason.UNSUPPORTED, "a call of something that has no name", "click(x=10, y=20)")


def _literal(name: str, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise BadProposal(
            Reason.UNSUPPORTED, f"an argument of {name[:40]!r} is no literal", "numbers or texts"
        ) from None
