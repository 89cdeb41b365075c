"""Fakes of the services behind computer-use agents, which hold their callers to the real protocols."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from io import BytesIO
from types import SimpleNamespace
from typing import Any

from PIL import Image


def picture_size(data: str) -> tuple[int, int]:
    with Image.open(BytesIO(base64.b64decode(data, validate=True))) as picture:
        assert picture.format == "PNG"
        return picture.size


class FakeAnthropic:
    """`beta.messages.create`: answers in order, and refuses what the Messages API refuses."""

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self._answers = list(answers)
        self.requests: list[dict[str, Any]] = []

    def create(self, *, model: str, messages: Sequence[Mapping[str, Any]], betas: list[str], **rest: Any) -> Any:
        assert model and betas == ["computer-use-2025-01-24"] and rest["max_tokens"] > 0
        tool = rest["tools"][0]
        assert tool["type"] == "computer_20250124" and tool["name"] == "computer"
        self._check(messages, (tool["display_width_px"], tool["display_height_px"]))
        self.requests.append({"messages": [dict(one) for one in messages], **rest})
        content = self._answers[len(self.requests) - 1]
        calls = any(block["type"] == "tool_use" for block in content)
        reply = {"role": "assistant", "content": content, "stop_reason": "tool_use" if calls else "end_turn"}
        return SimpleNamespace(model_dump=lambda exclude_none=False: reply)

    def _check(self, messages: Sequence[Mapping[str, Any]], size: tuple[int, int]) -> None:
        assert messages[0]["role"] == "user"
        assert [one["role"] for one in messages] == [("user", "assistant")[i % 2] for i in range(len(messages))]
        open_calls: list[str] = []
        for message in messages:
            blocks = message["content"]
            if message["role"] == "assistant":
                open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
                continue
            results = [block for block in blocks if block["type"] == "tool_result"]
            assert [block["tool_use_id"] for block in results] == open_calls, "every tool_use needs its tool_result"
            assert blocks[: len(results)] == results, "tool results come first"
            for block in results:
                if block.get("is_error"):
                    assert all(one["type"] == "text" for one in block["content"]), "errors hold text only"
            inner = [*blocks, *(one for block in results for one in block["content"])]
            for one in inner:
                if one["type"] == "image":
                    assert one["source"]["type"] == "base64" and picture_size(one["source"]["data"]) == size
                elif one["type"] == "text":
                    assert one["text"].strip(), "text blocks must not be empty"


class FakeOpenAI:
    """`responses.create` with the computer-use tool: keeps responses by id, and refuses what the API refuses."""

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self._answers = list(answers)
        self.requests: list[dict[str, Any]] = []

    def create(self, *, model: str, input: list[dict[str, Any]], truncation: str, **rest: Any) -> Any:
        assert truncation == "auto", "the computer-use tool requires truncation auto"
        (tool,) = rest["tools"]
        assert tool["type"] == "computer_use_preview" and tool["environment"] in ("browser", "mac", "windows", "ubuntu")
        number = len(self.requests)
        assert rest.get("previous_response_id") == (f"resp_{number - 1}" if number else None)
        before = self._answers[number - 1] if number else []
        calls = {item["call_id"]: item for item in before if item["type"] == "computer_call"}
        outputs = [item for item in input if item.get("type") == "computer_call_output"]
        assert [item["call_id"] for item in outputs] == list(calls), "every computer_call needs its output"
        for item in outputs:
            assert item["output"]["type"] == "computer_screenshot"
            head, _, data = item["output"]["image_url"].partition(",")
            assert head == "data:image/png;base64"
            assert picture_size(data) == (tool["display_width"], tool["display_height"])
            pending = calls[item["call_id"]].get("pending_safety_checks") or []
            assert item.get("acknowledged_safety_checks", []) == pending, "safety checks must be acknowledged"
        for item in input:
            if item.get("role") == "user":
                assert all(part["type"] in ("input_text", "input_image") for part in item["content"])
        self.requests.append({"input": input, **rest})
        reply = {"id": f"resp_{number}", "output": self._answers[number]}
        return SimpleNamespace(model_dump=lambda exclude_none=False: reply)


def clicks(number: int, x: int, y: int, text: str = "") -> list[dict[str, Any]]:
    """An answer of Claude's that clicks."""
    said = [{"type": "text", "text": text}] if text else []
    call = {"action": "left_click", "coordinate": [x, y]}
    return [*said, {"type": "tool_use", "id": f"toolu_{number}", "name": "computer", "input": call}]


def computer_call(number: int, checks: Sequence[Mapping[str, Any]] = (), **action: Any) -> list[dict[str, Any]]:
    """An answer of OpenAI's that acts."""
    reasoning = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
    call = {"type": "computer_call", "id": f"cu_{number}", "call_id": f"call_{number}", "action": action}
    return [reasoning, call | {"pending_safety_checks": list(checks), "status": "completed"}]
