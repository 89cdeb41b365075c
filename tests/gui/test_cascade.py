"""A cascade asks its second critic in doubt alone, and learns from recorded proposals where doubt lies."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.cascade import Bounds, CascadeCritic, learn
from foretell.gui.history import History
from foretell.gui.judgement import ErrorClass, Judgement
from foretell.gui.observation import Observation, Proposal
from foretell.gui.vision import CriticUnavailable, Totals
from foretell.lm import Trouble

OBSERVATION = Observation("Click the Submit button", np.zeros((40, 60, 3), np.uint8), step=2)
PROPOSAL = Proposal((Action(Kind.CLICK, Point(5, 6)),), "click Submit")
HISTORY = History()


class Fixed:
    """A critic that always says the same, or is not there."""

    def __init__(self, name: str, p_bad: float | None) -> None:
        self.name, self.p_bad, self.asked = name, p_bad, 0
        self.totals = Totals()

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        self.asked += 1
        self.totals.answer_tokens += 7 * (self.name == "second")
        if self.p_bad is None:
            raise CriticUnavailable(Trouble.TIMEOUT, "too slow")
        return Judgement(self.p_bad, ErrorClass.SEMANTIC, self.name, {self.name: self.p_bad})


@pytest.mark.parametrize(("first", "asked"), [(0.1, 0), (0.2, 1), (0.5, 1), (0.8, 1), (0.81, 0)])
def test_a_cascade_asks_the_second_in_doubt_alone(first: float, asked: int) -> None:
    second = Fixed("second", 0.33)
    both = CascadeCritic(Fixed("first", first), second, 0.2, 0.8)
    found = both.judge(OBSERVATION, PROPOSAL, HISTORY)
    assert second.asked == both.asked_second == asked
    assert found.p_bad == (0.33 if asked else first)
    assert found.evidence["first"] == first
    assert both.name == "cascade:first>second"
    assert both.totals.tokens == 7 * asked


def test_a_cascade_stands_without_its_second() -> None:
    found = CascadeCritic(Fixed("first", 0.5), Fixed("second", None), 0.2, 0.8).judge(OBSERVATION, PROPOSAL, HISTORY)
    assert found.p_bad == 0.5
    assert found.evidence["second_unavailable"] == 1.0
    with pytest.raises(CriticUnavailable):
        CascadeCritic(Fixed("first", None), Fixed("second", 0.5), 0.2, 0.8).judge(OBSERVATION, PROPOSAL, HISTORY)
    with pytest.raises(ValueError, match="low"):
        CascadeCritic(Fixed("a", 0.5), Fixed("b", 0.5), 0.8, 0.2)


def recorded(count: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A first critic that is often in doubt, a second that hardly errs, labels and groups."""
    rng = np.random.default_rng(0)
    bad = rng.random(count) < 0.5
    first = np.clip(np.where(bad, 0.6, 0.35) + rng.normal(0, 0.18, count), 0.01, 0.99)
    second = np.clip(np.where(bad, 0.95, 0.04) + rng.normal(0, 0.02, count), 0.0, 1.0)
    return first, second, bad, rng.integers(0, 10, count)


def test_learnt_bounds_keep_the_share_asked_and_the_interruptions() -> None:
    first, second, bad, groups = recorded()
    found = learn(first, second, bad, groups, bound=0.02, most_asked=0.45)
    asked = (first >= found.low) & (first <= found.high)
    p = np.where(asked, second, first)
    assert asked.mean() == pytest.approx(found.asked)
    assert found.asked <= 0.45
    assert found.low <= found.threshold <= found.high
    assert (p[~bad] > found.threshold).mean() <= 0.02
    assert (p[bad] > found.threshold).mean() > (first[bad] > found.high).mean() + 0.2
    fewer = learn(first, second, bad, groups, most_asked=0.2)
    assert fewer.asked <= 0.2
    assert fewer.low > found.low


def test_a_second_critic_that_is_never_needed_is_asked_about_nothing() -> None:
    _, second, bad, groups = recorded()
    found = learn(np.where(bad, 0.99, 0.01), second, bad, groups, most_asked=0.0)
    assert found.asked == 0.0
    assert 0.01 < found.threshold < 0.99


def test_unanswered_proposals_count_for_the_share_alone() -> None:
    first, second, bad, groups = recorded()
    some = np.where(np.arange(len(first)) % 3 == 0, second, np.nan)
    found = learn(first, some, bad, groups)
    assert found.right == int((~bad & ~np.isnan(some)).sum())
    assert found.asked <= 0.45
    with pytest.raises(ValueError, match="too few"):
        learn(first, np.where(np.arange(len(first)) < 60, second, np.nan), bad, groups)


def test_bounds_are_kept_as_data(tmp_path: Path) -> None:
    found = learn(*recorded())
    (tmp_path / "bounds.json").write_text(json.dumps(found.to_dict()))
    assert Bounds.load(tmp_path / "bounds.json") == found
    with pytest.raises(ValueError, match="not valid bounds"):
        Bounds.from_dict({"low": 0.1})
