"""Candidates from outside as rounds of a run: one step after another, killed anywhere, nothing lost or paid twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Status
from foretell.kernels.policy import Action
from foretell.kernels.profiles import Budgets
from foretell.kernels.search import MemoryJournal, NoSuchParent, RunState, StopReason, load_run
from foretell.kernels.store import OtherRun
from tests.kernels.propose.world import REFERENCE, ScriptedBench, program, told_search
from tests.kernels.search.world import Killed, journal_of, kill_after, small

BATCHES = (
    [program("x1.5"), program("BROKEN")],
    [program("x2.5", program("x1.5")), program("WRONG")],
    [program("x0.5")],
)


def told(run_dir: Path, batch: list[Candidate], parent: str = REFERENCE.id, **parts: Any) -> RunState:
    return told_search(run_dir, **parts).tell(batch, parent)


def test_each_candidate_is_taken_once(tmp_path: Path) -> None:
    state = told(tmp_path, [program("x1"), program("x1"), program("x2")])
    assert list(state.nodes) == [program("x1").id, program("x2").id]
    assert told(tmp_path, [program("x1")]).rounds == 1


def test_asking_changes_nothing_and_names_the_parent(tmp_path: Path) -> None:
    search = told_search(tmp_path)
    question = search.ask()
    assert question.parent == REFERENCE.id and REFERENCE.source in question.prompt
    before = journal_of(tmp_path)
    assert told_search(tmp_path).ask() == question and journal_of(tmp_path) == before
    search.tell([program("x1.5")], question.parent)
    assert search.ask(program("x1.5").id[:8]).program.source == program("x1.5").source
    with pytest.raises(NoSuchParent, match="no candidate 'zzz'"):
        search.ask("zzz")


def test_a_finished_run_goes_on_with_larger_budgets(tmp_path: Path) -> None:
    few = small(budgets=Budgets(2, 1e6, 60))
    told(tmp_path, [program("x1.5"), program("x1.2"), program("x1.1")], profile=few)
    first = told_search(tmp_path, profile=few).finish()
    assert first.finished is not None and first.finished.reason is StopReason.MEASUREMENTS and first.verified
    assert told(tmp_path, [program("x9")], profile=few).considered == 3, "over is over"
    more = small(budgets=Budgets(5, 1e6, 60))
    state = told(tmp_path, [program("x2.5")], profile=more)
    assert state.finished is None and state.measured == 3 and state.config["budgets"]["measurements"] == 5
    last = told_search(tmp_path, profile=more).finish()
    assert last.best is not None and last.best.candidate.source == program("x2.5").source
    assert last.best.verified is not None and last.finished is not None
    assert last.finished.reason is StopReason.ENDED
    loaded = load_run(tmp_path)
    assert loaded.config == last.config and loaded.best is not None and loaded.best.id == last.best.id
    with pytest.raises(OtherRun, match="measurements"):
        told_search(tmp_path, profile=few).resume()


def test_a_run_in_memory(tmp_path: Path) -> None:
    journal = MemoryJournal()
    search = told_search(tmp_path, journal=journal)
    search.tell([program("x1.5")], search.ask().parent)
    assert search.finish().best is not None
    assert [event.name for event in journal.events] == ["run_started", "round", "measured", "verified", "finished"]
    assert not list(tmp_path.iterdir())


def test_a_run_goes_on_step_by_step_and_is_finished_when_told_so(tmp_path: Path) -> None:
    assert told(tmp_path, []).rounds == 0
    for number, batch in enumerate(BATCHES, start=1):
        state = told(tmp_path, batch, batch[0].parents[0])
        assert state.finished is None
        assert state.rounds == number
        assert all(candidate.id in state.nodes for candidate in batch)
    assert state.nodes[BATCHES[1][0].id].parents == (BATCHES[0][0].id,)
    assert state.failures == {Status.COMPILE_ERROR: 1, Status.WRONG: 1}
    assert not state.pending
    ended = told_search(tmp_path).finish()
    assert ended.finished is not None
    assert ended.best is not None
    assert ended.best.id == BATCHES[1][0].id
    assert ended.best.verified is not None
    assert told(tmp_path, [program("x9")]).considered == 5


def test_a_step_that_is_killed_anywhere_goes_on_with_the_next(tmp_path: Path) -> None:
    whole = ScriptedBench()
    for batch in ([], *BATCHES):
        told(tmp_path / "whole", batch, bench=whole)
    told_search(tmp_path / "whole", bench=whole).finish()
    expected = journal_of(tmp_path / "whole")
    bench, killed = ScriptedBench(), 0
    for batch in ([], *BATCHES):
        while True:
            try:
                told(tmp_path / "killed", batch, bench=bench, on_event=kill_after(1))
                break
            except Killed:
                killed += 1
    told_search(tmp_path / "killed", bench=bench).finish()
    assert killed > 5
    assert journal_of(tmp_path / "killed") == expected
    assert bench.asked == whole.asked


def test_a_cut_journal_costs_the_cut_line_alone(tmp_path: Path) -> None:
    for batch in BATCHES:
        told(tmp_path, batch)
    data = journal_of(tmp_path)
    (tmp_path / "journal.jsonl").write_bytes(data[:-20])
    search = told_search(tmp_path)
    search.tell(BATCHES[-1], REFERENCE.id)
    assert search.torn is not None
    assert journal_of(tmp_path) == data


def test_budgets_hold(tmp_path: Path) -> None:
    profile = small(budgets=Budgets(2, 1e6, 4))
    state = told(tmp_path, [program(f"x{i}") for i in range(1, 7)], profile=profile)
    assert state.considered == 4
    assert state.measured == 2
    assert state.finished is None
    ended = told_search(tmp_path, profile=profile).finish()
    assert ended.finished is not None
    assert ended.finished.reason is StopReason.MEASUREMENTS


def test_the_policy_decides(tmp_path: Path) -> None:
    state = told(tmp_path, [program(f"x1.{i}") for i in range(9)], policy="top")
    assert state.measured < 9
    assert {node.action for node in state.nodes.values()} == {Action.MEASURE, Action.DROP}


def test_more_than_a_batch_takes_more_rounds(tmp_path: Path) -> None:
    state = told(tmp_path, [program(f"x1.{i}") for i in range(11)])
    assert state.considered == 11
    assert state.rounds == 2


def test_another_run_is_not_touched(tmp_path: Path) -> None:
    told(tmp_path, BATCHES[0])
    before = journal_of(tmp_path)
    with pytest.raises(OtherRun, match="its policy is 'all', not 'top'"):
        told(tmp_path, BATCHES[1], policy="top")
    assert journal_of(tmp_path) == before
    assert load_run(tmp_path).rounds == 1
