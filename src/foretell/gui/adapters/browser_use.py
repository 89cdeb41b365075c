"""A guard for agents of browser-use: a callback between what the model says and what is done.

    hook = BrowserUseHook(guard, task)
    agent = Agent(task=task, llm=llm, register_new_step_callback=hook)

browser-use names elements by their index. The hook looks up where they lie in the page's state, judges the actions on
the screenshot that the model was shown, and raises `Objection` where the guard objects: browser-use then executes
nothing, and shows the sentence to its model as the error of the step. Works with the package's objects by their
attributes; nothing of it is imported.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping
from typing import Any

from foretell.gui.actions import Action, Kind, Platform, Point
from foretell.gui.adapters.loop import GuardLike, joined
from foretell.gui.adapters.screen import ScreenError, decode
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.parse.keys import combination

_CLICKS = ("click", "click_element", "click_element_by_index")
_TYPES = ("input", "input_text", "type")
_SCROLL_PX = 600.0  # of a scroll that counts pages or nothing


class Objection(Exception):
    """The guard objects; the message is its feedback, which browser-use passes to its model."""


class BrowserUseHook:
    """Judges every step of one agent. `verdicts` keeps what the guard said, one for each step.

    Steps that show no screenshot, and actions whose place is not known, pass unjudged, as they do on other screens.
    """

    platform: Platform = "web"

    def __init__(self, guard: GuardLike, goal: str) -> None:
        self.guard, self.goal = guard, goal
        self.verdicts: list[Any] = []
        self._pending: Proposal | None = None
        guard.reset()

    async def __call__(self, state: Any, output: Any, step: int) -> None:
        """browser-use's callback for a new step."""
        await asyncio.to_thread(self._judge, state, output, step)

    def _judge(self, state: Any, output: Any, step: int) -> None:
        image = screenshot_of(state)
        if self._pending is not None:
            self.guard.executed(self._pending)
            self._pending = None
        if image is None:
            return
        observation = Observation(self.goal, image, step, self.platform)
        notice = self.guard.before_action(observation)
        proposal = proposal_of(output, state, observation.size)
        if proposal is None:
            return
        verdict = self.guard.after_proposal(observation, proposal)
        self.verdicts.append(verdict)
        if verdict.intervene:
            raise Objection(joined(notice, verdict.feedback))
        self._pending = proposal


def screenshot_of(state: Any) -> Pixels | None:
    """The picture that the model was shown; None where there is none."""
    data = getattr(state, "screenshot", None)
    if not data:
        return None
    try:
        return decode(base64.b64decode(data))
    except (ValueError, ScreenError):
        return None


def proposal_of(output: Any, state: Any, size: tuple[int, int]) -> Proposal | None:
    """The proposed actions in pixel coordinates; None if none of them has any."""
    found: list[Action] = []
    for one in getattr(output, "action", None) or ():
        data = one if isinstance(one, Mapping) else one.model_dump(exclude_unset=True)
        for name, fields in data.items():
            found += _actions(name, fields or {}, state, size)
    inner = getattr(output, "current_state", None)
    intent = getattr(output, "next_goal", None) or getattr(inner, "next_goal", None)
    return Proposal(tuple(found), intent or None) if found else None


def _actions(name: str, fields: Mapping[str, Any], state: Any, size: tuple[int, int]) -> Iterator[Action]:
    point = _place(fields, state, size)
    if name in _CLICKS and point is not None:
        yield Action(Kind.CLICK, point)
    elif name in _TYPES and fields.get("text"):
        yield Action(Kind.TYPE, point, text=str(fields["text"]))
    elif name == "send_keys" and fields.get("keys"):
        yield Action(Kind.KEY, keys=combination(str(fields["keys"])))
    elif name in ("scroll", "scroll_down", "scroll_up"):
        down = fields.get("down", name != "scroll_up")
        amount = float(
            fields.get("amount") or float(fields.get("pages") or fields.get("num_pages") or 1.0) * _SCROLL_PX
        )
        yield Action(Kind.SCROLL, point, dy=amount if down else -amount)
    elif name in ("go_to_url", "navigate", "open_tab") and fields.get("url"):
        yield Action(Kind.NAVIGATE, text=str(fields["url"]))
    elif name == "go_back":
        yield Action(Kind.BACK)
    elif name == "wait":
        yield Action(Kind.WAIT, seconds=float(fields.get("seconds") or 1.0))
    elif name == "done":
        text = str(fields.get("text") or "") or None
        yield Action(Kind.TERMINATE, text=text, success=bool(fields.get("success", True)))


def _place(fields: Mapping[str, Any], state: Any, size: tuple[int, int]) -> Point | None:
    """The middle of the element that an action names by its index, or its own coordinates, in pixels of the picture."""
    scale = _scale(state, size)
    if fields.get("coordinate_x") is not None and fields.get("coordinate_y") is not None:
        return Point(float(fields["coordinate_x"]) * scale, float(fields["coordinate_y"]) * scale)
    if fields.get("index") is None:
        return None
    dom = getattr(state, "dom_state", state)
    node = (getattr(dom, "selector_map", None) or {}).get(int(fields["index"]))
    box = next(
        (b for name in ("absolute_position", "bounds", "bounding_box") if (b := getattr(node, name, None))), None
    )
    if box is None:
        return None
    page = getattr(state, "page_info", None)
    left, top = float(getattr(page, "scroll_x", 0) or 0), float(getattr(page, "scroll_y", 0) or 0)
    x, y = float(box.x) - left + float(box.width) / 2, float(box.y) - top + float(box.height) / 2
    return Point(x * scale, y * scale)


def _scale(state: Any, size: tuple[int, int]) -> float:
    """Pixels of the picture to one of the page."""
    width = getattr(getattr(state, "page_info", None), "viewport_width", None)
    return size[0] / float(width) if width else 1.0
