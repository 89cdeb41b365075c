"""Traces: written as it happens, read after a crash, judged again, and shown on a page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.guard import Guard
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Observation, Proposal
from foretell.gui.rescore import rescore
from foretell.gui.threshold import threshold_for
from foretell.gui.trace import FILE, TraceError, TraceWriter, read
from foretell.gui.verdict import Mode
from foretell.report.gui import render_gui_replay, write_gui_replay
from tests.gui.screens import FIELD, FakeCritic, form, frame

GOAL = "Click <b>the field</b> & submit."
NEXT = frame(form(), FIELD, 5, (16, 16, 16))
MISS = Proposal((Action(Kind.CLICK, point=Point(20, 20)),), "click the field", raw="click(20, 20)")
HIT = Proposal((Action(Kind.CLICK, point=Point(100, 120)),), "click the field")
END = Proposal((Action(Kind.TERMINATE, success=True),))


def episode(folder: Path, *answers: float | Exception) -> Guard:
    """A miss that is sent back, a hit that is executed, and the end."""
    with TraceWriter(folder, clock=lambda: 12.0, raw=True) as writer:
        guard = Guard(FakeCritic(*(answers or (0.9, 0.2, 0.1))), threshold=0.5, trace=writer)
        start = Observation(GOAL, form(), 0)
        guard.before_action(start)
        guard.after_proposal(start, MISS)
        guard.after_proposal(start, HIT)
        guard.executed(HIT)
        then = Observation(GOAL, NEXT, 1)
        guard.before_action(then)
        guard.after_proposal(then, END)
        guard.executed(END)
        guard.finished(NEXT, solved=True)
    return guard


def test_every_step_is_there(tmp_path: Path) -> None:
    episode(tmp_path)
    told = read(tmp_path)
    assert [len(step.rounds) for step in told.steps] == [2, 1] and not told.torn and told.faults == ()
    first, second = told.steps
    miss, hit = first.rounds
    assert miss.proposal == MISS and miss.intervened and miss.verdict["reason"] == "doubted"
    assert "has not been executed" in miss.verdict["feedback"]
    assert miss.judgement is not None and miss.judgement.p_bad == 0.9
    assert miss.judgement.error is ErrorClass.GROUNDING and miss.judgement.evidence == {"gap_px": 9.0}
    assert hit.proposal == HIT and not hit.intervened
    assert first.executed == (HIT.actions[0],) and "focus" in first.effect
    assert first.achieved == ("what was clicked at (100, 120) has the focus",)
    assert second.rounds[0].history.count == 1 and second.rounds[0].history.achieved == first.achieved
    outcome = told.episodes[0].outcome
    assert outcome is not None and outcome["outcome"] == {"solved": True} and len(told.episodes) == 1
    assert np.array_equal(told.picture(miss.images["before"]), form())
    assert np.array_equal(told.observation(*[(second, second.rounds[0])][0]).image, NEXT)
    assert miss.images["marked"] != miss.images["before"]


def test_a_picture_is_written_once(tmp_path: Path) -> None:
    episode(tmp_path)
    assert len(list((tmp_path / "images").iterdir())) == 4  # two screens, each with and without the mark


def test_a_crash_at_any_byte_leaves_what_was_written_before(tmp_path: Path) -> None:
    episode(tmp_path)
    path = tmp_path / FILE
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    for cut in range(0, len(whole), 37):
        path.write_bytes(whole[:cut])
        told = read(tmp_path)
        lines = sum(end <= cut for end in ends)
        assert told.torn == (cut not in (0, *ends) and cut + 1 not in ends)
        assert sum(len(step.rounds) for step in told.steps) <= 3 and (lines < 2 or told.steps)
    path.write_bytes(whole[: ends[2] + 20])
    with TraceWriter(tmp_path) as writer:
        writer.append("fault", {"step": 0, "where": "critic", "message": "later"})
    told = read(tmp_path)
    assert not told.torn and len(told.steps[0].rounds) == 2 and told.faults[0]["message"] == "later"


def test_damage_elsewhere_is_told_with_its_line(tmp_path: Path) -> None:
    episode(tmp_path)
    lines = (tmp_path / FILE).read_text().splitlines()
    for damage in ("{", "[]", json.dumps({"event": "proposed"})):
        (tmp_path / FILE).write_text("\n".join([lines[0], damage, *lines[2:]]) + "\n")
        with pytest.raises(TraceError, match="line 2"):
            read(tmp_path)


def test_no_trace_is_said(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"no trace\.jsonl"):
        read(tmp_path)


def test_a_threshold_that_never_objects_is_written(tmp_path: Path) -> None:
    with TraceWriter(tmp_path) as writer:
        guard = Guard(FakeCritic(0.9), threshold=threshold_for([]), trace=writer)
        guard.after_proposal(Observation(GOAL, form()), HIT)
        assert not guard.faults
    assert read(tmp_path).steps[0].rounds[0].verdict["threshold"] is None
    assert "never objects" in render_gui_replay(read(tmp_path))


def test_the_folder_may_be_a_text(tmp_path: Path) -> None:
    episode(str(tmp_path / "trace"))  # type: ignore[arg-type]
    assert len(read(str(tmp_path / "trace")).steps) == 2
    assert write_gui_replay(str(tmp_path / "trace"), str(tmp_path / "page.html")).exists()


def two_episodes(folder: Path) -> None:
    """One that is solved, one that is given up before anything was executed, and one that is not solved."""
    with TraceWriter(folder) as writer:
        guard = Guard(FakeCritic(0.2), threshold=0.5, trace=writer)
        for goal in ("First", "Given up", "Second"):
            guard.reset()
            guard.after_proposal(Observation(goal, form(), 0), HIT)
            if goal != "Given up":
                guard.executed(HIT)
                guard.after_proposal(Observation(goal, NEXT, 1), END)
                guard.executed(END)
                guard.finished(NEXT, solved=goal == "First")


def test_episodes_are_told_apart(tmp_path: Path) -> None:
    two_episodes(tmp_path)
    told = read(tmp_path)
    assert [(one.goal, [step.step for step in one.steps]) for one in told.episodes] == [
        ("First", [0, 1]),
        ("Given up", [0]),
        ("Second", [0, 1]),
    ]
    outcomes = [one.outcome and one.outcome["outcome"] for one in told.episodes]
    assert outcomes == [{"solved": True}, None, {"solved": False}]
    assert len(told.steps) == 5 and all(len(step.rounds) == 1 for step in told.steps)
    page = render_gui_replay(told)
    for words in ("3 episodes", "Episode 1: First", "Episode 3: Second", "solved: yes", "solved: no", 'id="s5"'):
        assert words in page, words
    assert [one.episode for one in rescore(told, FakeCritic(0.1)).rounds] == [0, 0, 1, 2, 2]


def test_an_episode_again_is_another_one(tmp_path: Path) -> None:
    with TraceWriter(tmp_path) as writer:
        guard = Guard(FakeCritic(0.2), threshold=0.5, trace=writer)
        for _ in range(2):
            guard.reset()
            guard.after_proposal(Observation(GOAL, form(), 0), HIT)
    assert [len(step.rounds) for step in read(tmp_path).steps] == [1, 1] and len(read(tmp_path).episodes) == 2


def test_old_traces_without_starts_are_read(tmp_path: Path) -> None:
    two_episodes(tmp_path)
    lines = (tmp_path / FILE).read_text().splitlines(keepends=True)
    (tmp_path / FILE).write_text("".join(line for line in lines if json.loads(line)["event"] != "start"))
    assert [one.goal for one in read(tmp_path).episodes] == ["First", "Given up", "Second"]


def test_what_was_objected_to_before_is_as_it_was_traced(tmp_path: Path) -> None:
    with TraceWriter(tmp_path) as writer:
        guard = Guard(FakeCritic(0.9, 0.95, 0.6, 0.4), threshold=0.8, trace=writer)
        for step, proposal in ((0, MISS), (0, HIT), (1, HIT), (2, HIT)):
            if step:
                guard.executed(HIT)
            guard.after_proposal(Observation(GOAL, form(), step), proposal)
    summary = rescore(tmp_path, FakeCritic(0.9, 0.9, 0.6, 0.1), threshold=0.5).summary()
    assert (summary["objections_before"], summary["sent_back_before"], summary["objections_now"]) == (2, 1, 3)
    assert summary["agreement"] == 0.75


def test_the_same_judgements_are_the_same_objections(tmp_path: Path) -> None:
    with TraceWriter(tmp_path) as writer:
        guard = Guard(FakeCritic(0.9, 0.7, 0.6), threshold=0.8, trace=writer)
        for step in range(3):
            guard.after_proposal(Observation(GOAL, form(), step), HIT)
            guard.executed(HIT)
    again = rescore(tmp_path, FakeCritic(0.9, 0.7, 0.6))
    assert [one.objects for one in again.rounds] == [one.objected for one in again.rounds] == [True, False, False]
    assert [one.threshold_now for one in again.rounds] == [0.8] * 3 and again.summary()["agreement"] == 1.0


def test_objections_are_counted_over_all_proposals(tmp_path: Path) -> None:
    episode(tmp_path)
    again = rescore(tmp_path, FakeCritic(RuntimeError("blind"), 0.7, 0.3))
    assert again.summary()["objections_before"] == sum(one.objected for one in again.rounds) == 1


def test_judged_again(tmp_path: Path) -> None:
    episode(tmp_path)
    critic = FakeCritic(0.8, 0.7, 0.3)
    again = rescore(tmp_path, critic)
    assert [one.p_bad for one in again.judgements if one is not None] == [0.8, 0.7, 0.3]
    assert [(one.step, one.revision) for one in again.rounds] == [(0, 0), (0, 1), (1, 0)]
    assert [history.count for _, history in critic.seen] == [0, 0, 1]
    summary = again.summary()
    assert summary["agreement"] == pytest.approx(2 / 3) and summary["same_error_where_both_object"] == 1.0
    assert (summary["objections_before"], summary["objections_now"]) == (1, 2)
    assert summary["mean_p_bad_apart"] == pytest.approx((0.1 + 0.5 + 0.2) / 3)
    assert rescore(read(tmp_path), FakeCritic(0.9, 0.2, 0.1)).summary()["agreement"] == 1.0


def test_what_cannot_be_judged_again_is_told(tmp_path: Path) -> None:
    episode(tmp_path, RuntimeError("lost"), 0.2, 0.1)
    again = rescore(tmp_path, FakeCritic(0.5, RuntimeError("blind"), 0.2))
    assert again.rounds[1].fault == "RuntimeError: blind" and again.judgements[1] is None
    summary = again.summary()
    assert summary["judged_by_both"] == 1 and summary["faults"] == 1 and summary["proposals"] == 3


def test_without_pictures_there_is_nothing_to_judge(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, pictures=False) as writer:
        Guard(FakeCritic(0.1), trace=writer).after_proposal(Observation(GOAL, form()), HIT)
    assert not (tmp_path / "images").exists()
    with pytest.raises(TraceError, match="traced without"):
        rescore(tmp_path, FakeCritic(0.1))


def test_the_page_holds_all_and_refers_to_nothing(tmp_path: Path) -> None:
    episode(tmp_path / "trace")
    page = write_gui_replay(tmp_path / "trace", tmp_path / "replay.html").read_text()
    assert "Click &lt;b&gt;the field&lt;/b&gt; &amp; submit." in page and "<b>the field" not in page
    for words in (
        "sent back",
        "click at (100, 120)",
        "has not been executed",
        "P(bad) 90%",
        "grounding",
        "solved: yes",
    ):
        assert words in page, words
    assert page.count("data:image/png;base64,") == 4  # a picture for each of three proposals, and the last screen
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)[^\"]*\"|url\(", page)


@pytest.mark.parametrize(
    ("intent", "mode", "words"),
    [
        ("delete it", Mode.ADVISE, "sent back"),
        ("click the field", Mode.ADVISE, "passed, with advice"),
        ("delete it", Mode.SHADOW, "passed: would have been sent back"),
    ],
)
def test_the_page_tells_what_became_of_an_objection(tmp_path: Path, intent: str, mode: Mode, words: str) -> None:
    with TraceWriter(tmp_path) as writer:
        guard = Guard(FakeCritic(0.7), threshold=0.6, mode=mode, trace=writer)
        guard.after_proposal(Observation(GOAL, form()), replace(MISS, intent=intent))
    assert f">{words}<" in render_gui_replay(read(tmp_path))


def test_the_page_tells_faults_and_torn_ends(tmp_path: Path) -> None:
    episode(tmp_path, RuntimeError("the critic is lost"), 0.2, 0.1)
    with (tmp_path / FILE).open("a") as file:
        file.write('{"event": "prop')
    page = render_gui_replay(read(tmp_path))
    assert "the critic is lost" in page and "passed unjudged: the critic failed" in page and "cut short" in page


def test_an_empty_trace_has_no_page(tmp_path: Path) -> None:
    TraceWriter(tmp_path).close()
    with pytest.raises(ValueError, match="no step was traced"):
        render_gui_replay(read(tmp_path))
