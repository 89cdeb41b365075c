"""Agents of Anthropic's and OpenAI's computer-use tools, ready for a guarded loop: the agent is its `propose`.

    agent = AnthropicAgent(anthropic.Anthropic().beta.messages.create, "claude-sonnet-4-5")
    GuardedPage(page, guard, goal).run(agent)

Each keeps its own conversation in the form that the service asks for: every tool call is answered by a screenshot, one
that the guard objected to by an error with the feedback. Clients are passed in as the function that creates a message
or a response, so that nothing is imported here. Pictures are sent at most `max_side` pixels long; points come back in
pixels of the screen.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, Protocol

from foretell.gui.actions import Action, Kind
from foretell.gui.adapters.loop import joined
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.parse import Form, Scale, read

MAX_SIDE = 1280
PICTURES_KEPT = 4  # screenshots in a conversation; older ones are left out of it
MAX_TOKENS = 4096
LEFT_OUT = "(an earlier screenshot was here)"
NOT_EXECUTED = "Not executed."

Create = Callable[..., Any]
Block = dict[str, Any]


class Acknowledge(Protocol):
    """Asks whoever is responsible whether the service's safety checks are acknowledged."""

    def __call__(self, checks: Sequence[Mapping[str, Any]]) -> bool: ...


class AnthropicAgent:
    """Claude with the tool `computer`. `create` is a client's `beta.messages.create`.

    `settings` go into every request, such as `system`, `thinking` or other `tools`.
    """

    def __init__(
        self,
        create: Create,
        model: str,
        tool: str = "computer_20250124",
        betas: Sequence[str] = ("computer-use-2025-01-24",),
        max_side: int = MAX_SIDE,
        **settings: Any,
    ) -> None:
        self._create, self._model, self._tool, self._betas = create, model, tool, tuple(betas)
        self._max_side, self._settings = max_side, settings
        self.messages: list[Block] = []
        self._asked: list[str] = []
        self._seen: Observation | None = None

    def __call__(self, observation: Observation, text: str) -> Proposal:
        """What the model proposes on this screen. The same observation again means that the guard objected."""
        if observation.step == 0 and observation is not self._seen:
            self.messages, self._asked = [], []
        picture, seen = encoded(observation.image, self._max_side)
        self.messages.append({"role": "user", "content": self._said(observation, text, picture)})
        self._seen = observation
        _forget_pictures(self.messages)
        tool = {"type": self._tool, "name": "computer", "display_width_px": seen[0], "display_height_px": seen[1]}
        tools = [tool, *self._settings.get("tools", ())]
        asked = {"max_tokens": MAX_TOKENS, **self._settings, "tools": tools}
        reply = plain(self._create(model=self._model, messages=self.messages, betas=list(self._betas), **asked))
        content = list(reply["content"])
        self.messages.append({"role": "assistant", "content": content})
        self._asked = [block["id"] for block in content if block.get("type") == "tool_use"]
        return read(content, Form.ANTHROPIC, Scale.PIXELS, observation.size, seen=seen)

    def _said(self, observation: Observation, text: str, picture: str) -> list[Block]:
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}
        if not self._asked:
            words = joined(observation.goal, text) if not self.messages else text or "Go on."
            return [image, {"type": "text", "text": words}]
        objected = observation is self._seen
        words = f"{NOT_EXECUTED} {text}".strip() if objected else text
        content: list[Block] = [image, *([{"type": "text", "text": words}] if words else [])]
        # Every call has to be answered; all of them but the first by a word.
        first, *others = self._asked
        result: Block = {"type": "tool_result", "tool_use_id": first, "content": content}
        if objected:
            result["is_error"] = True
            result["content"] = [{"type": "text", "text": words}]  # the screen is the same, and errors hold words only
        brief = [{"type": "text", "text": NOT_EXECUTED if objected else "Done."}]
        return [result, *({"type": "tool_result", "tool_use_id": one, "content": brief} for one in others)]


