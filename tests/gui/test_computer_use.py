"""Ready agents for computer-use services, against fakes of the real protocols; the hook of browser-use; elements."""

from __future__ import annotations

import base64
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from foretell.gui.actions import Action, Kind, Platform, Point
from foretell.gui.adapters.browser_use import BrowserUseHook, Objection, proposal_of
from foretell.gui.adapters.computer_use import LEFT_OUT, NOT_EXECUTED, PICTURES_KEPT, AnthropicAgent, OpenAIAgent
from foretell.gui.adapters.loop import GuardedScreen
from foretell.gui.adapters.translate import BrowserGymTranslator
from foretell.gui.guard import Guard
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.verdict import Mode
from tests.gui.adapter_fakes import awaited
from tests.gui.screens import FakeCritic
from tests.gui.service_fakes import FakeAnthropic, FakeOpenAI, clicks, computer_call

GOAL = "Open the settings"
DONE = [{"type": "text", "text": "The settings are open."}]


class FakeScreen:
    """A screen larger than what the services are shown, which changes with every action."""

    platform: Platform = "web"

    def __init__(self, width: int = 2560, height: int = 1600) -> None:
        self.performed: list[Action] = []
        self._size = (height, width, 3)

    def observe(self) -> Pixels:
        image = np.full(self._size, 255, np.uint8)
        image[: 40 * (1 + len(self.performed)), :40] = 0
        return image

    def perform(self, action: Action) -> None:
        self.performed.append(action)


def run(agent: Any, *answers: float, screen: FakeScreen | None = None) -> FakeScreen:
    screen = screen or FakeScreen()
    guard = Guard(FakeCritic(*answers), threshold=0.5, mode=Mode.ENFORCE)
    outcomes = GuardedScreen(screen, guard, GOAL).run(agent, most_steps=9)
    assert outcomes[-1].finished
    return screen


def test_claude_is_guarded_and_its_points_are_brought_to_scale() -> None:
    service = FakeAnthropic(clicks(1, 100, 50, "I click Settings."), clicks(2, 10, 20), DONE)
    screen = run(AnthropicAgent(service.create, "claude"), 0.0)
    assert [action.point for action in screen.performed[:2]] == [Point(200, 100), Point(20, 40)]
    first = service.requests[0]["messages"][0]["content"]
    assert first[0]["type"] == "image" and first[1]["text"].startswith(GOAL)


def test_claude_is_told_what_the_guard_objects_to() -> None:
    service = FakeAnthropic(clicks(1, 100, 50), clicks(2, 300, 60), DONE)
    screen = run(AnthropicAgent(service.create, "claude"), 0.9, 0.0)
    assert [action.point for action in screen.performed if action.point] == [Point(600, 120)]
    (result,) = service.requests[1]["messages"][2]["content"]
    assert result["is_error"] and NOT_EXECUTED in result["content"][0]["text"]
    assert "has not been executed" in result["content"][0]["text"]


def test_several_calls_of_claude_are_all_answered() -> None:
    both = [*clicks(1, 1, 2), *clicks(2, 3, 4)]
    screen = run(AnthropicAgent(FakeAnthropic(both, DONE).create, "claude"), 0.0)
    assert len([action for action in screen.performed if action.kind is Kind.CLICK]) == 2


def test_old_pictures_leave_the_conversation() -> None:
    steps = [clicks(i, i, i) for i in range(1, 8)]
    service = FakeAnthropic(*steps, DONE)
    run(AnthropicAgent(service.create, "claude", system="Be brief."), 0.0)
    sent = str(service.requests[-1]["messages"])
    assert sent.count("'type': 'image'") == PICTURES_KEPT and sent.count(LEFT_OUT) == 8 - PICTURES_KEPT
    assert service.requests[0]["system"] == "Be brief."


def test_a_second_episode_begins_anew() -> None:
    service = FakeAnthropic(clicks(1, 1, 1), DONE, clicks(1, 1, 1), DONE)
    agent = AnthropicAgent(service.create, "claude")
    run(agent, 0.0)
    run(agent, 0.0)
    assert len(service.requests[2]["messages"]) == 1


def test_openai_is_guarded() -> None:
    message = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}]
    service = FakeOpenAI(
        computer_call(0, type="click", x=100, y=50, button="left"),
        computer_call(1, type="click", x=300, y=60, button="left"),
        computer_call(2, type="keypress", keys=["ENTER"]),
        message,
    )
    screen = run(OpenAIAgent(service.create), 0.9, 0.0)
    assert [one.kind for one in screen.performed[:2]] == [Kind.CLICK, Kind.KEY]
    assert screen.performed[0].point == Point(600, 120)
    told = service.requests[1]["input"][-1]["content"][0]["text"]
    assert told.startswith(NOT_EXECUTED) and "since it is doubted" in told


