"""Which model judges which screen, each by a threshold of its own."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.critic_model import CriticModel, Scale
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.experts import EVIDENCE, LARGE, Experts
from foretell.gui.guard import Guard
from foretell.gui.history import History
from foretell.gui.judgement import Judgement
from foretell.gui.observation import Observation, Proposal
from foretell.gui.threshold import Threshold
from foretell.gui.verdict import Mode


def model(value: float) -> CriticModel:
    return CriticModel((), (), {}, Scale(thresholds=(Threshold(value, 0.02, 100),)))


def screen(width: int, height: int, evidence: Evidence | None = None) -> Observation:
    return Observation("g", np.full((height, width, 3), 255, np.uint8), evidence=evidence)


def test_the_size_and_the_evidence_choose() -> None:
    experts = Experts(model(0.7), model(0.8), model(0.9))
    asked = Evidence(seen=())
    assert experts.of(screen(480, 630, asked))[0] == ""
    assert experts.of(screen(1280, 720))[0] == LARGE
    assert experts.of(screen(1280, 720, Evidence()))[0] == LARGE  # nobody asked for all elements
    assert experts.of(screen(1280, 720, asked))[0] == EVIDENCE
    assert Experts(model(0.7)).of(screen(1280, 720))[0] == ""
    limit = experts.threshold(0.02)
    assert [limit.of("step", model=name) for name in ("", LARGE, EVIDENCE, "other")] == [0.7, 0.8, 0.9, 0.7]


class Says:
    name = "says"

    def __init__(self, by: str) -> None:
        self._by = by

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        return Judgement(0.75, None, "", model=self._by)


@pytest.mark.parametrize(("by", "objects"), [("", True), (LARGE, False)])
def test_a_guard_asks_the_threshold_of_the_model_that_spoke(by: str, objects: bool) -> None:
    limit = Experts(model(0.7), model(0.8)).threshold(0.02)
    guard = Guard(Says(by), threshold=limit, mode=Mode.ENFORCE)
    seen, proposal = screen(64, 48), Proposal((Action(Kind.CLICK, Point(5, 5)),), "click it")
    assert guard.after_proposal(seen, proposal).intervene is objects


def test_the_shipped_critic_names_the_model_that_spoke() -> None:
    critic = EmbeddedCritic(pictures=False)
    proposal = Proposal((Action(Kind.CLICK, Point(300, 300)),), "click Send")
    asked = Evidence({Point(300, 300): ElementAt("Send", "button")}, None, (ElementAt("Send", "button"),))
    found = [
        critic.judge(one, proposal, History()).model
        for one in (screen(400, 400), screen(1024, 768), screen(1024, 768, asked))
    ]
    assert found == ["", LARGE, EVIDENCE]
    assert all(0.0 < critic.threshold(0.02).of("step", model=name) <= 1.0 for name in found)
