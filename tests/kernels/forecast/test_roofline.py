from __future__ import annotations

import math
from dataclasses import replace

import pytest

from foretell.kernels.device import roofline_s
from foretell.kernels.forecast import RooflineForecaster
from foretell.kernels.forecast.roofline import CERTAIN, headroom_log2, least_s, reference_times_s
from foretell.kernels.library import tasks
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Build, Forecaster, Subject
from tests.kernels.forecast.world import DEVICE, TASK, WorldConformance, make_world, worked


class TestConformance(WorldConformance):
    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return RooflineForecaster()

    @pytest.fixture
    def twin(self) -> Forecaster:
        return RooflineForecaster()


def test_no_speedup_beyond_the_headroom() -> None:
    forecaster = RooflineForecaster()
    measured = [(make_world(0).subjects[0], worked(0.5, reference_us=5000.0))]
    forecaster.learn(TASK, DEVICE, measured)
    forecast = forecaster.forecast(TASK, DEVICE, [measured[0][0]])[0]
    rooms = [math.log2(5e-3 / least_s(TASK, w, DEVICE)) for w in TASK.workloads]
    assert forecast.knots[-1] == pytest.approx(sum(rooms) / len(rooms))
    assert forecast.knots[0] < -3.0
    assert forecast.interval(0.8)[1] - forecast.interval(0.8)[0] > 2.0


def test_least_time_is_a_bound_whatever_the_cache_holds() -> None:
    tiny_cache = replace(DEVICE, cache_bytes=0)
    for task in tasks().values():
        for workload in task.workloads:
            warm, cold = least_s(task, workload, DEVICE), least_s(task, workload, tiny_cache)
            assert 0.0 < warm <= cold
            assert cold == pytest.approx(max(1e-6, roofline_s(task, workload, tiny_cache)))


def test_estimates_before_the_reference_is_measured() -> None:
    gpu = replace(DEVICE, kind="gpu")
    for task in tasks().values():
        for device in (DEVICE, gpu):
            assert 0.0 < headroom_log2(task, device, {}) < 20.0


def test_a_reference_at_its_roofline_leaves_little_room() -> None:
    known = {w.name: least_s(TASK, w, DEVICE) / 4.0 for w in TASK.workloads}
    assert headroom_log2(TASK, DEVICE, known) == 0.25


def test_reference_times_are_medians_and_ignore_faults_of_the_machine() -> None:
    fault = replace(worked(0.0, reference_us=1e9), status=Status.INFRASTRUCTURE)
    times = reference_times_s([worked(0.0, 100.0), worked(1.0, 300.0), worked(-1.0, 200.0), fault, fault, fault])
    assert times == {w.name: pytest.approx(2e-4) for w in TASK.workloads}
    assert reference_times_s([Measurement(Status.WRONG)]) == {}


def test_failed_builds_are_near_certain_failures() -> None:
    subject = make_world(0).subjects[0]
    usual, failed = (Subject(subject.candidate, Build(status)) for status in (Status.OK, Status.COMPILE_ERROR))
    forecasts = RooflineForecaster(0.3).forecast(TASK, DEVICE, [usual, failed])
    assert [f.p_fail for f in forecasts] == [0.3, CERTAIN]


def test_a_senseless_prior_is_refused() -> None:
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        RooflineForecaster(1.0)
