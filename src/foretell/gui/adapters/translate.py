"""Our actions as those of MiniWoB++ and BrowserGym, and back. Needs neither of them installed."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters import keys
from foretell.gui.adapters.playwright import address
from foretell.gui.adapters.screen import SPOKEN, WAIT_S, bad, place
from foretell.gui.parse.keys import combination

MOST_REPEATS = 40

_COORDS: Mapping[Kind, str] = {
    Kind.CLICK: "CLICK_COORDS",
    Kind.DOUBLE_CLICK: "DBLCLICK_COORDS",
    Kind.MOVE: "MOVE_COORDS",
}
_MINIWOB_MODIFIERS = {"Control": "C-", "Shift": "S-", "Alt": "A-", "Meta": "M-"}

_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "mouse_click": ("x", "y", "button"),
    "mouse_dblclick": ("x", "y", "button"),
    "mouse_move": ("x", "y"),
    "mouse_drag_and_drop": ("from_x", "from_y", "to_x", "to_y"),
    "scroll": ("delta_x", "delta_y"),
    "keyboard_type": ("text",),
    "keyboard_insert_text": ("text",),
    "keyboard_press": ("key",),
    "noop": ("wait_ms",),
    "goto": ("url",),
    "send_msg_to_user": ("text",),
    "click": ("bid", "button"),
    "dblclick": ("bid", "button"),
    "hover": ("bid",),
    "focus": ("bid",),
    "fill": ("bid", "value"),
    "drag_and_drop": ("from_bid", "to_bid"),
}


class MiniWobTranslator:
    """For `miniwob` environments, made from `env.unwrapped.action_space_config`."""

    def __init__(self, config: Any) -> None:
        self._types = [str(getattr(one, "value", one)) for one in config.action_types]
        self._keys = list(config.allowed_keys)
        self._bins: tuple[int, int] | None = config.coord_bins
        self._screen = (float(config.screen_width or 0.0), float(config.screen_height or 0.0))
        self._scroll_px, self._most_text = float(config.scroll_amount), int(config.text_max_len)

    def theirs(self, action: Action, size: tuple[int, int]) -> list[dict[str, Any]]:
        kind = action.kind
        if action.held or (kind is Kind.KEY and action.seconds):
            raise bad(f"this environment holds no keys during a {kind.value}")
        if kind in _COORDS and action.point is not None:
            return [self._at(_COORDS[kind], action.point, size)]
        if kind is Kind.DRAG and action.point is not None and action.to is not None:
            moved = [self._at("MOVE_COORDS", action.to, size)] if "MOVE_COORDS" in self._types else []
            down, up = self._at("MOUSEDOWN_COORDS", action.point, size), self._at("MOUSEUP_COORDS", action.to, size)
            return [down, *moved, up]
        if kind is Kind.SCROLL and action.dy:
            times = min(MOST_REPEATS, max(1, round(abs(action.dy) / self._per_scroll(size))))
            name = "SCROLL_DOWN_COORDS" if action.dy > 0 else "SCROLL_UP_COORDS"
            return [self._at(name, place(action, size), size)] * times
        if kind is Kind.TYPE and action.text:
            text = action.text
            pieces = [text[i : i + self._most_text] for i in range(0, len(text), self._most_text)]
            focus = [] if action.point is None else [self._at("CLICK_COORDS", action.point, size)]
            return [*focus, *(self._own("TYPE_TEXT", text=piece) for piece in pieces)]
        if kind is Kind.KEY:
            return [self._own("PRESS_KEY", key=self._key(action.keys))]
        if kind is Kind.WAIT:
            return [self._own("NONE")]
        if kind in SPOKEN:
            return []
        raise bad(f"this environment knows no {kind.value}")

    def ours(self, action: Any, size: tuple[int, int]) -> Action | None:
        try:
            name = self._types[int(action["action_type"])]
            if name == "TYPE_TEXT":
                return Action(Kind.TYPE, text=str(action["text"]))
            if name == "PRESS_KEY":
                return Action(Kind.KEY, keys=_usual(self._keys[int(action["key"])]))
            point = self._back(action["coords"], size) if name.endswith("_COORDS") else None
        except (LookupError, TypeError, ValueError):
            return None
        kind = next((kind for kind, theirs in _COORDS.items() if theirs == name), None)
        if kind is not None and point is not None:
            return Action(kind, point)
        if name.startswith("SCROLL_") and point is not None:
            return Action(Kind.SCROLL, point, dy=self._per_scroll(size) * (1 if "DOWN" in name else -1))
        return None  # elements and half a drag mean nothing in pixels

    def _own(self, name: str, **values: Any) -> dict[str, Any]:
        if name not in self._types:
            raise bad(f"this environment's action space has no {name}")
        blank = {
            "ref": 0,
            "coords": np.zeros(2, np.int64 if self._bins else np.float32),
            "key": 0,
            "text": " ",  # the space knows no empty text
            "field": 0,
        }
        needed = {field: value for field, value in blank.items() if field in self._fields()}
        return {"action_type": self._types.index(name), **needed, **values}

    def _fields(self) -> set[str]:
        """The fields of this action space: all of them have to be there in every action."""
        found = {"coords"} if any(name.endswith("_COORDS") for name in self._types) else set()
        found |= {"ref"} if any("ELEMENT" in name for name in self._types) else set()
        found |= {"key"} if "PRESS_KEY" in self._types else set()
        found |= {"text"} if any(name.endswith("TYPE_TEXT") for name in self._types) else set()
        return found | ({"field"} if any(name.endswith("TYPE_FIELD") for name in self._types) else set())

    def _at(self, name: str, point: Point, size: tuple[int, int]) -> dict[str, Any]:
        x, y = point.x / size[0], point.y / size[1]
        if self._bins:
            bins = [min(int(share * count), count - 1) for share, count in zip((x, y), self._bins, strict=True)]
            return self._own(name, coords=np.array(bins, np.int64))
        return self._own(name, coords=np.array([x * self._screen[0], y * self._screen[1]], np.float32))

    def _back(self, coords: Any, size: tuple[int, int]) -> Point:
        x, y = float(coords[0]), float(coords[1])
        if self._bins:
            return Point((x + 0.5) / self._bins[0] * size[0], (y + 0.5) / self._bins[1] * size[1])
        return Point(x / self._screen[0] * size[0], y / self._screen[1] * size[1])

    def _per_scroll(self, size: tuple[int, int]) -> float:
        """Pixels of the screenshot that one scroll of the environment moves the view."""
        return self._scroll_px * size[1] / self._screen[1] if self._screen[1] else self._scroll_px

    def _key(self, pressed: Sequence[str]) -> int:
        names = [key.web for key in keys.names(pressed)]
        spelled = "".join(_MINIWOB_MODIFIERS.get(name, f"{name}-") for name in names[:-1])
        last = names[-1] if len(names[-1]) == 1 else f"<{names[-1]}>"
        for one in (spelled + last, spelled + (" " if last == "<Space>" else last)):
            if one in self._keys:
                return self._keys.index(one)
        raise bad(f"this environment has no key {'+'.join(pressed)[:40]!r}")


class BrowserGymTranslator:
    """For BrowserGym environments, whose actions are calls in Python.

    Those with coordinates are known by themselves, those that name an element (`click('a51')`) once `look` has been
    shown an observation with the elements' boxes.
    """

    def __init__(self, scale: float = 1.0) -> None:
        """`scale` is how many pixels of the screenshot make one of the page."""
        if not scale > 0.0:
            raise ValueError(f"the scale of a page must be above zero, got {scale}")
        self.scale = scale
        self._boxes: Mapping[str, Sequence[float]] = {}

    def look(self, observation: Any) -> None:
        """Learn where the elements are, from BrowserGym's `extra_element_properties`."""
        listed = observation.get("extra_element_properties") if isinstance(observation, Mapping) else None
        known = listed.items() if isinstance(listed, Mapping) else ()
        boxes = {str(name): one.get("bbox") for name, one in known if isinstance(one, Mapping)}
        self._boxes = {name: box for name, box in boxes.items() if box is not None and len(box) == 4}

    def theirs(self, action: Action, size: tuple[int, int]) -> list[str]:
        if action.held:
            return _holding(action.held, self.theirs(replace(action, keys=()), size))
        kind, at = action.kind, self._at
        if kind is Kind.CLICK and action.point is not None:
            return [_call("mouse_click", *at(action.point))]
        if kind in (Kind.RIGHT_CLICK, Kind.MIDDLE_CLICK) and action.point is not None:
            return [_call("mouse_click", *at(action.point), kind.value.partition("_")[0])]
        if kind is Kind.DOUBLE_CLICK and action.point is not None:
            return [_call("mouse_dblclick", *at(action.point))]
        if kind is Kind.MOVE and action.point is not None:
            return [_call("mouse_move", *at(action.point))]
        if kind is Kind.DRAG and action.point is not None and action.to is not None:
            return [_call("mouse_drag_and_drop", *at(action.point), *at(action.to))]
        if kind is Kind.SCROLL:
            moved = [] if action.point is None else [_call("mouse_move", *at(action.point))]
            return [*moved, _call("scroll", action.dx / self.scale, action.dy / self.scale)]
        if kind is Kind.TYPE:
            focus = [] if action.point is None else [_call("mouse_click", *at(action.point))]
            return [*focus, _call("keyboard_type", action.text)]
        if kind is Kind.KEY and action.seconds:
            return _holding(action.keys, [_call("noop", 1000.0 * action.seconds)])
        if kind is Kind.KEY:
            return [_call("keyboard_press", "+".join(key.web for key in keys.names(action.keys)))]
        if kind is Kind.WAIT:
            return [_call("noop", 1000.0 * (WAIT_S if action.seconds is None else action.seconds))]
        if kind is Kind.NAVIGATE:
            return [_call("goto", address(action.text or ""))]
        if kind is Kind.BACK:
            return [_call("go_back")]
        if kind is Kind.ANSWER:
            return [_call("send_msg_to_user", action.text)]
        if kind is Kind.TERMINATE:
            return [] if action.success is not False else [_call("report_infeasible", action.text or "not possible")]
        raise bad(f"this environment knows no {kind.value}")

    def ours(self, action: Any, size: tuple[int, int]) -> Action | None:
        try:
            name, given = _parsed(action)
            return self._meant(name, given)
        except (ValueError, TypeError, LookupError, SyntaxError, RecursionError, MemoryError):
            return None

    def _meant(self, name: str, given: list[Any]) -> Action | None:
        if name in ("mouse_click", "mouse_dblclick", "mouse_move"):
            point, button = self._point(given), str(given[2]) if len(given) > 2 else "left"
            plain = {"mouse_click": Kind.CLICK, "mouse_dblclick": Kind.DOUBLE_CLICK, "mouse_move": Kind.MOVE}[name]
            return Action(plain if button == "left" else Kind(f"{button}_click"), point)
        if name == "mouse_drag_and_drop":
            return Action(Kind.DRAG, self._point(given), self._point(given[2:]))
        if name == "scroll":
            return Action(Kind.SCROLL, dx=float(given[0]) * self.scale, dy=float(given[1]) * self.scale)
        if name in ("keyboard_type", "keyboard_insert_text"):
            return Action(Kind.TYPE, text=str(given[0]))
        if name == "keyboard_press":
            return Action(Kind.KEY, keys=combination(str(given[0])))
        if name == "noop":
            return Action(Kind.WAIT, seconds=float(given[0]) / 1000.0 if given else WAIT_S)
        if name == "goto":
            return Action(Kind.NAVIGATE, text=str(given[0]))
        if name == "go_back":
            return Action(Kind.BACK)
        if name == "send_msg_to_user":
            return Action(Kind.ANSWER, text=str(given[0]))
        return self._on_element(name, given)

    def _on_element(self, name: str, given: list[Any]) -> Action | None:
        """An action on an element whose box is known; None for one that is not, and for what pixels cannot say."""
        at = self._middle(given[0]) if given else None
        if at is None:
            return None
        kinds = {"click": Kind.CLICK, "dblclick": Kind.DOUBLE_CLICK, "hover": Kind.MOVE, "focus": Kind.CLICK}
        if name in kinds:
            button = str(given[1]) if name == "click" and len(given) > 1 else "left"
            return Action(kinds[name] if button == "left" else Kind(f"{button}_click"), at)
        if name == "fill":
            return Action(Kind.TYPE, at, text=str(given[1]))
        if name == "drag_and_drop":
            to = self._middle(given[1])
            return None if to is None else Action(Kind.DRAG, at, to)
        return None

    def _middle(self, element: Any) -> Point | None:
        box = self._boxes.get(str(element))
        return None if box is None else self._point([box[0] + box[2] / 2, box[1] + box[3] / 2])

    def _at(self, point: Point) -> tuple[float, float]:
        return point.x / self.scale, point.y / self.scale

    def _point(self, given: Sequence[Any]) -> Point:
        return Point(float(given[0]) * self.scale, float(given[1]) * self.scale)


