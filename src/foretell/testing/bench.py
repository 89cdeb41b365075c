"""What every bench must do: inherit the class, supply the fixtures, get the tests."""

from __future__ import annotations

import pytest

from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Status
from foretell.kernels.protocols import Bench
from foretell.kernels.task import Task


class BenchConformance:
    """Any bench: failures are values, outcomes are of the candidates asked for, each once, with samples that add up."""

    @pytest.fixture
    def bench(self) -> Bench:
        raise NotImplementedError

    @pytest.fixture
    def task(self) -> Task:
        raise NotImplementedError

    @pytest.fixture
    def working(self) -> list[Candidate]:
        """At least two different candidates of the task that build, are right and do not take long."""
        raise NotImplementedError

    @pytest.fixture
    def broken(self) -> Candidate:
        """A candidate that does not build."""
        raise NotImplementedError

    def test_its_device_is_described(self, bench: Bench) -> None:
        assert Device.from_dict(bench.device.to_dict()) == bench.device
        assert bench.device.id

    def test_builds_in_order_and_failures_are_values(
        self, bench: Bench, task: Task, working: list[Candidate], broken: Candidate
    ) -> None:
        builds = bench.build(task, [working[0], broken, working[1]])
        assert [build.ok for build in builds] == [True, False, True]
        assert builds[1].status.is_failure and builds[1].message.strip() and not builds[1].features

    def test_each_candidate_has_one_outcome(
        self, bench: Bench, task: Task, working: list[Candidate], broken: Candidate
    ) -> None:
        outcomes = list(bench.measure(task, [*working, broken]))
        assert sorted(candidate.id for candidate, _ in outcomes) == sorted(c.id for c in (*working, broken))
        assert {c.id: outcome.status for c, outcome in outcomes}[broken.id] is Status.COMPILE_ERROR

    def test_a_speedup_comes_with_its_interval_and_samples(
        self, bench: Bench, task: Task, working: list[Candidate]
    ) -> None:
        for _, outcome in bench.measure(task, working):
            assert outcome.ok, outcome.message
            assert outcome.speedup is not None and outcome.low is not None and outcome.high is not None
            assert 0 < outcome.low <= outcome.speedup <= outcome.high
            assert [timing.workload for timing in outcome.timings] == [w.name for w in task.workloads]
            assert all(timing.reference_us and timing.candidate_us for timing in outcome.timings)
            assert outcome.device == bench.device.id and outcome.method and outcome.cost.device_s >= 0

    def test_nothing_to_do(self, bench: Bench, task: Task) -> None:
        assert bench.build(task, []) == [] and list(bench.measure(task, [])) == []

    def test_may_be_closed_twice(self, bench: Bench) -> None:
        bench.close()
        bench.close()
