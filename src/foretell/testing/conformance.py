"""What every policy, strategy, forecaster and proposer must do: inherit the class, supply the fixture, get the tests.

class TestMine(PolicyConformance):
    @pytest.fixture
    def policy(self) -> Policy:
        return MyPolicy()
"""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.policy import Action, Policy, View
from foretell.kernels.protocols import Build, Forecaster, Proposer, Subject
from foretell.kernels.search import Archive, Strategy
from foretell.kernels.task import Task


def as_read(data: dict[str, Any]) -> dict[str, Any]:
    """Data as the journal gives them back: through JSON."""
    read: dict[str, Any] = json.loads(json.dumps(data))
    return read


def random_view(seed: int, count: int = 16) -> View:
    """A view drawn at random: new or seasoned forecaster, rich or poor budgets, sure or doubtful forecasts."""
    rng = np.random.default_rng(seed)
    forecasts = tuple(
        Forecast.from_normal(rng.normal(0, 1), abs(rng.normal(0, 0.5)) + 0.01, rng.random() ** 3) for _ in range(count)
    )
    return View(
        forecasts=forecasts,
        incumbent=float(2.0 ** abs(rng.normal(0, 1))),
        learnt=int(rng.integers(0, 40)),
        pending=int(rng.integers(0, 2)),
        mean_cost_s=None if rng.random() < 0.3 else float(rng.random() + 0.1),
        remaining_measurements=int(rng.integers(0, 30)),
        remaining_s=float(rng.random() * 30),
        round=int(rng.integers(0, 50)),
    )


class PolicyConformance:
    """Any policy: one reasoned choice a forecast, within the budgets, and a pure function of its arguments."""

    @pytest.fixture
    def policy(self) -> Policy:
        raise NotImplementedError

    @pytest.mark.parametrize("seed", range(20))
    def test_one_reasoned_choice_for_each_forecast(self, policy: Policy, seed: int) -> None:
        view = random_view(seed)
        choices = policy.decide(view, np.random.default_rng(seed))
        assert len(choices) == len(view.forecasts)
        assert all(choice.reason.strip() for choice in choices)
        assert not any(choice.audit for choice in choices if choice.action is Action.MEASURE)

    @pytest.mark.parametrize("seed", range(20))
    def test_never_measures_more_than_is_affordable(self, policy: Policy, seed: int) -> None:
        view = random_view(seed)
        choices = policy.decide(view, np.random.default_rng(seed))
        assert sum(choice.to_measure for choice in choices) <= view.affordable

    @pytest.mark.parametrize("seed", range(20))
    def test_is_pure(self, policy: Policy, seed: int) -> None:
        view = random_view(seed)
        first = policy.decide(view, np.random.default_rng(seed))
        policy.decide(random_view(seed + 100), np.random.default_rng(0))
        assert policy.decide(view, np.random.default_rng(seed)) == first

    def test_takes_an_empty_batch(self, policy: Policy) -> None:
        assert policy.decide(random_view(0, count=0), np.random.default_rng(0)) == []

    def test_measures_nothing_without_budget(self, policy: Policy) -> None:
        for broke in (replace(random_view(1), remaining_measurements=0), replace(random_view(1), remaining_s=0.0)):
            choices = policy.decide(broke, np.random.default_rng(0))
            assert not any(choice.to_measure for choice in choices)

    def test_measures_something_at_first(self, policy: Policy) -> None:
        fresh = replace(random_view(2), learnt=0, round=0, pending=0, remaining_measurements=40, remaining_s=1e3)
        assert any(choice.to_measure for choice in policy.decide(fresh, np.random.default_rng(0)))


def random_archive(seed: int, size: int, parents: int = 1) -> Archive:
    """A random tree (or, with more parents, a lattice) of five cells in which a third of the nodes have no value."""
    rng = np.random.default_rng(seed)
    archive = Archive()
    archive.add("n0", (), 0.0, partial(tuple[int, ...], (0,)))
    for i in range(1, size):
        above = [j for j in range(i) if not math.isnan(archive.values[j])]
        chosen = rng.choice(above, size=min(len(above), int(rng.integers(1, parents + 1))), replace=False)
        value = None if rng.random() < 0.33 else float(rng.normal())
        archive.add(f"n{i}", [f"n{j}" for j in chosen], value, partial(tuple[int, ...], (i % 5,)))
        if rng.random() < 0.3:
            archive.expand([f"n{j}" for j in chosen])
    return archive


