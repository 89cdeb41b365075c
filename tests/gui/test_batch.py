"""Proposals of several actions: every one of them is judged."""

from __future__ import annotations

import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.batch import intents, parts
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.guard import Guard
from foretell.gui.history import History
from foretell.gui.observation import Observation, Proposal
from foretell.gui.threshold import Threshold
from tests.gui.drawn import CANCEL, FIELD, GOAL, SUBMIT, form, middle
from tests.gui.screens import FakeCritic


def click(box: tuple[int, int, int, int]) -> Action:
    return Action(Kind.CLICK, Point(*middle(box)))


TYPE = Action(Kind.TYPE, text="karrie")
ENTER = Action(Kind.KEY, keys=("enter",))


def test_an_intent_is_shared_out_where_it_has_a_clause_for_each_action() -> None:
    three = (click(FIELD), TYPE, click(SUBMIT))
    assert intents(Proposal(three, "click the field, type 'karrie' and click Submit")) == [
        "click the field", "type 'karrie'", "click Submit",
    ]  # fmt: skip
    assert intents(Proposal(three, "fill in the form")) == ["fill in the form", None, None]
    assert intents(Proposal((TYPE, click(SUBMIT)), "click Submit")) == [None, "click Submit"]
    assert intents(Proposal(three)) == [None, None, None]


def test_later_actions_know_what_came_before_and_when_the_page_may_be_another() -> None:
    batch = Proposal((click(FIELD), TYPE, ENTER, click(SUBMIT)))
    found = parts(batch, History(), "screen", lambda action: True)
    assert [part.on_screen for part in found] == [True, True, True, False]
    assert [part.history.count for part in found] == [0, 1, 2, 3]
    assert not parts(batch, History(), "screen", lambda action: False)[1].on_screen


def test_the_worst_action_of_a_batch_decides_and_is_named() -> None:
    critic, seen = EmbeddedCritic(pictures=False), Observation(GOAL, form())
    says = "click the Username field, type 'karrie' and click Submit"
    right, wrong = (
        critic.judge(seen, Proposal((click(FIELD), TYPE, click(last)), says), History()) for last in (SUBMIT, CANCEL)
    )
    assert wrong.p_bad >= 0.95 and wrong.action == 2 and wrong.explanation.startswith("Action 3 of 3: ")
    assert right.p_bad < critic.model.threshold(0.02).of("step")
    stray = Proposal((click(FIELD), Action(Kind.CLICK, Point(9000, 9000))), says)
    assert critic.judge(seen, stray, History()).p_bad > 0.9


def test_a_batch_is_held_to_the_threshold_of_its_worst_action() -> None:
    class Second(FakeCritic):
        def judge(self, observation: Observation, proposal: Proposal, history: History):  # type: ignore[no-untyped-def]
            from dataclasses import replace

            return replace(super().judge(observation, proposal, history), action=1)

    limit = Threshold(0.5, 0.02, 100, {"ending": 0.95})
    batch = Proposal((click(SUBMIT), Action(Kind.TERMINATE, success=True)))
    assert not Guard(Second(0.9), threshold=limit).after_proposal(Observation(GOAL, form()), batch).intervene
    assert Guard(FakeCritic(0.9), threshold=limit).after_proposal(Observation(GOAL, form()), batch).intervene
