"""Episodes on the real applications: questions and short answers by files, and where the two variants part."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from benchmarks.apps.browser import BrowserStage
from benchmarks.apps.collect import start_of, walk_names
from benchmarks.apps.episode_player import AGENT, OVER, answer, call_of, pending, proposal_of, question
from benchmarks.apps.episode_truth import Task
from benchmarks.apps.episode_watch import Judged, Watch
from benchmarks.apps.episodes import Outcome, State, episode
from benchmarks.apps.install import by_name
from benchmarks.apps.walk import Seen
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.lm.files import FileModel
from foretell.lm.model import Reply, Usage
from tests.gui.test_apps import SIZE, walk

BLANK = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)


class Page:
    """A page on which nothing moves; keeps what was performed since it was reset."""

    def __init__(self) -> None:
        self.performed: list[Action] = []

    def reset(self, path: str) -> None:
        self.performed = []

    def see(self) -> Seen:
        one = walk()[0]
        return Seen(one.elements, one.grid, one.step, one.scroll, one.dialog, one.text)

    def pixels(self) -> Pixels:
        return BLANK

    def perform(self, action: Action) -> None:
        self.performed.append(action)


class Objecting:
    """A guard that objects to some proposals, once each."""

    def __init__(self, objects: Callable[[Proposal], bool]) -> None:
        self.objects, self.objected = objects, 0

    def before_action(self, observation: Observation) -> str:
        return "what was achieved"

    def judge(self, observation: Observation, proposal: Proposal, stage: object) -> Judged:
        stops = not self.objected and self.objects(proposal)
        self.objected += stops
        return Judged(stops, "look again" if stops else "", 0.9 if stops else 0.1, False)

    def executed(self, observation: Observation, proposal: Proposal) -> None:
        pass


def task() -> Task:
    (trac,) = by_name(["trac"])
    return Task(trac, "1280-light", "Open Orders and set the Title to Plums", "/", SIZE, "light", tuple(walk()[:3]))


def played(page: Page, guard: Objecting | None, state: State, answers: list[str]) -> tuple[State | None, list[str]]:
    """Play an episode with short answers; the state of the other variant, and the questions that were asked."""
    game = episode(task(), cast(BrowserStage, page), cast(Watch | None, guard), state)
    asked = [next(game).messages[1].content]
    for one in answers:
        reply = Reply(call_of("do it", one), Usage(0, 0))
        try:
            asked.append(game.send(reply).messages[1].content)
        except StopIteration as end:
            return end.value, asked
    raise AssertionError("the episode goes on")


def begun(rate: float = 0.0) -> State:
    return State(list(task().plan), Outcome("trac", "1280-light", True, rate, False))


RIGHT = ["click 95 55", "click 95 295", "type Plums", "done"]


def test_nothing_parts_the_variants_while_the_guard_is_quiet() -> None:
    state = begun()
    other, asked = played(Page(), Objecting(lambda proposal: False), state, RIGHT)
    assert other is None
    assert state.outcome.solved
    assert (state.outcome.right, state.outcome.steps, state.outcome.wrong_done) == (4, 4, 0)
    assert not any("what was achieved" in one for one in asked)
    assert "do it; do it" in asked[2]


def test_the_variants_part_at_the_first_objection() -> None:
    state, page = begun(), Page()
    stray = ["click 95 55", "click 300 55"]
    guard = Objecting(lambda proposal: proposal.actions[0].point == Point(300, 55))
    other, asked = played(page, guard, state, [*stray, *RIGHT[1:]])
    assert state.outcome.solved
    assert (state.outcome.other, state.outcome.other_stopped, state.outcome.wrong_done) == (1, 1, 0)
    assert "look again" in asked[2]
    assert "what was achieved" in asked[3]
    assert len(page.performed) == 4
    assert other is not None
    assert state.outcome.parted == 1
    assert [one.actions[0].point for one in other.executed] == [Point(95, 55), Point(300, 55)]
    _, asked = played(page, None, other, RIGHT[1:])
    assert other.outcome.wrong_done == 1
    assert other.outcome.solved
    assert page.performed[1].point == Point(300, 55)
    assert not any("look again" in one for one in asked)


def test_mistakes_are_injected_at_the_rate_and_counted() -> None:
    state = begun(rate=1.0)
    guard = Objecting(lambda proposal: proposal.actions[0].point != Point(95, 55))
    played(Page(), guard, state, ["click 95 55"] * (task().most_steps + 1))
    outcome = state.outcome
    assert not outcome.solved
    assert outcome.caught == 1
    assert outcome.slips == outcome.wrong_done + 1
    assert {entry["slip"] for entry in outcome.log} == {"beside", "another element"}


def test_questions_are_answered_by_files_in_a_short_form(tmp_path: Path) -> None:
    model = FileModel(tmp_path / AGENT, pictures=True)
    large = Observation("Open Orders", np.zeros((1080, 1920, 3), np.uint8), 0)
    request = question("Open Orders", large, ["click Orders"], "", 1)
    assert "1280 x 720" in request.messages[1].content
    model.ask([request])
    text = pending(tmp_path, 0.0)
    name = request.id[:8]
    assert f"=== {name}" in text
    assert Path(text.partition("picture: ")[2].strip()).is_file()
    faults = answer(tmp_path, [f"{name} | no action | press it", "zzz | a | done", f"{name} | open it | click 640 360"])
    assert len(faults) == 2
    (reply,) = model.ask([request])
    assert isinstance(reply, Reply)
    proposal = proposal_of(reply, large)
    assert proposal.actions == (Action(Kind.CLICK, Point(960, 540)),)
    assert proposal.intent == "open it"
    assert pending(tmp_path, 0.0) == "no question yet: ask again"
    (tmp_path / OVER).touch()
    assert pending(tmp_path, 0.0).startswith("over")


@pytest.mark.parametrize(
    ("short", "arguments"),
    [
        ("type a | b", {"action": "type", "text": "a | b"}),
        ("key ctrl+a", {"action": "key", "keys": ["ctrl", "a"]}),
        ("scroll down", {"action": "scroll", "pixels": -500}),
        ("fail", {"action": "terminate", "status": "failure"}),
    ],
)
def test_short_answers_are_calls(short: str, arguments: dict[str, Any]) -> None:
    assert json.loads(call_of("it", short).splitlines()[2])["arguments"] == arguments


def test_walks_of_another_round_start_elsewhere() -> None:
    (django,) = by_name(["django_admin"])
    first, second = walk_names(django), walk_names(django, 2)
    assert not set(first) & set(second)
    assert [start for *_, start in first.values()][1:] == [start for *_, start in second.values()][:2]
    for name, (_, _, path) in (first | second).items():
        assert start_of(django, name) == path
