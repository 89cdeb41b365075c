from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.loop import (
    MOST_REVISIONS,
    UNREADABLE_STEPS,
    AsyncGuardedScreen,
    GuardedScreen,
    StepOutcome,
    guarded_step,
    guarded_step_async,
    joined,
)
from foretell.gui.adapters.rest import LOOK_EVERY_S, QUIET_S, SETTLE_S, Rest
from foretell.gui.adapters.screen import Fault, ScreenError, checked, decode
from foretell.gui.claims import LOADING
from foretell.gui.guard import Guard
from foretell.gui.history import Historian, History
from foretell.gui.judgement import ErrorClass, Judgement
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.parse import Form, read
from foretell.gui.trace import TraceWriter
from foretell.gui.verdict import Mode
from tests.gui.adapter_fakes import NotingGuard, NotingScreen, awaited, png
from tests.gui.screens import FakeCritic

CLICK = Action(Kind.CLICK, Point(5, 6))
OTHER = Action(Kind.CLICK, Point(9, 9))
END = Action(Kind.TERMINATE, success=True)


class Agent:
    """Proposes what it was given, one after the other, and keeps what it was told."""

    def __init__(self, *proposals: Proposal) -> None:
        self.told: list[str] = []
        self._left = list(proposals)

    def __call__(self, observation: Observation, text: str) -> Proposal:
        self.told.append(text)
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


class AsyncScreen:
    platform = NotingScreen.platform

    def __init__(self, screen: NotingScreen) -> None:
        self.screen = screen

    async def observe(self) -> Pixels:
        return self.screen.observe()

    async def perform(self, action: Action) -> None:
        await asyncio.sleep(0)
        self.screen.perform(action)


def both(guard: NotingGuard, agent: Agent, screen: NotingScreen, wait: bool) -> StepOutcome:
    if not wait:
        return guarded_step(guard, agent, screen, "Click it", 3)

    async def propose(observation: Observation, text: str) -> Proposal:
        return agent(observation, text)

    return awaited(guarded_step_async(guard, propose, AsyncScreen(screen), "Click it", 3))


either = pytest.mark.parametrize("wait", [False, True])


@either
def test_a_quiet_step(wait: bool) -> None:
    guard, agent, screen = NotingGuard(), Agent(Proposal((CLICK, OTHER))), NotingScreen()
    outcome = both(guard, agent, screen, wait)
    assert guard.names() == ["before", "judge", "executed"]
    assert screen.done == [CLICK, OTHER]
    assert agent.told == ["achieved: nothing"]
    assert outcome.observation.goal == "Click it"
    assert outcome.observation.step == 3
    assert outcome.performed
    assert not outcome.interrupted
    assert not outcome.finished


@either
def test_an_objection_leads_to_one_revision(wait: bool) -> None:
    guard, agent, screen = NotingGuard(1), Agent(Proposal((CLICK,)), Proposal((OTHER,))), NotingScreen()
    outcome = both(guard, agent, screen, wait)
    assert guard.names() == ["before", "judge", "judge", "executed"]
    assert agent.told == ["achieved: nothing", "achieved: nothing\n\nbeside the button"]
    assert screen.done == [OTHER]
    assert guard.last("executed") == Proposal((OTHER,))
    assert [p.actions for p in outcome.proposals] == [(CLICK,), (OTHER,)]
    assert outcome.interrupted


@either
def test_a_guard_that_never_gives_in_stops_the_step_and_nothing_else(wait: bool) -> None:
    guard, agent, screen = NotingGuard(10**6), Agent(Proposal((CLICK,))), NotingScreen()
    outcome = both(guard, agent, screen, wait)
    assert screen.done == []
    assert not outcome.performed
    assert len(outcome.proposals) == MOST_REVISIONS + 1
    assert guard.last("executed").actions == ()


@either
def test_what_fails_half_way_is_told_to_the_guard(wait: bool) -> None:
    guard, screen = NotingGuard(), NotingScreen(broken=OTHER)
    with pytest.raises(ScreenError, match="it broke"):
        both(guard, Agent(Proposal((CLICK, OTHER, CLICK))), screen, wait)
    assert guard.last("executed").actions == (CLICK,)


def test_an_agent_that_fails_is_not_hidden() -> None:
    def propose(observation: Observation, text: str) -> Proposal:
        raise KeyError("agent")

    with pytest.raises(KeyError, match="agent"):
        guarded_step(NotingGuard(), propose, NotingScreen(), "goal")


