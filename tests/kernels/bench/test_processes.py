"""Several pairs of fresh processes as one measurement."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foretell.kernels.bench import cpu, trial
from foretell.kernels.bench.cpu import CpuBench, reference_candidate
from foretell.kernels.bench.processes import over_processes
from foretell.kernels.bench.statistics import combine, timing
from foretell.kernels.bench.worker import Worker
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.profiles import BenchEffort
from foretell.kernels.store.combine import pool

TASK = get("softmax")


def _taken(*reference_us: float, candidate_us: float = 2900.0) -> Measurement:
    """One pair of processes: a workload per reference time, with next to no spread within the pair."""
    timings = [
        timing(f"w{i}", [us * (1 + 0.001 * k) for k in range(5)], [candidate_us] * 5)
        for i, us in enumerate(reference_us)
    ]
    conditions = {"load": 1.0, "cores": 2, "others": 0.1, "pairs": 5, "retaken": 0, "disturbed": False}
    return Measurement(Status.OK, "", *combine(timings, 0.035), tuple(timings), conditions=conditions)


def test_interval_holds_what_differs_between_processes() -> None:
    """The reference has two modes, a quarter apart; which one it has is drawn once in the life of its process."""
    slow, fast = _taken(3590.0), _taken(2850.0)
    assert slow.low is not None and slow.low > 1.1  # by itself it would be "verified"
    both = over_processes([fast, slow, fast])
    assert both.low is not None and both.high is not None and slow.high is not None and fast.low is not None
    assert both.low <= fast.low and both.high >= slow.high and not both.shown_faster
    assert both.speedup == fast.speedup  # one odd process of three does not move it
    assert both.processes_disagree and both.conditions["processes"] == 3 and both.conditions["pairs"] == 15


def test_processes_that_agree_leave_the_interval_as_it_was() -> None:
    one = _taken(2850.0, 3100.0)
    three = over_processes([one, one, one])
    assert (three.speedup, three.low, three.high) == pytest.approx((one.speedup, one.low, one.high))
    assert not three.processes_disagree
    assert over_processes([one]) is one


def test_the_task_and_its_workloads_agree() -> None:
    outcome = over_processes([_taken(3590.0), _taken(2850.0), _taken(3000.0)])
    assert outcome.speedup == pytest.approx(outcome.timings[0].speedup)
    assert pool([(t.speedup, t.low, t.high) for t in outcome.timings]).speedup == pytest.approx(outcome.speedup)
    odd = over_processes([_taken(2000.0, 4000.0, 4000.0), _taken(4000.0, 2000.0, 4000.0), _taken(4000.0, 4000.0, 2000)])
    assert odd.low is not None and odd.speedup is not None and odd.high is not None
    assert odd.low <= odd.speedup <= odd.high


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The process ids of all workers that are started."""
    pids: list[int] = []

    class Noted(Worker):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            pids.append(self.pid)

    monkeypatch.setattr(cpu, "Worker", Noted)
    monkeypatch.setattr(trial, "Worker", Noted)
    yield pids


def test_each_measurement_has_fresh_processes_and_a_careful_one_several_pairs(started: list[int]) -> None:
    bench = CpuBench(BenchEffort(fewest_pairs=3, most_pairs=3, run_timeout_s=30.0, processes_cap_s=600.0))
    try:
        for hopeless_below, pairs in ((0.01, 1), (0.01, 1), (None, 3)):
            before = len(started)
            [(_, outcome)] = bench.measure(TASK, [reference_candidate(TASK)], hopeless_below)
            assert outcome.ok, outcome.message
            assert len(started) - before == 2 * pairs
            assert outcome.conditions.get("processes", 1) == pairs
            assert ("pairs of fresh processes" in outcome.method) == (pairs > 1)
    finally:
        bench.close()