class OpenAIAgent:
    """A model of the Responses API with a computer tool. `create` is a client's `responses.create`.

    Safety checks that the service raises are passed to `acknowledge`; without it, or where it says no, the agent ends.
    """

    def __init__(
        self,
        create: Create,
        model: str = "computer-use-preview",
        environment: str = "browser",
        tool: str = "computer_use_preview",
        acknowledge: Acknowledge | None = None,
        max_side: int = MAX_SIDE,
        **settings: Any,
    ) -> None:
        self._create, self._model, self._environment, self._tool = create, model, environment, tool
        self._acknowledge, self._max_side, self._settings = acknowledge, max_side, settings
        self._calls: list[Mapping[str, Any]] = []
        self._previous: str | None = None
        self._seen: Observation | None = None

    def __call__(self, observation: Observation, text: str) -> Proposal:
        """What the model proposes on this screen. The same observation again means that the guard objected."""
        if observation.step == 0 and observation is not self._seen:
            self._calls, self._previous = [], None
        checks = [check for call in self._calls for check in call.get("pending_safety_checks") or ()]
        if checks and (self._acknowledge is None or not self._acknowledge(checks)):
            self._calls = []
            stop = Action(Kind.TERMINATE, text="a safety check was not acknowledged", success=False)
            return Proposal((stop,), "stop, since a safety check was not acknowledged")
        picture, seen = encoded(observation.image, self._max_side)
        tool: Block = {"type": self._tool}
        if self._tool == "computer_use_preview":
            tool |= {"display_width": seen[0], "display_height": seen[1], "environment": self._environment}
        asked: Block = {"truncation": "auto", **self._settings}
        asked["tools"] = [tool, *self._settings.get("tools", ())]
        if self._previous is not None:
            asked["previous_response_id"] = self._previous
        said = self._said(observation, text, f"data:image/png;base64,{picture}")
        reply = plain(self._create(model=self._model, input=said, **asked))
        self._seen, self._previous = observation, reply["id"]
        self._calls = [item for item in reply["output"] if item.get("type") == "computer_call"]
        return read(reply["output"], Form.OPENAI, Scale.PIXELS, observation.size, seen=seen)

    def _said(self, observation: Observation, text: str, url: str) -> list[Block]:
        if not self._calls:
            words = joined(observation.goal, text) if self._previous is None else text or "Go on."
            image = {"type": "input_image", "image_url": url, "detail": "auto"}
            return [{"role": "user", "content": [{"type": "input_text", "text": words}, image]}]
        items: list[Block] = []
        for call in self._calls:
            output: Block = {"type": "computer_call_output", "call_id": call["call_id"]}
            output["output"] = {"type": "computer_screenshot", "image_url": url}
            if call.get("pending_safety_checks"):
                output["acknowledged_safety_checks"] = list(call["pending_safety_checks"])
            items.append(output)
        words = f"{NOT_EXECUTED} {text}".strip() if observation is self._seen else text
        return [*items, *([{"role": "user", "content": [{"type": "input_text", "text": words}]}] if words else [])]


def encoded(image: Pixels, max_side: int) -> tuple[str, tuple[int, int]]:
    """The picture as base64 of a PNG at most `max_side` long, and its size."""
    from PIL import Image

    picture = Image.fromarray(image)
    if max(picture.size) > max_side:
        scale = max_side / max(picture.size)
        picture = picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))))
    buffer = BytesIO()
    picture.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode(), picture.size


def plain(reply: Any) -> Mapping[str, Any]:
    """A client library's object as the JSON that it stands for."""
    dump = getattr(reply, "model_dump", None)
    found: Mapping[str, Any] = dump(exclude_none=True) if callable(dump) else reply
    return found


def _forget_pictures(messages: Sequence[Block]) -> None:
    """Words in place of all but the latest pictures of a conversation, which cost most of its tokens."""
    parts: list[list[Block]] = []
    for message in messages:
        if message["role"] == "user":
            parts += [
                message["content"],
                *(one["content"] for one in message["content"] if one["type"] == "tool_result"),
            ]
    pictures = [(part, i) for part in parts for i, one in enumerate(part) if one["type"] == "image"]
    for inner, i in pictures[:-PICTURES_KEPT]:
        inner[i] = {"type": "text", "text": LEFT_OUT}
