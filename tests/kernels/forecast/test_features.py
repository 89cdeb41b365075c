from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from foretell.belief import Forecast, crps, spearman
from foretell.kernels import forecast as forecasters
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.forecast import FeatureForecaster, RooflineForecaster, UnknownForecaster
from foretell.kernels.forecast.roofline import CERTAIN
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Build, Forecaster, Subject
from tests.kernels.conformance import ForecasterConformance
from tests.kernels.forecast.world import DEVICE, TASK, World, make_world, worked


class TestConformance(ForecasterConformance):
    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return FeatureForecaster(seed=3)

    @pytest.fixture
    def twin(self) -> Forecaster:
        return FeatureForecaster(seed=3)

    @pytest.fixture
    def subjects(self) -> list[Subject]:
        return [subject for subject in make_world(0).subjects if subject.build and subject.build.ok][:14]

    @pytest.fixture
    def task(self):  # type: ignore[no-untyped-def]
        return TASK

    @pytest.fixture
    def device(self):  # type: ignore[no-untyped-def]
        return DEVICE


def _after(world: World, count: int) -> tuple[list[Forecast], list[float], list[Forecast], list[Forecast]]:
    """Of the unmeasured: forecasts and outcomes of what works; forecasts of what is wrong; of what does not build."""
    forecaster = FeatureForecaster()
    forecaster.learn(TASK, DEVICE, world.measured(count))
    found = forecaster.forecast(TASK, DEVICE, world.subjects[count:])
    by_status: dict[Status, list[Forecast]] = {Status.OK: [], Status.WRONG: [], Status.COMPILE_ERROR: []}
    for forecast, outcome in zip(found, world.outcomes[count:], strict=True):
        by_status[outcome.status].append(forecast)
    values = [outcome.log2_speedup for outcome in world.outcomes[count:] if outcome.ok]
    return by_status[Status.OK], values, by_status[Status.WRONG], by_status[Status.COMPILE_ERROR]


def _mean_crps(forecasts: list[Forecast], values: list[float]) -> float:
    return float(np.mean([crps(f, v) for f, v in zip(forecasts, values, strict=True)]))


def _width(forecasts: list[Forecast]) -> float:
    return float(np.mean([f.interval(0.8)[1] - f.interval(0.8)[0] for f in forecasts]))


def test_better_and_sharper_with_every_doubling() -> None:
    scores, widths = [], []
    for count in (0, 12, 40, 120):
        results = [_after(make_world(seed), count) for seed in range(3)]
        scores.append(np.mean([_mean_crps(f, v) for f, v, _, _ in results]))
        widths.append(np.mean([_width(f) for f, _, _, _ in results]))
    assert scores == sorted(scores, reverse=True)
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 3.0
    assert scores[-1] < 0.15


def test_ranks_what_it_has_not_seen() -> None:
    for count, least in ((40, 0.6), (120, 0.9)):
        forecasts, values, _, _ = _after(make_world(1), count)
        assert spearman([f.median for f in forecasts], values) > least


@pytest.mark.parametrize("count", [20, 60, 120])
def test_intervals_hold_what_they_claim(count: int) -> None:
    inside: list[bool] = []
    for seed in range(6):
        forecasts, values, _, _ = _after(make_world(seed), count)
        inside += [f.interval(0.8)[0] <= v <= f.interval(0.8)[1] for f, v in zip(forecasts, values, strict=True)]
    assert 0.7 < np.mean(inside) < 0.97


def test_intervals_hold_for_what_a_search_picks() -> None:
    inside: list[bool] = []
    for seed in range(3):
        world = make_world(seed)
        left, taken = list(range(8, len(world.subjects))), list(range(8))
        for _ in range(8):
            forecaster = FeatureForecaster()
            forecaster.learn(TASK, DEVICE, [(world.subjects[i], world.outcomes[i]) for i in taken])
            found = forecaster.forecast(TASK, DEVICE, [world.subjects[i] for i in left])
            best = max((world.outcomes[i].speedup or 0.0 for i in taken), default=1.0) or 1.0
            order = sorted(range(len(left)), key=lambda j: -found[j].expected_improvement(best))[:8]
            for j in order:
                if world.outcomes[left[j]].ok:
                    low, high = found[j].interval(0.8)
                    inside.append(low <= world.outcomes[left[j]].log2_speedup <= high)
            taken += [left[j] for j in order]
            left = [i for i in left if i not in taken]
    assert np.mean(inside) > 0.7


def test_tells_what_will_be_wrong() -> None:
    works, _, wrong, unbuildable = _after(make_world(2), 80)
    assert np.mean([f.p_fail for f in works]) < 0.15
    assert np.mean([f.p_fail for f in wrong]) > 0.75
    assert {f.p_fail for f in unbuildable} == {CERTAIN}