class StrategyConformance:
    """Any strategy: picks different nodes that have a value, purely, and leaves the archive as it was."""

    @pytest.fixture
    def strategy(self) -> Strategy:
        raise NotImplementedError

    @pytest.mark.parametrize("seed", range(10))
    @pytest.mark.parametrize("count", [1, 4, 100])
    def test_picks_different_nodes_with_values(self, strategy: Strategy, seed: int, count: int) -> None:
        archive = random_archive(seed, 40)
        picked = strategy.select(archive, count, np.random.default_rng(seed))
        assert 1 <= len(picked) <= count
        assert len(set(picked)) == len(picked)
        assert not any(math.isnan(archive.values[archive.index(i)]) for i in picked)

    @pytest.mark.parametrize("seed", range(10))
    def test_is_pure(self, strategy: Strategy, seed: int) -> None:
        archive = random_archive(seed, 40)
        before = copy.deepcopy(archive)
        first = strategy.select(archive, 4, np.random.default_rng(seed))
        strategy.select(random_archive(seed + 1, 10), 4, np.random.default_rng(0))
        assert strategy.select(before, 4, np.random.default_rng(seed)) == first
        assert archive.ids == before.ids
        assert archive.expansions == before.expansions
        np.testing.assert_array_equal(archive.values, before.values)
        np.testing.assert_array_equal(archive.visits, before.visits)

    @pytest.mark.parametrize("seed", range(10))
    def test_does_not_depend_on_what_was_asked_before(self, strategy: Strategy, seed: int) -> None:
        archive = random_archive(seed, 40)
        fresh = copy.deepcopy(archive)
        away = {i: float(value) for i, value in zip(archive.ids[1::3], archive.values[1::3], strict=True)}
        for node_id in away:
            archive.set_value(node_id, None)
        strategy.select(archive, 4, np.random.default_rng(0))
        for node_id, value in away.items():
            archive.set_value(node_id, None if math.isnan(value) else value)
        expected = strategy.select(fresh, 4, np.random.default_rng(seed))
        assert strategy.select(archive, 4, np.random.default_rng(seed)) == expected

    def test_picks_the_reference_when_there_is_nothing_else(self, strategy: Strategy) -> None:
        assert strategy.select(random_archive(0, 1), 4, np.random.default_rng(0)) == ["n0"]


class ForecasterConformance:
    """Any forecaster: one forecast a subject, knowing exactly what the last `learn` told it and nothing else."""

    @pytest.fixture
    def forecaster(self) -> Forecaster:
        raise NotImplementedError

    @pytest.fixture
    def twin(self) -> Forecaster:
        """Another forecaster with the same settings, which has seen nothing."""
        raise NotImplementedError

    @pytest.fixture
    def subjects(self) -> list[Subject]:
        """At least six built candidates of the task, different from each other."""
        raise NotImplementedError

    @pytest.fixture
    def outcomes(self, subjects: list[Subject]) -> list[tuple[Subject, Measurement]]:
        def outcome(i: int) -> Measurement:
            if i % 5 == 4:
                return Measurement(Status.WRONG, "an output differs")
            speedup = 2.0 ** (i % 4 - 1.5)
            return Measurement(Status.OK, speedup=speedup, low=speedup * 0.98, high=speedup * 1.02)

        return [(subject, outcome(i)) for i, subject in enumerate(subjects)]

    @pytest.fixture
    def task(self) -> Task:
        raise NotImplementedError

    @pytest.fixture
    def device(self) -> Device:
        raise NotImplementedError

    def test_forecasts_every_subject_before_it_knows_anything(
        self, forecaster: Forecaster, task: Task, device: Device, subjects: list[Subject]
    ) -> None:
        assert len(forecaster.forecast(task, device, subjects)) == len(subjects)
        forecaster.learn(task, device, [])
        assert len(forecaster.forecast(task, device, subjects)) == len(subjects)
        assert forecaster.forecast(task, device, []) == []

    def test_takes_failed_builds_and_unbuilt_candidates(
        self,
        forecaster: Forecaster,
        task: Task,
        device: Device,
        subjects: list[Subject],
        outcomes: list[tuple[Subject, Measurement]],
    ) -> None:
        broken = Subject(subjects[0].candidate, Build(Status.COMPILE_ERROR, "error: no"))
        bare = Subject(subjects[1].candidate)
        assert len(forecaster.forecast(task, device, [broken, bare])) == 2
        forecaster.learn(task, device, [(broken, Measurement(Status.COMPILE_ERROR, "error: no")), *outcomes[1:]])
        assert len(forecaster.forecast(task, device, [broken, bare])) == 2

    def test_learns_from_failures_alone(
        self, forecaster: Forecaster, task: Task, device: Device, subjects: list[Subject]
    ) -> None:
        forecaster.learn(task, device, [(subject, Measurement(Status.WRONG, "no")) for subject in subjects])
        assert len(forecaster.forecast(task, device, subjects)) == len(subjects)

    def test_knows_only_what_it_was_last_told(
        self,
        forecaster: Forecaster,
        twin: Forecaster,
        task: Task,
        device: Device,
        subjects: list[Subject],
        outcomes: list[tuple[Subject, Measurement]],
    ) -> None:
        for count in range(len(outcomes) + 1):
            forecaster.learn(task, device, outcomes[:count])
            forecaster.forecast(task, device, subjects)
        twin.learn(task, device, outcomes)
        assert forecaster.forecast(task, device, subjects) == twin.forecast(task, device, subjects)

    def test_depends_on_what_the_journal_keeps_only(
        self,
        forecaster: Forecaster,
        twin: Forecaster,
        task: Task,
        device: Device,
        subjects: list[Subject],
        outcomes: list[tuple[Subject, Measurement]],
    ) -> None:
        def journalled(subject: Subject) -> Subject:
            assert subject.build is not None
            build = Build.from_dict(as_read(subject.build.to_dict()))
            return Subject(Candidate.from_dict(as_read(subject.candidate.to_dict())), build)

        forecaster.learn(task, device, outcomes)
        again = [(journalled(subject), Measurement.from_dict(as_read(m.to_dict()))) for subject, m in outcomes]
        twin.learn(task, device, again)
        expected = forecaster.forecast(task, device, subjects)
        assert twin.forecast(task, device, [journalled(subject) for subject in subjects]) == expected

    def test_says_what_it_costs(self, forecaster: Forecaster) -> None:
        assert forecaster.name
        assert forecaster.cost_s >= 0.0