def _holding(held: Sequence[str], calls: Sequence[str]) -> list[str]:
    names = [key.web for key in keys.names(held)]
    down, up = [_call("keyboard_down", name) for name in names], [_call("keyboard_up", name) for name in names[::-1]]
    return [*down, *calls, *up]


def _call(name: str, *given: Any) -> str:
    """A call in Python; literals only, so that no text can be anything but a text."""
    return f"{name}({', '.join(repr(value) for value in given)})"


def _parsed(text: Any) -> tuple[str, list[Any]]:
    """The name and the arguments of a single call with literals, or ValueError."""
    tree = ast.parse(text.strip() if isinstance(text, str) else "", mode="eval").body
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise ValueError("not a call")
    name, given = tree.func.id, [ast.literal_eval(one) for one in tree.args]
    named = {str(word.arg): ast.literal_eval(word.value) for word in tree.keywords}
    given += [named.pop(parameter) for parameter in _PARAMETERS.get(name, ())[len(given) :] if parameter in named]
    if named:
        raise ValueError("an argument that is not known")
    return name, given


def _usual(key: str) -> tuple[str, ...]:
    """MiniWoB++'s spelling of a combination ("C-S-<Enter>") in usual names."""
    parts: list[str] = []
    names = {mark: name.lower() for name, mark in _MINIWOB_MODIFIERS.items()}
    while key[:2] in names and len(key) > 2:
        parts.append(names[key[:2]])
        key = key[2:]
    plain = key[1:-1] if len(key) > 2 and key.startswith("<") and key.endswith(">") else key
    return tuple(usual for part in (*parts, plain) for usual in combination(part))