def test_safety_checks_are_acknowledged_by_someone_or_end_the_episode() -> None:
    checks = [{"id": "sc_1", "code": "malicious_instructions", "message": "Look out."}]
    answers = (computer_call(0, checks, type="wait"), [{"type": "message", "role": "assistant", "content": DONE}])
    asked: list[Any] = []

    def acknowledge(checks: Any) -> bool:
        asked.append(checks)
        return True

    run(OpenAIAgent(FakeOpenAI(*answers).create, acknowledge=acknowledge), 0.0)
    assert asked == [checks]
    service = FakeOpenAI(*answers)
    screen = run(OpenAIAgent(service.create), 0.0)
    assert len(service.requests) == 1 and screen.performed[-1].success is False


def shown(image: Pixels | None) -> Any:
    """A state of browser-use's: a link with the index 5, on a page scrolled by 100 pixels, at a scale of 2."""
    buffer = BytesIO()
    if image is not None:
        Image.fromarray(image).save(buffer, "PNG")
    box = SimpleNamespace(x=40.0, y=160.0, width=20.0, height=10.0)
    return SimpleNamespace(
        screenshot=base64.b64encode(buffer.getvalue()).decode(),
        dom_state=SimpleNamespace(selector_map={5: SimpleNamespace(absolute_position=box)}),
        page_info=SimpleNamespace(viewport_width=240, scroll_x=0, scroll_y=100),
    )


def output(*actions: dict[str, Any], goal: str = "Click the link") -> Any:
    models = [SimpleNamespace(model_dump=lambda exclude_unset=True, data=data: data) for data in actions]
    return SimpleNamespace(action=models, next_goal=goal)


IMAGE = np.full((360, 480, 3), 255, np.uint8)


def test_elements_of_browser_use_become_points() -> None:
    found = proposal_of(
        output({"click": {"index": 5}}, {"input": {"index": 5, "text": "hi"}}), shown(IMAGE), (480, 360)
    )
    assert found is not None and found.intent == "Click the link"
    assert found.actions == (Action(Kind.CLICK, Point(100, 130)), Action(Kind.TYPE, Point(100, 130), text="hi"))
    assert proposal_of(output({"click_element_by_index": {"index": 9}}), shown(IMAGE), (480, 360)) is None
    rest = output(
        {"done": {"text": "ok", "success": True}}, {"send_keys": {"keys": "Control+a"}}, {"scroll": {"down": False}}
    )
    kinds = proposal_of(rest, shown(IMAGE), (480, 360))
    assert kinds is not None and [one.kind for one in kinds.actions] == [Kind.TERMINATE, Kind.KEY, Kind.SCROLL]


def test_browser_use_executes_nothing_that_the_guard_objects_to() -> None:
    guard = Guard(FakeCritic(0.9, 0.0), threshold=0.5, mode=Mode.ENFORCE)
    hook = BrowserUseHook(guard, GOAL)

    async def agent() -> list[str]:
        """browser-use's loop: an error of the callback is the step's, and nothing of it is executed."""
        done: list[str] = []
        for step in range(3):
            try:
                await hook(shown(IMAGE if step < 2 else None), output({"click": {"index": 5}}), step + 1)
            except Exception as error:
                done.append(f"error: {error}")
            else:
                done.append("executed")
        return done

    first, second, third = awaited(agent())
    assert "has not been executed" in first and (second, third) == ("executed", "executed")
    assert [one.intervene for one in hook.verdicts] == [True, False]
    assert guard.history.count <= 1


def test_an_objection_is_no_interruption_that_browser_use_would_take_for_a_pause() -> None:
    assert not issubclass(Objection, InterruptedError)


@pytest.mark.parametrize(
    ("call", "action"),
    [
        ("click('a51')", Action(Kind.CLICK, Point(30, 40))),
        ("click(bid='a51', button='right')", Action(Kind.RIGHT_CLICK, Point(30, 40))),
        ("fill('a51', 'hi')", Action(Kind.TYPE, Point(30, 40), text="hi")),
        ("hover('a51')", Action(Kind.MOVE, Point(30, 40))),
        ("drag_and_drop('a51', 'b2')", Action(Kind.DRAG, Point(30, 40), Point(5, 5))),
        ("click('nobody')", None),
        ("select_option('a51', 'x')", None),
    ],
)
def test_elements_of_browsergym_become_points(call: str, action: Action | None) -> None:
    translator = BrowserGymTranslator()
    assert translator.ours(call, (100, 100)) is None
    properties = {"a51": {"bbox": [10, 20, 40, 40]}, "b2": {"bbox": [0, 0, 10, 10]}, "c": {"bbox": None}}
    translator.look({"extra_element_properties": properties})
    assert translator.ours(call, (100, 100)) == action


def test_the_observation_is_shown_once_more_after_an_objection() -> None:
    """What the agents rely on to tell an objection from a new screen."""
    seen: list[Observation] = []

    def propose(observation: Observation, text: str) -> Proposal:
        seen.append(observation)
        return Proposal((Action(Kind.TERMINATE, success=True),))

    run(propose, 0.9, 0.0)
    assert seen[0] is seen[1]