class ProposerConformance:
    """Any proposer that promises determinism: new candidates of the task, as many as asked, the same each time."""

    @pytest.fixture
    def proposer(self) -> Proposer:
        raise NotImplementedError

    @pytest.fixture
    def task(self) -> Task:
        raise NotImplementedError

    @pytest.fixture
    def reference(self, task: Task) -> Candidate:
        language, source = next(iter(task.references.items()))
        return Candidate(task.name, language, source, Origin("reference"))

    def test_proposes_new_candidates_of_the_task(self, proposer: Proposer, task: Task, reference: Candidate) -> None:
        known = {reference.id}
        parents = [reference]
        for turn in range(5):
            found = proposer.propose(task, parents, 8, np.random.default_rng(turn), known)
            assert len(found) <= 8
            assert len({candidate.id for candidate in found}) == len(found)
            assert not known & {candidate.id for candidate in found}
            assert {candidate.task for candidate in found} <= {task.name}
            assert {candidate.language for candidate in found} <= {reference.language}
            lineage = {parent.id for parent in parents}
            assert all(set(candidate.parents) & lineage for candidate in found)
            known |= {candidate.id for candidate in found}
            parents = found[:3] or parents

    def test_is_deterministic_in_its_arguments(self, proposer: Proposer, task: Task, reference: Candidate) -> None:
        first = proposer.propose(task, [reference], 8, np.random.default_rng(3), {reference.id})
        proposer.propose(task, [reference], 8, np.random.default_rng(4), set())
        assert proposer.propose(task, [reference], 8, np.random.default_rng(3), {reference.id}) == first

    def test_goes_on_from_journalled_parents(self, proposer: Proposer, task: Task, reference: Candidate) -> None:
        parents = proposer.propose(task, [reference], 3, np.random.default_rng(0), {reference.id})
        again = [Candidate.from_dict(as_read(parent.to_dict())) for parent in parents]
        known = {reference.id, *(parent.id for parent in parents)}
        first = proposer.propose(task, parents, 6, np.random.default_rng(1), known)
        assert proposer.propose(task, again, 6, np.random.default_rng(1), known) == first

    def test_leaves_its_arguments_alone(self, proposer: Proposer, task: Task, reference: Candidate) -> None:
        known, parents = {reference.id}, [reference]
        proposer.propose(task, parents, 4, np.random.default_rng(0), known)
        assert known == {reference.id}
        assert parents == [reference]
