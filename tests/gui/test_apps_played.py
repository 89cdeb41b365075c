"""The suite of real applications, played and asked about: samples, truth of histories, right steps and slips."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.apps.episode_figures import summary
from benchmarks.apps.episode_truth import hits, is_right, slip, top_at
from benchmarks.apps.history import achievements, is_true
from benchmarks.apps.label import Labeller
from benchmarks.apps.moment import Moment
from benchmarks.apps.vlm import answers, draw, index_of, sample
from benchmarks.apps.walk import Seen
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.claims import Claim, Sort
from foretell.gui.dataset import save_image, write_rows
from foretell.gui.observation import Proposal
from tests.gui.test_apps import SIZE, walk


def seen(moment: Moment) -> Seen:
    return Seen(moment.elements, moment.grid, moment.step, moment.scroll, moment.dialog, moment.text)


def test_a_sample_is_even_and_asked_without_labels(tmp_path: Path) -> None:
    moments = walk()
    for one in moments:
        save_image(tmp_path / one.image, np.zeros((SIZE[1], SIZE[0], 3), np.uint8))
    rows = Labeller("trac").rows(moments)
    some = sample(rows, 10, 0.5)
    assert [row.id for row in some] == [row.id for row in sample(rows, 10, 0.5)]
    assert sum(not row.bad for row in some) == 5
    assert len({row.error for row in some if row.bad}) == 5, "no class twice while others are left"
    write_rows(tmp_path, rows)
    folder = tmp_path / "asked"
    draw(tmp_path, folder, 4)
    written = "".join(path.read_text("utf-8") for path in (folder / "requests.jsonl", folder / "questions.md"))
    assert "# 004" in written
    assert not any(row.id in written for row in rows)
    assert len(list((folder / "sheets").iterdir())) == 4
    index = [{"number": "001", "request": "abc", "row": "r"}]
    (answer,) = answers(["", "001 | 0.9 | semantic | a | b | c "], index)
    assert answer["id"] == "abc"
    assert '"p_bad": 0.9' in answer["text"]
    for line in ("002 | 0.9 | semantic | a | b | c", "001 | 0.9 | semantic"):
        with pytest.raises(ValueError, match="not an answer"):
            answers([line], index)
    assert index_of(folder).is_file()


def test_claims_are_held_against_the_elements() -> None:
    before = walk()[2]
    title = before.elements[6]
    typed = replace(title, value="Plums", focused=True)
    after = replace(before, elements=(*before.elements[:6], typed, *before.elements[7:]))
    claim = Claim(Sort.TYPED, "'Plums' is in the field", (40, 280, 110, 30), "Plums")
    assert is_true(claim, before, after)
    assert not is_true(claim, before, before)
    assert not is_true(replace(claim, box=(440, 40, 110, 30)), before, after)
    assert is_true(Claim(Sort.FOCUSED, "has the focus", (40, 280, 110, 30)), before, after)
    assert not is_true(Claim(Sort.ELSEWHERE, "changed", (0, 0, 9, 9)), before, before)
    typing = before.planned
    assert typing is not None
    assert list(achievements(typing.action, before, after)) == [Sort.TYPED]
    assert list(achievements(typing.action, before, before)) == []
    clicked = replace(after, elements=(*before.elements[:6], replace(title, focused=True), *before.elements[7:]))
    assert list(achievements(Action(Kind.CLICK, title.point), before, clicked)) == [Sort.FOCUSED]


def test_a_right_step_is_the_next_of_the_plan() -> None:
    plan = walk()[:3]
    screen = seen(plan[0])
    orders, title = (Proposal((Action(Kind.CLICK, Point(*at)),), "click it") for at in ((60, 50), (95, 295)))
    assert is_right(orders, screen, plan) is True
    assert is_right(title, screen, plan) is False
    assert is_right(title, screen, plan[1:]) is True
    assert is_right(title, screen, plan[2:]) is True, "a click into the field before typing"
    assert is_right(Proposal((Action(Kind.TYPE, text="Plums"),)), screen, plan[2:]) is True
    assert is_right(Proposal((Action(Kind.TYPE, text="Pears"),)), screen, plan[2:]) is False
    assert is_right(Proposal((Action(Kind.WAIT),)), screen, plan) is None
    end = Proposal((Action(Kind.TERMINATE, success=True),))
    assert is_right(end, screen, plan) is False
    assert is_right(end, screen, []) is True


def test_a_slip_is_wrong_and_keeps_its_intent() -> None:
    plan = walk()[:3]
    screen = seen(plan[0])
    right = Proposal((Action(Kind.CLICK, Point(95, 55)),), "open Orders")
    ways = set()
    for seed in range(30):
        wrong = slip(right, screen, SIZE, random.Random(seed))
        assert wrong is not None
        assert wrong.intent == "open Orders"
        assert is_right(wrong, screen, plan) is False
        assert wrong.actions[0].point is not None
        under = top_at(screen, wrong.actions[0].point)
        assert not hits(under, plan[0].target, screen)
        ways.add(under is None)
    assert ways == {True, False}
    assert slip(Proposal((Action(Kind.TYPE, text="a"),)), screen, SIZE, random.Random(0)) is None


def test_episodes_are_compared_task_by_task() -> None:
    alone = {
        "application": "trac", "episode": "a", "guarded": False, "rate": 0.3, "held_out": False, "solved": False,
        "steps": 3, "right": 2, "interrupted": 0, "slips": 1, "caught": 0, "other": 0, "other_stopped": 0,
        "wrong_done": 0, "pixels_caught": 0, "pixels_interrupted": 0, "parted": 1, "log": [],
    }  # fmt: skip
    outcomes = [alone, alone | {"episode": "b", "solved": True}]
    outcomes += [
        one | {"guarded": True, "solved": not one["solved"], "caught": 1, "interrupted": 1} for one in outcomes
    ]
    found = summary(outcomes)
    assert (found["gained"], found["lost"], found["lost_with_an_interruption"]) == (1, 1, 1)
    assert found["guarded"]["slips_caught"]["share"] == 1.0
    assert found["guarded"]["right_interrupted"]["share"] == 0.5
    assert found["alone"]["solved"]["share"] == 0.5
    assert found["success_difference"]["difference"] == 0.0
    assert found["parted"] == 2
