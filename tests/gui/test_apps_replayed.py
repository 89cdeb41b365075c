"""Recorded calls on a guard, judged again."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.apps.played import rows as lines_of
from benchmarks.apps.recorded import LOG, RecordingGuard
from benchmarks.apps.replayed import counts, replay, table
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.guard import Guard
from foretell.gui.history import History
from foretell.gui.judgement import Judgement
from foretell.gui.observation import Observation, Proposal
from foretell.gui.verdict import Mode

AT = Point(5, 5)


class ByName:
    """Doubts a click on what the page calls "Cancel"; by pixels it doubts nothing."""

    name = "by name"

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        here = observation.evidence.at[AT].name if observation.evidence else ""
        return Judgement(0.9 if here == "Cancel" else 0.1, None, "")


def seen(name: str, step: int) -> Observation:
    return Observation("g", np.full((48, 64, 3), 255, np.uint8), step, evidence=Evidence({AT: ElementAt(name)}))


def written(folder: Path, calls: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True)
    for number, call in enumerate(calls):
        (folder / f"{number:05d}.pkl").write_bytes(pickle.dumps(call))


def test_a_recording_is_judged_by_pixels_and_with_evidence(tmp_path: Path) -> None:
    proposal = Proposal((Action(Kind.CLICK, AT),), "save it")
    judged = [
        ("Cancel", {"right": False, "first": True}),
        ("Save", {"right": True, "first": True}),
        ("Save", {"right": True, "first": False}),
        ("Cancel", {"right": True, "first": True, "disputed": True}),
    ]
    calls: list[dict[str, Any]] = [{"call": "reset", "values": ()}]
    for step, (name, label) in enumerate(judged):
        calls.append({"call": "before_action", "values": (seen(name, step),)})
        calls.append({"call": "after_proposal", "values": (seen(name, step), proposal), "label": label})
    calls += [{"call": "executed", "values": (proposal,)}, {"call": "executed", "values": ({"step": 3},)}]
    written(tmp_path / "rec" / "app", calls)
    found = replay([tmp_path / "rec"], lambda: Guard(ByName(), threshold=0.5, mode=Mode.ENFORCE))
    expected = {"right": 1, "interrupted": 0, "wrong": 1, "disputed": 1}
    assert counts(found["pixels"]["app"]) == expected | {"caught": 0}
    assert counts(found["evidence"]["app"]) == expected | {"caught": 1}
    assert "| app | evidence | 0 of 1 | 1 of 1 | 1 |" in list(table(found))


def test_a_recording_guard_writes_what_can_be_replayed_and_counted(tmp_path: Path) -> None:
    guard = RecordingGuard(ByName(), threshold=0.5, mode=Mode.ENFORCE)
    guard.folder = tmp_path / "rec" / "app"
    guard.folder.mkdir(parents=True)
    proposal = Proposal((Action(Kind.CLICK, AT),), "save it")
    for step, (name, right) in enumerate([("Cancel", False), ("Save", True), ("Cancel", True)]):
        guard.before_action(seen(name, step))
        with pytest.raises(RuntimeError, match="label"):
            guard.after_proposal(seen(name, step), proposal)
        guard.label("app", right)
        verdict = guard.after_proposal(seen(name, step), proposal)
        assert verdict.intervene is (name == "Cancel")
        guard.executed(proposal)
    last = json.loads((guard.folder / LOG).read_text().splitlines()[-1])
    guard.dispute(last["call"], "it was wrong after all")
    lines = (guard.folder / LOG).read_text().splitlines()
    assert [(row["right"], row["interrupted"], row["mode"]) for row in lines_of(lines)] == [
        (False, True, "evidence"), (True, False, "evidence"),
    ]  # fmt: skip
    found = replay([tmp_path / "rec"], lambda: Guard(ByName(), threshold=0.5, mode=Mode.ENFORCE), ["evidence"])
    assert counts(found["evidence"]["app"]) == {"right": 1, "interrupted": 0, "wrong": 1, "caught": 1, "disputed": 1}