def test_a_proposal_that_could_not_be_read_performs_nothing() -> None:
    guard, screen = NotingGuard(), NotingScreen()
    outcome = guarded_step(guard, Agent(Proposal((), raw="clck", fault="no call")), screen, "goal")
    assert screen.done == []
    assert outcome.proposal.fault == "no call"


def test_an_episode_ends_with_its_termination() -> None:
    guard, screen = NotingGuard(), NotingScreen()
    told = Action(Kind.ANSWER, text="42")
    outcomes = GuardedScreen(screen, guard, "goal").run(Agent(Proposal((CLICK,)), Proposal((told, END))))
    assert [o.finished for o in outcomes] == [False, True]
    assert outcomes[-1].answer == "42"
    assert [o.observation.step for o in outcomes] == [0, 1]
    assert guard.names()[0] == "reset"
    assert guard.last("finished") == (40, 60, 3)
    assert len(GuardedScreen(screen, guard, "goal").run(Agent(Proposal((CLICK,))), most_steps=3)) == 3

    class Over(NotingScreen):
        over = True

    assert GuardedScreen(Over(), guard, "goal").run(Agent(Proposal((CLICK,)))) == []


OPENAI = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "I am done."}]}]}
ANTHROPIC = {"role": "assistant", "content": [{"type": "text", "text": "I am done."}]}
CALLED = {"output": [{"type": "function_call", "name": "answer", "arguments": '{"text": "I am done."}'}]}
QWEN = '{"name": "computer_use", "arguments": {"action": "answer", "text": "I am done."}}'


@pytest.mark.parametrize(("said", "form"), [(OPENAI, Form.OPENAI), (ANTHROPIC, Form.ANTHROPIC)])
def test_a_closing_message_ends_an_episode(said: object, form: Form) -> None:
    (outcome,) = GuardedScreen(NotingScreen(), NotingGuard(), "goal").run(Agent(read(said, form)), most_steps=5)
    assert outcome.finished
    assert outcome.answer == "I am done."
    stopped = GuardedScreen(NotingScreen(), NotingGuard(10**6), "goal").step(Agent(read(said, form)))
    assert not stopped.finished


@pytest.mark.parametrize(("said", "form"), [(CALLED, Form.OPENAI), (QWEN, Form.QWEN)])
def test_a_called_answer_may_be_followed_by_a_termination(said: object, form: Form) -> None:
    agent = Agent(read(said, form), Proposal((END,)))
    outcomes = GuardedScreen(NotingScreen(), NotingGuard(), "goal").run(agent, most_steps=5)
    assert [(o.answer, o.finished) for o in outcomes] == [("I am done.", False), (None, True)]


def test_an_agent_that_only_talks_is_not_asked_for_ever() -> None:
    talk = read("I have finished the task.", Form.QWEN)
    assert talk.fault
    outcomes = GuardedScreen(NotingScreen(), NotingGuard(), "goal").run(Agent(talk), most_steps=9)
    assert len(outcomes) == UNREADABLE_STEPS
    assert not any(outcome.finished for outcome in outcomes)
    again = [talk, talk, Proposal((CLICK,)), talk, talk, Proposal((END,))]
    assert len(GuardedScreen(NotingScreen(), NotingGuard(), "goal").run(Agent(*again), most_steps=9)) == len(again)


class SlowScreen(NotingScreen):
    """After an action it shows `shown`, one picture a look, and stays at the last."""

    def __init__(self, *shown: int, settle_s: float = 5.0) -> None:
        super().__init__()
        self.settle_s, self.looks = settle_s, 0
        self._shown = list(shown)

    def observe(self) -> Pixels:
        self.looks += 1
        if self.done and len(self._shown) > 1:
            self._shown.pop(0)
        return np.full((40, 60, 3), self._shown[0], np.uint8)


def levels(screen: SlowScreen, wait: bool, first: Proposal) -> list[int]:
    """What an agent is shown that proposes `first`, then the end."""
    agent = Agent(first, Proposal((END,)))
    if wait:
        outcomes = awaited(AsyncGuardedScreen(SettlingAsyncScreen(screen), NotingGuard(), "goal").run(agent))
    else:
        outcomes = GuardedScreen(screen, NotingGuard(), "goal").run(agent)
    return [int(o.observation.image[0, 0, 0]) for o in outcomes]


class SettlingAsyncScreen(AsyncScreen):
    def __init__(self, screen: SlowScreen) -> None:
        super().__init__(screen)
        self.settle_s = screen.settle_s


@either
def test_the_look_after_an_action_waits_for_its_result(wait: bool) -> None:
    assert levels(SlowScreen(0, 1, 1, 2), wait, Proposal((CLICK,))) == [0, 2]
    at_once = SlowScreen(0, 1, 1, 2, settle_s=0.0)
    assert levels(at_once, wait, Proposal((CLICK,))) == [0, 1]
    assert at_once.looks == 3