def test_failed_builds_blame_no_one_else() -> None:
    world = make_world(3)
    broken = [s for s in world.subjects if s.build and not s.build.ok][:20]
    good = [s for s in world.subjects if s.build and s.build.ok][:4]
    forecaster = FeatureForecaster()
    before = [f.p_fail for f in forecaster.forecast(TASK, DEVICE, good)]
    forecaster.learn(TASK, DEVICE, [(s, Measurement(Status.COMPILE_ERROR)) for s in broken])
    assert [f.p_fail for f in forecaster.forecast(TASK, DEVICE, good)] == before
    unbuilt = forecaster.forecast(TASK, DEVICE, [Subject(s.candidate) for s in good])
    assert all(0.8 < f.p_fail <= CERTAIN for f in unbuilt)


@pytest.mark.parametrize(
    "outcomes",
    [
        [worked(0.3)],
        [worked(0.3)] * 12,
        [Measurement(Status.WRONG)] * 12,
        [Measurement(Status.COMPILE_ERROR)] * 12,
        [Measurement(Status.INFRASTRUCTURE)] * 12,
        [worked(0.3), Measurement(Status.CRASH)],
        [worked(v) for v in (-40.0, 40.0, 0.0)],
        [Measurement(Status.OK, speedup=None), Measurement(Status.OK, speedup=math.inf)],
        [replace(worked(-5.0), stopped_early=True)] * 3,
    ],
)
def test_degenerate_runs_give_sound_forecasts(outcomes: list[Measurement]) -> None:
    world = make_world(4)
    same = [(world.subjects[0], outcome) for outcome in outcomes]
    different = list(zip(world.subjects, outcomes, strict=False))
    for measured in (same, different):
        forecaster = FeatureForecaster()
        forecaster.learn(TASK, DEVICE, measured)
        for forecast in forecaster.forecast(TASK, DEVICE, world.subjects[:20]):
            assert 0.0 < forecast.p_fail < 1.0
            assert math.isfinite(forecast.median)
            assert forecast.interval(0.8)[0] < forecast.interval(0.8)[1]


def test_faults_of_the_machine_change_nothing() -> None:
    world = make_world(5)
    fault = Measurement(Status.INFRASTRUCTURE, "the device is gone")
    plain, faulty = FeatureForecaster(), FeatureForecaster()
    plain.learn(TASK, DEVICE, world.measured(30))
    faulty.learn(TASK, DEVICE, [pair for m in world.measured(30) for pair in ((world.subjects[99], fault), m)])
    assert plain.forecast(TASK, DEVICE, world.subjects[30:46]) == faulty.forecast(TASK, DEVICE, world.subjects[30:46])


def test_few_measurements_leave_it_wide() -> None:
    forecasts, _, _, _ = _after(make_world(6), 5)
    assert _width(forecasts) > 1.5


def test_what_was_learnt_holds_for_one_task_on_one_device() -> None:
    world = make_world(7)
    fresh, taught = FeatureForecaster(), FeatureForecaster()
    taught.learn(TASK, DEVICE, world.measured(30))
    for task, device in ((get("log_softmax"), DEVICE), (TASK, replace(DEVICE, toolchain="another"))):
        assert taught.forecast(task, device, world.subjects[:3]) == fresh.forecast(task, device, world.subjects[:3])


def test_a_measured_reference_is_not_counted_twice() -> None:
    world = make_world(8)
    reference = Candidate(TASK.name, "cpp", TASK.references["cpp"], Origin("reference"))
    built = Subject(reference, Build(Status.OK, features={"instructions": 50.0}))
    forecaster = FeatureForecaster()
    forecaster.learn(TASK, DEVICE, [(built, worked(0.0)), *world.measured(40)])
    assert abs(forecaster.forecast(TASK, DEVICE, [built])[0].median) < 0.3


def test_languages_without_a_reader_still_learn_from_text() -> None:
    def subject(tile: int) -> Subject:
        return Subject(Candidate(TASK.name, "triton", f"TILE = {tile}\nx = load(TILE)\n"))

    forecaster = FeatureForecaster()
    forecaster.learn(TASK, DEVICE, [(subject(tile), worked(2.0 if tile == 64 else -1.0)) for tile in (16, 32, 64) * 6])
    slow, fast = forecaster.forecast(TASK, DEVICE, [subject(32), subject(64)])
    assert fast.median > slow.median + 1.5


def test_made_by_name() -> None:
    assert isinstance(forecasters.make("features", 1), FeatureForecaster)
    assert isinstance(forecasters.make("roofline"), RooflineForecaster)
    with pytest.raises(UnknownForecaster, match="features, roofline"):
        forecasters.make("oracle", 0)
