from __future__ import annotations

import numpy as np
import pytest

from foretell.kernels.candidate import Candidate
from foretell.kernels.devices import described
from foretell.kernels.evaluate.controls import ConstantForecaster, NoPast, Past, RandomForecaster, control
from foretell.kernels.protocols import Forecaster, Subject
from tests.kernels.forecast.world import DEVICE, TASK, WorldConformance

LOG2 = np.random.default_rng(0).normal(0.5, 1.0, 400).tolist()
PAST = Past.of({"cpu": [*LOG2, *([None] * 98)]})


class TestConstant(WorldConformance):
    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return ConstantForecaster(PAST)

    @pytest.fixture
    def twin(self) -> Forecaster:
        return ConstantForecaster(PAST)


class TestRandom(WorldConformance):
    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return RandomForecaster(PAST, 3)

    @pytest.fixture
    def twin(self) -> Forecaster:
        return RandomForecaster(PAST, 3)


def _subjects(count: int) -> list[Subject]:
    return [Subject(Candidate("softmax", "cpp", f"int a = {i};")) for i in range(count)]


def test_the_constant_is_the_past() -> None:
    told = ConstantForecaster(PAST).forecast(TASK, DEVICE, _subjects(2))
    assert told[0] == told[1]
    assert told[0].p_fail == pytest.approx(99 / 500)
    assert told[0].median == pytest.approx(np.median(LOG2))
    assert told[0].quantile(0.1) == pytest.approx(np.quantile(LOG2, 0.1))


def test_the_random_one_is_honest_about_its_spread() -> None:
    told = RandomForecaster(PAST, 0).forecast(TASK, DEVICE, _subjects(2000))
    assert np.mean([f.mean for f in told]) == pytest.approx(0.5, abs=0.1)
    truth = np.random.default_rng(1).normal(0.5, 1.0, 2000)
    held = [f.interval(0.8)[0] <= x <= f.interval(0.8)[1] for f, x in zip(told, truth, strict=True)]
    assert np.mean(held) == pytest.approx(0.8, abs=0.03)


def test_other_seeds_say_other_things() -> None:
    one, other = (control("random", PAST, seed).forecast(TASK, DEVICE, _subjects(3)) for seed in (0, 1))
    assert one != other


@pytest.mark.parametrize("name", ["constant", "random"])
@pytest.mark.parametrize("values", [[None, None], [1.0], [1.0, 1.0]])
def test_a_thin_past_will_do(name: str, values: list[float | None]) -> None:
    told = control(name, Past.of({"cpu": values})).forecast(TASK, DEVICE, _subjects(2))
    assert all(0.0 < f.p_fail < 1.0 for f in told)


def test_no_past_of_that_kind() -> None:
    with pytest.raises(NoPast, match="no training rows of a gpu"):
        ConstantForecaster(PAST).forecast(TASK, described("h200"), _subjects(1))