@either
def test_what_does_nothing_to_the_screen_is_not_waited_for(wait: bool) -> None:
    for quiet in (Action(Kind.WAIT, seconds=0.0), Action(Kind.ANSWER, text="42")):
        screen = SlowScreen(0, 1, 2, 3)
        levels(screen, wait, Proposal((quiet,)))
        assert screen.looks == 3


def test_when_a_screen_has_come_to_rest() -> None:
    def waited_s(*levels: int) -> float:
        """Over looks of which each takes no time."""
        now_s = [0.0]
        rest = Rest(np.zeros((4, 4, 3), np.uint8), SETTLE_S, clock=lambda: now_s[0])
        for level in (*levels, *[levels[-1]] * 100):
            if rest.enough(np.full((4, 4, 3), level, np.uint8)):
                break
            now_s[0] += LOOK_EVERY_S
        return now_s[0]

    assert QUIET_S <= waited_s(1) < QUIET_S + LOOK_EVERY_S
    assert waited_s(1, 1, 2) == pytest.approx(waited_s(1) + 2 * LOOK_EVERY_S)
    assert SETTLE_S - LOOK_EVERY_S <= waited_s(0) <= SETTLE_S  # its effect may be yet to come
    assert waited_s(*range(1, 50)) == waited_s(0)  # never at rest
    assert waited_s(0, 0, 0, 0, 1) <= SETTLE_S


@either
def test_what_a_proposal_calls_secret_is_in_no_trace(tmp_path: Path, wait: bool) -> None:
    def guard(name: str) -> Guard:
        return Guard(Doubting(), trace=TraceWriter(tmp_path / name))

    for name, secret in (("open", False), ("hidden", True)):
        agent = Agent(Proposal((Action(Kind.TYPE, text="hunter2"),), "fill the field", secret=secret), Proposal((END,)))
        if wait:
            awaited(AsyncGuardedScreen(AsyncScreen(NotingScreen()), guard(name), "Fill it").run(agent))
        else:
            GuardedScreen(NotingScreen(), guard(name), "Fill it").run(agent)
        (lines,) = (tmp_path / name).glob("*.jsonl")
        assert ("hunter2" in lines.read_text("utf-8")) is not secret


def test_an_awaited_episode_keeps_the_guard_off_the_event_loop() -> None:
    threads: list[int] = []

    class Thinking(NotingGuard):
        def after_proposal(self, observation: Observation, proposal: Proposal) -> Any:
            threads.append(threading.get_ident())
            return super().after_proposal(observation, proposal)

    loops: list[int] = []

    async def episode() -> list[StepOutcome]:
        loops.append(threading.get_ident())
        screen = AsyncGuardedScreen(AsyncScreen(NotingScreen()), Thinking(), "goal")
        return await screen.run(Agent(Proposal((CLICK,)), Proposal((END,))))

    assert [o.finished for o in awaited(episode())] == [False, True]
    assert loops[0] not in threads


class Doubting:
    name = "doubting"

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        return Judgement(0.9 if CLICK in proposal.actions else 0.1, ErrorClass.GROUNDING, "The point is beside it.")


@pytest.mark.parametrize(
    ("mode", "done", "told"),
    [(Mode.ENFORCE, [OTHER], True), (Mode.ADVISE, [CLICK], False), (Mode.SHADOW, [CLICK], False)],
)
def test_the_guard_itself_in_its_modes(mode: Mode, done: list[Action], told: bool) -> None:
    agent, screen = Agent(Proposal((CLICK,)), Proposal((OTHER,))), NotingScreen()
    guarded = GuardedScreen(screen, Guard(Doubting(), mode=mode), "goal")
    guarded.step(agent)
    assert screen.done == done
    assert any("The point is beside it." in text for text in agent.told) is told
    guarded.step(agent)
    assert any("The point is beside it." in text for text in agent.told) is (mode is not Mode.SHADOW)


def test_a_stubborn_agent_is_asked_once() -> None:
    screen = NotingScreen()
    outcome = GuardedScreen(screen, Guard(Doubting()), "goal").step(Agent(Proposal((CLICK,))))
    assert len(outcome.proposals) == 2
    assert screen.done == [CLICK]


