"""Answers that a benchmark keeps while it asks a model: cut off at any moment, none is asked for twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.lm_answers import Kept
from foretell.lm import Failure, Message, Reply, Request, Trouble, Usage

FIRST = [Request((Message("system", "s"), Message("user", f"question {i}"))) for i in range(3)]
AGAIN = Request((*FIRST[0].messages, Message("assistant", "what?"), Message("user", "once more")))
REPLY = Reply("A", Usage(10, 1), {"A": 0.5}, 0.25)
TOO_LONG = Failure(Trouble.TOO_LONG, "show less")


def test_what_was_answered_is_not_wanted_again(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    Kept(path, "m").add(FIRST[:2], [REPLY, TOO_LONG])
    kept = Kept(path, "m")
    assert kept.ask(FIRST) == [REPLY, TOO_LONG, Failure(Trouble.MISSING, "not asked yet")]
    assert list(kept.wanted) == [FIRST[2].id]
    assert Kept(path, "another").ask(FIRST[:1])[0] != REPLY


def test_a_line_that_was_cut_off_counts_as_absent_and_spoils_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    Kept(path, "m").add(FIRST[:2], [REPLY, REPLY])
    path.write_text(path.read_text()[:-20])
    kept = Kept(path, "m")
    kept.ask(FIRST)
    assert set(kept.wanted) == {FIRST[1].id, FIRST[2].id}
    kept.add(FIRST[1:], [REPLY, REPLY])
    assert Kept(path, "m").ask(FIRST) == [REPLY] * 3


def test_what_was_not_asked_once_more_stays_as_it_was_answered(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept.jsonl", "m")
    assert kept.ask([AGAIN]) == [Reply("what?")]
    assert list(kept.wanted) == [AGAIN.id]


def test_weights_that_cannot_be_loaded_end_it_and_leave_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    with pytest.raises(SystemExit, match="cannot load"):
        Kept(path, "m").add(FIRST[:1], [Failure(Trouble.UNREACHABLE, "cannot load x")])
    assert not path.exists()
