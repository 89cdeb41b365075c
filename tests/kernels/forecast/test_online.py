"""The online forecaster: corrects another from a run's own measurements, and says how far it can be believed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from foretell.belief import Forecast, crps, spearman
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.forecast import OnlineForecaster, RooflineForecaster, TrainedForecaster
from foretell.kernels.forecast.roofline import CERTAIN
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Build, Forecaster, Subject
from foretell.kernels.task import Task
from tests.kernels.forecast.world import DEVICE, TASK, World, WorldConformance, make_world, worked


def _over_roofline() -> OnlineForecaster:
    return OnlineForecaster(RooflineForecaster())


class TestConformance(WorldConformance):
    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return OnlineForecaster(RooflineForecaster(), seed=3)

    @pytest.fixture
    def twin(self) -> Forecaster:
        return OnlineForecaster(RooflineForecaster(), seed=3)


def _after(world: World, count: int) -> tuple[list[Forecast], list[float], list[Forecast], list[Forecast]]:
    """Of the unmeasured: forecasts and outcomes of what works; forecasts of what is wrong; of what does not build."""
    forecaster = _over_roofline()
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
            forecaster = _over_roofline()
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
    forecaster = _over_roofline()
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
        forecaster = _over_roofline()
        forecaster.learn(TASK, DEVICE, measured)
        for forecast in forecaster.forecast(TASK, DEVICE, world.subjects[:20]):
            assert 0.0 < forecast.p_fail < 1.0
            assert math.isfinite(forecast.median)
            assert forecast.interval(0.8)[0] < forecast.interval(0.8)[1]


def test_faults_of_the_machine_change_nothing() -> None:
    world = make_world(5)
    fault = Measurement(Status.INFRASTRUCTURE, "the device is gone")
    plain, faulty = _over_roofline(), _over_roofline()
    plain.learn(TASK, DEVICE, world.measured(30))
    faulty.learn(TASK, DEVICE, [pair for m in world.measured(30) for pair in ((world.subjects[99], fault), m)])
    assert plain.forecast(TASK, DEVICE, world.subjects[30:46]) == faulty.forecast(TASK, DEVICE, world.subjects[30:46])


def test_few_measurements_leave_it_wide() -> None:
    forecasts, _, _, _ = _after(make_world(6), 5)
    assert _width(forecasts) > 1.5


def test_what_was_learnt_holds_for_one_task_on_one_device() -> None:
    world = make_world(7)
    fresh, taught = _over_roofline(), _over_roofline()
    taught.learn(TASK, DEVICE, world.measured(30))
    for task, device in ((get("log_softmax"), DEVICE), (TASK, replace(DEVICE, toolchain="another"))):
        assert taught.forecast(task, device, world.subjects[:3]) == fresh.forecast(task, device, world.subjects[:3])


def test_a_measured_reference_is_not_counted_twice() -> None:
    world = make_world(8)
    reference = Candidate(TASK.name, "cpp", TASK.references["cpp"], Origin("reference"))
    built = Subject(reference, Build(Status.OK, features={"instructions": 50.0}))
    forecaster = _over_roofline()
    forecaster.learn(TASK, DEVICE, [(built, worked(0.0)), *world.measured(40)])
    assert abs(forecaster.forecast(TASK, DEVICE, [built])[0].median) < 0.3


def test_languages_without_a_reader_still_learn_from_text() -> None:
    def subject(tile: int) -> Subject:
        return Subject(Candidate(TASK.name, "triton", f"TILE = {tile}\nx = load(TILE)\n"))

    forecaster = _over_roofline()
    forecaster.learn(TASK, DEVICE, [(subject(tile), worked(2.0 if tile == 64 else -1.0)) for tile in (16, 32, 64) * 6])
    slow, fast = forecaster.forecast(TASK, DEVICE, [subject(32), subject(64)])
    assert fast.median > slow.median + 1.5


class Knowing:
    """A base that says of a candidate what `tell` says of its place in the world, and notes what it is taught."""

    name, cost_s = "knowing", 0.25

    def __init__(self, world: World, tell: Callable[[int], Forecast], reference: float = 0.0) -> None:
        self.lessons: list[Sequence[tuple[Subject, Measurement]]] = []
        self.asked: list[str] = []
        self._places = {subject.candidate.source: i for i, subject in enumerate(world.subjects)}
        self._tell, self._reference = tell, reference

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        self.lessons.append(measured)

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        self.asked += [subject.candidate.source for subject in subjects]
        places = [self._places.get(subject.candidate.source) for subject in subjects]
        return [Forecast.from_normal(self._reference, 0.5, 0.1) if i is None else self._tell(i) for i in places]


def _spearman(world: World, found: list[Forecast], start: int) -> float:
    kept = [i for i, outcome in enumerate(world.outcomes[start:]) if outcome.ok]
    return spearman([found[i].median for i in kept], [world.truths[start + i] for i in kept])


def test_before_the_first_measurement_it_says_what_the_base_says() -> None:
    world = make_world(0)
    built = [s for s in world.subjects if s.build and s.build.ok][:20]
    for base in (RooflineForecaster(), TrainedForecaster()):
        online = OnlineForecaster(base)
        assert online.forecast(TASK, DEVICE, built) == base.forecast(TASK, DEVICE, built)
        online.learn(TASK, DEVICE, [])
        assert online.forecast(TASK, DEVICE, built) == base.forecast(TASK, DEVICE, built)


def test_a_base_that_knows_the_order_is_corrected_where_it_is_wrong() -> None:
    # It halves every difference and takes all candidates for four times faster than they are.
    world = make_world(1)
    base = Knowing(world, lambda i: Forecast.from_normal(0.5 * world.truths[i] + 2.0, 0.6, 0.1), 2.0)
    for count, least, off in ((6, 0.8, 1.0), (20, 0.9, 0.4), (60, 0.95, 0.15)):
        online, alone = OnlineForecaster(base), _over_roofline()
        for forecaster in (online, alone):
            forecaster.learn(TASK, DEVICE, world.measured(count))
        found = online.forecast(TASK, DEVICE, world.subjects[count:])
        assert _spearman(world, found, count) > least
        assert _spearman(world, found, count) > _spearman(
            world, alone.forecast(TASK, DEVICE, world.subjects[count:]), count
        )
        errors = [f.median - t for f, t in zip(found, world.truths[count:], strict=True)]
        assert abs(np.mean(errors)) < off


def test_a_base_that_knows_nothing_is_left_behind() -> None:
    world = make_world(2)
    noise = np.random.default_rng(0).normal(size=len(world.subjects)).tolist()
    base = Knowing(world, lambda i: Forecast.from_normal(noise[i], 0.3, 0.1))
    online = OnlineForecaster(base)
    online.learn(TASK, DEVICE, world.measured(120))
    found = online.forecast(TASK, DEVICE, world.subjects[120:])
    assert _spearman(world, base.forecast(TASK, DEVICE, world.subjects[120:]), 120) < 0.3
    assert _spearman(world, found, 120) > 0.75


@pytest.mark.parametrize("std", [0.02, 3.0])
def test_intervals_follow_the_errors_of_the_run_and_not_the_word_of_the_base(std: float) -> None:
    inside: list[bool] = []
    for seed in range(6):
        world = make_world(seed)
        off = np.random.default_rng(seed).normal(scale=0.5, size=len(world.subjects)).tolist()
        online = OnlineForecaster(
            Knowing(world, lambda i, w=world, o=off: Forecast.from_normal(w.truths[i] + o[i], std, 0.1))  # type: ignore[misc]
        )
        online.learn(TASK, DEVICE, world.measured(120))
        for found, outcome in zip(
            online.forecast(TASK, DEVICE, world.subjects[120:]), world.outcomes[120:], strict=True
        ):
            if outcome.ok:
                low, high = found.interval(0.8)
                inside.append(low <= outcome.log2_speedup <= high)
    assert 0.7 < np.mean(inside) < 0.95


def test_the_chance_of_failure_starts_from_the_base() -> None:
    world = make_world(3)
    wrong = [outcome.status is Status.WRONG for outcome in world.outcomes]
    base = Knowing(world, lambda i: Forecast.from_normal(0.0, 1.0, 0.7 if wrong[i] else 0.3))
    shown = [pair for pair in world.measured(60) if pair[1].status is not Status.COMPILE_ERROR]
    for count in (2, 40):
        online = OnlineForecaster(base)
        online.learn(TASK, DEVICE, shown[:count])
        found = online.forecast(TASK, DEVICE, world.subjects[60:])
        bad = [f.p_fail for f, w in zip(found, wrong[60:], strict=True) if w]
        good = [f.p_fail for f, o in zip(found, world.outcomes[60:], strict=True) if o.ok]
        assert np.mean(bad) > 0.6 and np.mean(good) < 0.4
    assert np.mean(bad) > 0.85 and np.mean(good) < 0.15


def test_the_base_hears_of_the_reference_alone_and_is_asked_about_each_candidate_once() -> None:
    world = make_world(4)
    base = Knowing(world, lambda i: Forecast.from_normal(0.0, 1.0, 0.1))
    online = OnlineForecaster(base)
    for count in (10, 20, 30):
        online.learn(TASK, DEVICE, world.measured(count))
    [lesson] = base.lessons
    [(subject, outcome)] = lesson
    assert subject.candidate.origin.kind == "reference" and outcome.speedup == 1.0
    assert {t.reference_us for t in outcome.timings} == {(1000.0,)}
    assert len(base.asked) == len(set(base.asked))
    ran = [
        subject.candidate.source
        for subject, outcome in world.measured(30)
        if outcome.status is not Status.COMPILE_ERROR
    ]
    assert sorted(base.asked) == sorted([*ran, TASK.references["cpp"]])


def test_it_costs_what_the_base_costs_and_a_little_and_passes_its_troubles_on() -> None:
    base = Knowing(make_world(5), lambda i: Forecast.from_normal(0.0, 1.0, 0.1))
    assert 0.25 < OnlineForecaster(base).cost_s < 0.26
    assert OnlineForecaster(base).troubles == {} and OnlineForecaster(base).last_troubles == ()
    base.troubles = {"request:timeout": 2}  # type: ignore[attr-defined]
    assert OnlineForecaster(base).troubles == {"request:timeout": 2}