@pytest.mark.parametrize(
    ("action", "word"),
    [
        (Action(Kind.CLICK), "point"),
        (Action(Kind.CLICK, Point(60, 5)), "not on the screen"),
        (Action(Kind.CLICK, Point(-1, 5)), "not on the screen"),
        (Action(Kind.CLICK, Point(float("nan"), 5)), "not on the screen"),
        (Action(Kind.DRAG, Point(1, 1)), "ends"),
        (Action(Kind.DRAG, Point(1, 1), Point(1, 99)), "not on the screen"),
        (Action(Kind.TYPE), "text"),
        (Action(Kind.TYPE, text="a\0b"), "characters"),
        (Action(Kind.TYPE, text="\ud800"), "characters"),
        (Action(Kind.KEY), "key"),
        (Action(Kind.SCROLL), "distance"),
        (Action(Kind.SCROLL, dy=1e9), "distance"),
        (Action(Kind.SCROLL, dx=float("nan"), dy=5.0), "distance"),
        (Action(Kind.WAIT, seconds=1e6), "seconds"),
        (Action(Kind.WAIT, seconds=float("nan")), "seconds"),
        (Action(Kind.HOME), "web"),
    ],
)
def test_bad_actions_are_told(action: Action, word: str) -> None:
    with pytest.raises(ScreenError, match=word) as error:
        checked(action, "web", (60, 40))
    assert error.value.fault is Fault.BAD_ACTION


def test_pictures_are_decoded_or_told() -> None:
    assert decode(png(7, 5, (9, 8, 7))).tolist() == np.full((5, 7, 3), (9, 8, 7)).tolist()
    for broken in (b"", b"no picture", png()[:60]):
        with pytest.raises(ScreenError) as error:
            decode(broken)
        assert error.value.fault is Fault.NO_PICTURE


def test_texts_are_joined() -> None:
    assert joined("a", "b") == "a\n\nb"
    assert joined("", "b") == "b"
    assert joined("a", "") == "a"


def test_importing_adapters_imports_nothing_heavy() -> None:
    modules = "loop playwright x11 adb translate"
    code = "import sys\n" + "".join(f"import foretell.gui.adapters.{name}\n" for name in modules.split())
    heavy = ["playwright", "PIL", "onnxruntime", "cv2", "gymnasium", "foretell.kernels"]
    code += f"print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def _looks(rest: Rest, now_s: list[float], image: Pixels, seconds: float, loading: bool = False) -> bool:
    """Whether a screen that stays as it is is enough within some seconds."""
    until_s = now_s[0] + seconds
    while now_s[0] < until_s:
        if rest.enough(image, loading):
            return True
        now_s[0] += 0.05
    return False


def test_the_shade_under_the_pointer_does_not_end_the_wait() -> None:
    before = np.full((300, 400, 3), 255, np.uint8)
    shaded = before.copy()
    shaded[140:160, 180:260] = 230
    now_s = [0.0]
    assert not _looks(Rest(before, 3.0, lambda: now_s[0], Point(200, 150)), now_s, shaded, 1.0)
    strong = shaded.copy()
    strong[145:150, 190:200] = 0
    assert _looks(Rest(before, 3.0, lambda: now_s[0], Point(200, 150)), now_s, strong, 1.0)
    elsewhere = shaded.copy()
    elsewhere[10:20, 10:20] = 230
    assert _looks(Rest(before, 3.0, lambda: now_s[0], Point(200, 150)), now_s, elsewhere, 1.0)


def test_a_page_that_is_being_loaded_is_waited_for_and_not_settled() -> None:
    before, after = (np.full((30, 40, 3), level, np.uint8) for level in (255, 0))
    now_s = [0.0]
    rest = Rest(before, 0.8, lambda: now_s[0])
    assert (_looks(rest, now_s, after, 3.0, loading=True), rest.settled) == (False, False)
    assert (_looks(rest, now_s, after, 1.0), rest.settled) == (True, True)
    assert _looks(Rest(before, 0.8, lambda: now_s[0]), now_s, after, 9.0, loading=True)  # not for ever


def test_a_screen_that_never_rests_is_told_to_the_guard_as_unsettled() -> None:
    now_s = [0.0]
    rest = Rest(np.zeros((20, 20, 3), np.uint8), 0.8, lambda: now_s[0])
    for level in range(40, 240, 20):
        if rest.enough(np.full((20, 20, 3), level, np.uint8)):
            break
        now_s[0] += 0.08
    assert not rest.settled
    guard = Guard(FakeCritic(0.0), Historian())
    first, click = Observation("g", np.full((99, 99, 3), 255, np.uint8)), Proposal((Action(Kind.CLICK, Point(5, 5)),))
    guard.after_proposal(first, click)
    guard.executed(click)
    after = np.full((99, 99, 3), 255, np.uint8)
    after[40:60, 40:60] = 0
    assert LOADING in guard.before_action(Observation("g", after, 1, settled=False))
