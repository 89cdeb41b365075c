"""The loop: budgets, Ctrl-C, faults of the machine, other people's runs, winners that do not hold up."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foretell.kernels import library
from foretell.kernels.bench.fake import FAKE_DEVICE, FakeBench, FakeProposer, fake_template
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.policy import POLICIES, make_policy
from foretell.kernels.profiles import PROFILES, Budgets, Profile
from foretell.kernels.profiles import get as get_profile
from foretell.kernels.propose.template import TemplateProposer
from foretell.kernels.protocols import Build
from foretell.kernels.search import BenchBroken, Event, Finished, RunState, Search, SearchConfig, StopReason, load_run
from foretell.kernels.search.config import completed, differences, last_refit, refit_level
from foretell.kernels.search.events import Again, Round
from foretell.kernels.store import Catalogue, JournalDamaged, NoRun, OtherRun, RunBusy, RunExists, read_journal
from foretell.kernels.store.lines import encode
from foretell.kernels.task import Task
from tests.kernels.search.world import SMALL, TASK, journal_of, make_search, small


@pytest.mark.parametrize(
    ("budgets", "reason"),
    [
        (Budgets(5, 1e6, 10**6), StopReason.MEASUREMENTS),
        (Budgets(10**6, 1.6, 10**6), StopReason.SECONDS),
        (Budgets(10**6, 1e6, 21), StopReason.CANDIDATES),
    ],
)
@pytest.mark.parametrize("policy", POLICIES)
def test_any_budget_ends_the_run(policy: str, budgets: Budgets, reason: StopReason, tmp_path: Path) -> None:
    state = make_search(tmp_path / "run", policy, profile=small(budgets=budgets)).run()
    assert state.finished is not None
    assert state.finished.reason is reason
    assert reason.sentence
    assert state.measured <= budgets.measurements
    assert state.device_s < budgets.seconds + 0.25
    assert state.considered <= budgets.candidates


def test_an_exhausted_proposer_ends_the_run(tmp_path: Path) -> None:
    proposer = TemplateProposer(fake_template(TASK.name, knobs=3, values=2))
    state = make_search(tmp_path / "run", "all", proposer=proposer).run()
    assert state.finished is not None
    assert state.finished.reason is StopReason.EXHAUSTED
    assert state.considered == 8


def test_a_proposer_that_repeats_itself_is_asked_again_then_left(tmp_path: Path) -> None:
    class Stuck(FakeProposer):
        calls = 0
        first: Sequence[Candidate] = ()

        def propose(
            self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
        ) -> list[Candidate]:
            self.calls += 1
            self.first = self.first or super().propose(task, parents, 2, rng, known)
            return [*self.first, *self.first]

    proposer = Stuck(TASK.name)
    state = make_search(tmp_path / "run", proposer=proposer).run()
    assert state.considered == 2
    assert proposer.calls == 1 + SMALL.proposal_attempts


def test_failed_builds_cost_candidates_and_no_measurements(tmp_path: Path) -> None:
    bench = FakeBench(failure_share=0.4)
    state = make_search(tmp_path / "run", "all", bench=bench).run()
    unbuilt = [node for node in state.nodes.values() if not node.build.ok]
    assert len(unbuilt) == state.unbuilt == state.failures[Status.COMPILE_ERROR] > 0
    for node in unbuilt:
        assert node.measurement is not None
        assert node.measurement.status is Status.COMPILE_ERROR
        assert node.measurement.cost.device_s == 0.0
        assert "does not build (compile_error): error: a fake" in node.reason
        assert node.id not in bench.asked
    assert state.measured == SMALL.budgets.measurements
    assert sum(measurement.status is Status.COMPILE_ERROR for _, measurement in state.lessons) == state.unbuilt


@pytest.mark.parametrize("count", [1, 2, 5, 9])
@pytest.mark.parametrize("policy", POLICIES)
def test_ctrl_c_keeps_everything_and_can_be_resumed(policy: str, count: int, tmp_path: Path) -> None:
    make_search(tmp_path / "whole", policy).run()

    def interrupt(event: Event, state: RunState) -> None:
        if len(read_journal(tmp_path / "run").entries) == count:
            raise KeyboardInterrupt

    state = make_search(tmp_path / "run", policy, on_event=interrupt).run()
    assert state.finished is not None
    assert state.finished.reason is StopReason.INTERRUPTED
    assert not state.verified
    assert state.finished.best == (state.best.id if state.best else None)
    resumed = make_search(tmp_path / "run", policy).resume()
    whole = load_run(tmp_path / "whole")
    assert resumed.finished == whole.finished
    assert resumed.nodes == whole.nodes


def test_a_real_ctrl_c_while_measuring(tmp_path: Path) -> None:
    class Interrupted(FakeBench):
        def measure(
            self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
        ) -> Iterator[tuple[Candidate, Measurement]]:
            for i, outcome in enumerate(super().measure(task, candidates, hopeless_below)):
                if i == 2:
                    os.kill(os.getpid(), signal.SIGINT)
                yield outcome

    state = make_search(tmp_path / "run", "all", bench=Interrupted()).run()
    assert isinstance(state.finished, Finished)
    assert state.finished.reason is StopReason.INTERRUPTED
    assert state.measured == 2
    assert state.best is not None


def test_a_fault_of_the_machine_is_tried_again(tmp_path: Path) -> None:
    whole = make_search(tmp_path / "whole", "all").run()
    faults = {node.id: 2 for node in list(whole.nodes.values())[:3] if node.measurement and node.build.ok}
    bench = FakeBench(faults=faults)
    state = make_search(tmp_path / "run", "all", bench=bench).run()
    assert state.faults == 0
    for node_id in faults:
        outcome = state.nodes[node_id].measurement
        assert outcome is not None
        assert outcome.status is not Status.INFRASTRUCTURE
        assert outcome.cost.device_s == pytest.approx(0.75)


def test_a_lasting_fault_is_not_held_against_the_candidate(tmp_path: Path) -> None:
    whole = make_search(tmp_path / "whole", "all").run()
    victim = whole.verified[0]
    catalogue = Catalogue(tmp_path / "catalogue.sqlite", fsync=False)
    state = make_search(tmp_path / "run", "all", bench=FakeBench(faults={victim: 99}), catalogue=catalogue).run()
    node = state.nodes[victim]
    assert node.measurement is not None
    assert node.measurement.status is Status.INFRASTRUCTURE
    assert node.value is None
    assert state.faults == 1
    assert Status.INFRASTRUCTURE not in state.failures
    assert victim not in {subject.candidate.id for subject, _ in state.lessons}
    assert not catalogue.holds(TASK, node.candidate, FAKE_DEVICE)
    assert state.measured == SMALL.budgets.measurements


def test_a_dead_machine_stops_the_run_and_leaves_it_resumable(tmp_path: Path) -> None:
    class Dead(FakeBench):
        def _measure(self, task: Task, candidate: Candidate, hopeless_below: float | None) -> Measurement:
            return Measurement(Status.INFRASTRUCTURE, "no device found")

    with pytest.raises(BenchBroken, match=r"8 candidates in a row.*no device found.*then resume"):
        make_search(tmp_path / "run", "all", bench=Dead()).run()
    assert make_search(tmp_path / "run", "all").resume().finished is not None


def test_a_bench_that_forgets_a_candidate_is_found_out(tmp_path: Path) -> None:
    class Forgetful(FakeBench):
        def measure(
            self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
        ) -> Iterator[tuple[Candidate, Measurement]]:
            return super().measure(task, candidates[:1], hopeless_below) if len(candidates) > 3 else iter(())

    with pytest.raises(BenchBroken, match="no outcome"):
        make_search(tmp_path / "run", "all", bench=Forgetful()).run()


def test_a_build_that_the_machine_failed_is_tried_again(tmp_path: Path) -> None:
    class Shaky(FakeBench):
        def __init__(self) -> None:
            super().__init__()
            self.seen: set[str] = set()

        def _build(self, candidate: Candidate) -> Build:
            if candidate.id not in self.seen:
                self.seen.add(candidate.id)
                return Build(Status.INFRASTRUCTURE, "no space left for objects")
            return super()._build(candidate)

    make_search(tmp_path / "shaky", bench=Shaky()).run()
    make_search(tmp_path / "whole").run()
    assert journal_of(tmp_path / "shaky") == journal_of(tmp_path / "whole")


def test_a_winner_must_hold_up(tmp_path: Path) -> None:
    class Flaky(FakeBench):
        """The three fastest are wrong when they are measured again."""

        bad: tuple[str, ...] = ()

        def _measure(self, task: Task, candidate: Candidate, hopeless_below: float | None) -> Measurement:
            if hopeless_below is None and candidate.id in self.bad:
                return Measurement(Status.WRONG, "it was luck")
            return super()._measure(task, candidate, hopeless_below)

    whole = make_search(tmp_path / "whole", "all").run()
    ranking = [node.id for node in whole.ranking()]
    assert whole.verified == ranking[:3]
    bench = Flaky()
    bench.bad = tuple(ranking[:3])
    state = make_search(tmp_path / "run", "all", bench=bench).run()
    assert state.verified == ranking[:6]
    assert state.best is not None
    assert state.finished is not None
    assert state.best.id == state.finished.best == ranking[3]


class Doubtful(FakeBench):
    """A bench whose second look at the first `unsure` winners has an interval that reaches below 1."""

    def __init__(self, unsure: int) -> None:
        super().__init__(failure_share=0.0)
        self._unsure = unsure
        self._seen: set[str] = set()

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        for candidate, outcome in super().measure(task, candidates, hopeless_below):
            if candidate.id in self._seen and self._unsure > 0:
                self._unsure -= 1
                outcome = replace(outcome, low=0.5)
            self._seen.add(candidate.id)
            yield candidate, outcome


def test_a_winner_that_is_not_shown_to_be_faster_gives_way_to_one_that_is(tmp_path: Path) -> None:
    state = make_search(tmp_path / "run", bench=Doubtful(unsure=SMALL.verify_count)).run()
    assert len(state.verified) == SMALL.verify_count + 1
    assert state.best is not None and state.best.id == state.verified[-1]
    assert state.shown_faster


def test_nothing_is_announced_where_nothing_is_shown_to_be_faster(tmp_path: Path) -> None:
    state = make_search(tmp_path / "run", bench=Doubtful(unsure=10**6)).run()
    assert SMALL.verify_count < len(state.verified) <= SMALL.verify_attempts
    assert state.best is not None and not state.shown_faster
    assert (state.best.measurement.speedup or 0.0) > 1.0 if state.best.measurement else False


def test_reused_measurements_cost_no_device_time_but_count_in_a_search(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "catalogue.sqlite", fsync=False)
    first = make_search(tmp_path / "first", catalogue=catalogue).run()
    bench = FakeBench()
    second = make_search(tmp_path / "second", bench=bench, catalogue=catalogue).run()
    assert first.reused == 0
    assert second.reused == second.measured == first.measured
    assert second.device_s == 0.0
    assert bench.asked == second.verified
    assert second.best is not None
    assert first.best is not None
    assert second.best.id == first.best.id


def test_a_finished_run_is_returned_as_it_is(tmp_path: Path) -> None:
    state = make_search(tmp_path / "run").run()
    before, bench = journal_of(tmp_path / "run"), FakeBench()
    assert make_search(tmp_path / "run", bench=bench).resume().finished == state.finished
    assert journal_of(tmp_path / "run") == before
    assert not bench.asked


def test_other_runs_are_not_touched(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    with pytest.raises(NoRun, match="holds no run"):
        make_search(run_dir).resume()
    assert not run_dir.exists()
    make_search(run_dir).run()
    before = journal_of(run_dir)
    with pytest.raises(RunExists, match="resume it, or choose another directory"):
        make_search(run_dir).run()
    with pytest.raises(OtherRun, match="its seed is 0, not 1"):
        make_search(run_dir, seed=1).resume()
    with pytest.raises(OtherRun, match="its policy is 'selective', not 'top'"):
        make_search(run_dir, "top").resume()
    with pytest.raises(OtherRun, match=r"fake 1.0.*fake 2.0"):
        make_search(run_dir, bench=FakeBench(device=replace(FAKE_DEVICE, toolchain="fake 2.0"))).resume()
    other = make_search(run_dir)
    other._task = library.get("log_softmax")
    with pytest.raises(OtherRun, match="its task is 'softmax', not 'log_softmax'"):
        other.resume()
    assert journal_of(run_dir) == before


def test_a_run_in_use_is_busy(tmp_path: Path) -> None:
    def again(event: Event, state: RunState) -> None:
        with pytest.raises(RunBusy):
            make_search(tmp_path / "run").resume()
        assert load_run(tmp_path / "run").rounds == state.rounds

    make_search(tmp_path / "run", on_event=again).run()


def test_a_journal_that_makes_no_sense_is_refused_with_its_line(tmp_path: Path) -> None:
    make_search(tmp_path / "run").run()
    lines = journal_of(tmp_path / "run").splitlines(keepends=True)
    forged = encode({"n": 2, "t": 0.0, "event": "measured", "payload": {"id": "nobody"}})
    (tmp_path / "run" / "journal.jsonl").write_bytes(b"".join([*lines[:2], forged, *lines[3:]]))
    with pytest.raises(JournalDamaged, match="line 3 of"):
        load_run(tmp_path / "run")


def test_a_language_without_a_reference_is_refused(tmp_path: Path) -> None:
    search = make_search(tmp_path / "run")
    search._config = SearchConfig("cobol", 0, SMALL)
    with pytest.raises(ValueError, match="no reference in 'cobol'; it has one in cpp"):
        search.run()


def test_the_configuration_is_written_whole(tmp_path: Path) -> None:
    state = make_search(tmp_path / "run", seed=3).run()
    assert SearchConfig.from_resolved(state.config) == SearchConfig("cpp", 3, SMALL)
    assert state.config["budgets"] == {"measurements": 12, "seconds": 1e6, "candidates": 60}
    names = [state.config[key] for key in ("task", "policy", "strategy", "forecaster", "proposer")]
    assert names == ["softmax", "selective", "puct", "fake", "fake"]
    assert differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2}) == ["its a.b is 1, not 3"]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_profiles_survive_json_and_refits_thin_out(profile: Profile) -> None:
    assert Profile.from_dict(profile.to_dict()) == profile
    counts = list(range(20000))
    levels = [refit_level(count, profile) for count in counts]
    assert levels == sorted(levels)
    refits: list[int] = []
    known = 0
    for count in counts:
        if refit_level(count, profile) > refit_level(known, profile):
            known = count
            refits.append(count)
    assert refits[: profile.refit_every_until] == list(range(1, profile.refit_every_until + 1))
    assert sum(refits) < 12 * 20000
    assert last_refit(counts, profile) == refits[-1]


def test_unknown_names_are_answered_with_known_ones() -> None:
    with pytest.raises(ValueError, match="quick, standard, thorough"):
        get_profile("heroic")
    with pytest.raises(ValueError, match="above zero"):
        Budgets(0, 1.0, 1)
    with pytest.raises(ValueError, match="must not be negative"):
        SearchConfig("cpp", -1, SMALL)


def test_the_search_takes_its_parts_in_the_order_of_the_loop(tmp_path: Path) -> None:
    """The signature others write against."""
    from foretell.kernels.bench.fake import FakeForecaster
    from foretell.kernels.search import FileJournal, make_strategy

    search = Search(
        TASK,
        FakeBench(),
        FakeProposer(TASK.name),
        FakeForecaster(),
        make_strategy("puct", SMALL),
        make_policy("top", SMALL),
        SearchConfig("cpp", 0, SMALL),
        FileJournal(tmp_path / "run"),
    )
    assert search.run().best is not None


def test_value_comes_back_to_what_it_left_and_spends_the_rest_there(tmp_path: Path) -> None:
    profile = small(budgets=Budgets(measurements=30, seconds=1e6, candidates=40), audit_share=0.0)
    events: list[Event] = []
    state = make_search(tmp_path, "value", profile=profile, on_event=lambda event, _: events.append(event)).run()
    rounds = [event for event in events if isinstance(event, Round)]
    recalled = [again.id for event in rounds for again in event.again]
    assert recalled and len(set(recalled)) == len(recalled)
    assert any(not event.children for event in rounds)  # after the last new candidate
    assert all(state.nodes[i].measurement is not None for i in recalled)
    assert state.considered == 40 and not state.pending
    assert state.trusted + state.dropped == len(state.reserves)
    assert state.measured + state.unbuilt + state.faults + len(state.reserves) == 40
    assert not set(state.reserves) & {i for i, node in state.nodes.items() if node.measurement is not None}


def test_policies_that_do_not_reconsider_end_with_the_last_candidate(tmp_path: Path) -> None:
    state = make_search(tmp_path, "top", profile=small(budgets=Budgets(1000, 1e6, 40))).run()
    assert state.finished is not None and state.finished.reason is StopReason.CANDIDATES
    assert state.reserves


def test_one_that_was_measured_cannot_be_recalled(tmp_path: Path) -> None:
    state = make_search(tmp_path, "top").run()
    node = next(node for node in state.nodes.values() if node.measurement is not None)
    fresh = RunState.fold([state.started])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="was not left unmeasured"):
        fresh.apply(Round(0, (), (), "fake", 0.0, (Again(node.id, node.forecast, "why"),)))


def test_a_run_of_a_version_with_fewer_settings_can_be_resumed(tmp_path: Path) -> None:
    here = make_search(tmp_path / "run", profile=SMALL)
    config = here._run_started().config
    older = {**config, "profile": {k: v for k, v in config["profile"].items() if k not in ("beam", "value")}}
    assert differences(older, config)
    assert not differences(completed(older), config)
