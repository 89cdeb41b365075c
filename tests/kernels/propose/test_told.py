"""Candidates from outside as rounds of a run: one step after another, killed anywhere, nothing lost or paid twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from foretell.kernels.measurement import Status
from foretell.kernels.policy import Action
from foretell.kernels.profiles import Budgets
from foretell.kernels.propose.told import ToldProposer
from foretell.kernels.protocols import Proposer
from foretell.kernels.search import StopReason, load_run
from foretell.kernels.store import OtherRun
from foretell.kernels.task import Task
from tests.kernels.conformance import ProposerConformance
from tests.kernels.propose.world import REFERENCE, ScriptedBench, program, told_search
from tests.kernels.search.world import TASK, Killed, journal_of, kill_after, small

BATCHES = (
    [program("x1.5"), program("BROKEN")],
    [program("x2.5", program("x1.5")), program("WRONG")],
    [program("x0.5")],
)


class TestConformance(ProposerConformance):
    @pytest.fixture
    def proposer(self) -> Proposer:
        return ToldProposer([program(f"x{i}.5") for i in range(6)])

    @pytest.fixture
    def task(self) -> Task:
        return TASK


def test_proposes_what_it_was_given_each_once() -> None:
    proposer, rng = ToldProposer([program("x1"), program("x1"), program("x2")]), np.random.default_rng(0)
    assert proposer.propose(TASK, [REFERENCE], 9, rng, set()) == [program("x1"), program("x2")]
    assert proposer.propose(TASK, [REFERENCE], 1, rng, {program("x1").id}) == [program("x2")]


def test_a_run_goes_on_step_by_step_and_is_finished_when_told_so(tmp_path: Path) -> None:
    assert told_search(tmp_path, []).step().rounds == 0
    for number, batch in enumerate(BATCHES, start=1):
        state = told_search(tmp_path, batch, parent=batch[0].parents[0]).step()
        assert state.finished is None
        assert state.rounds == number
        assert all(candidate.id in state.nodes for candidate in batch)
    assert state.nodes[BATCHES[1][0].id].parents == (BATCHES[0][0].id,)
    assert state.failures == {Status.COMPILE_ERROR: 1, Status.WRONG: 1}
    assert not state.pending
    ended = told_search(tmp_path, []).resume()
    assert ended.finished is not None
    assert ended.best is not None
    assert ended.best.id == BATCHES[1][0].id
    assert ended.best.verified is not None
    assert told_search(tmp_path, [program("x9")]).step().considered == 5


def test_a_step_that_is_killed_anywhere_goes_on_with_the_next(tmp_path: Path) -> None:
    whole = ScriptedBench()
    for batch in ([], *BATCHES):
        told_search(tmp_path / "whole", batch, bench=whole).step()
    told_search(tmp_path / "whole", [], bench=whole).resume()
    expected = journal_of(tmp_path / "whole")
    bench, killed = ScriptedBench(), 0
    for batch in ([], *BATCHES):
        while True:
            try:
                told_search(tmp_path / "killed", batch, bench=bench, on_event=kill_after(1)).step()
                break
            except Killed:
                killed += 1
    told_search(tmp_path / "killed", [], bench=bench).resume()
    assert killed > 5
    assert journal_of(tmp_path / "killed") == expected
    assert bench.asked == whole.asked


def test_a_cut_journal_costs_the_cut_line_alone(tmp_path: Path) -> None:
    for batch in BATCHES:
        told_search(tmp_path, batch).step()
    data = journal_of(tmp_path)
    (tmp_path / "journal.jsonl").write_bytes(data[:-20])
    search = told_search(tmp_path, BATCHES[-1])
    search.step()
    assert search.torn is not None
    assert journal_of(tmp_path) == data


def test_budgets_hold(tmp_path: Path) -> None:
    profile = small(budgets=Budgets(2, 1e6, 4))
    state = told_search(tmp_path, [program(f"x{i}") for i in range(1, 7)], profile=profile).step()
    assert state.considered == 4
    assert state.measured == 2
    assert state.finished is None
    ended = told_search(tmp_path, [], profile=profile).resume()
    assert ended.finished is not None
    assert ended.finished.reason is StopReason.MEASUREMENTS


def test_the_policy_decides(tmp_path: Path) -> None:
    state = told_search(tmp_path, [program(f"x1.{i}") for i in range(9)], policy="top").step()
    assert state.measured < 9
    assert {node.action for node in state.nodes.values()} == {Action.MEASURE, Action.DROP}


def test_more_than_a_batch_takes_more_rounds(tmp_path: Path) -> None:
    state = told_search(tmp_path, [program(f"x1.{i}") for i in range(11)]).step()
    assert state.considered == 11
    assert state.rounds == 2


def test_another_run_is_not_touched(tmp_path: Path) -> None:
    told_search(tmp_path, BATCHES[0]).step()
    before = journal_of(tmp_path)
    with pytest.raises(OtherRun, match="its policy is 'all', not 'top'"):
        told_search(tmp_path, BATCHES[1], policy="top").step()
    assert journal_of(tmp_path) == before
    assert load_run(tmp_path).rounds == 1
