"""The cascade: later links are asked only about what is still in doubt, and its figures of cost are true."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from foretell.belief import Forecast
from foretell.kernels.device import Device
from foretell.kernels.forecast import CascadeForecaster, RooflineForecaster, make
from foretell.kernels.forecast.cascade import SURE_LOG2
from foretell.kernels.measurement import Measurement
from foretell.kernels.protocols import Forecaster, Subject
from foretell.kernels.task import Task
from tests.kernels.forecast.world import DEVICE, TASK, WorldConformance, make_world

SUBJECTS = [s for s in make_world(0).subjects if s.build and s.build.ok][:6]
SURE = Forecast.from_normal(0.5, 0.05, 0.02)
DOOMED = Forecast.from_normal(0.0, 2.0, 0.99)
WIDE = Forecast.from_normal(0.0, 2.0, 0.02)
RISKY = Forecast.from_normal(0.0, 0.05, 0.5)  # fast for certain, if it works


class Link:
    """Says of the n-th of `SUBJECTS` what stands at that place in `told`."""

    def __init__(self, name: str, cost_s: float, told: Sequence[Forecast]) -> None:
        self.name, self.cost_s = name, cost_s
        self.told = told
        self.asked: list[int] = []
        self.learnt = 0

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        self.learnt = len(measured)

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        places = [SUBJECTS.index(subject) for subject in subjects]
        self.asked += places
        return [self.told[i] for i in places]


class Troubled(Link):
    """Reports trouble with every forecast, as a language model may."""

    troubles, last_troubles = {"request:timeout": 0}, ()

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        self.last_troubles = ("request:timeout",) * len(subjects)
        self.troubles = {"request:timeout": len(subjects)}
        return super().forecast(task, device, subjects)


class TestConformance(WorldConformance):
    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return make("cascade:roofline,features,online", 3)

    @pytest.fixture
    def twin(self) -> Forecaster:
        return make("cascade:roofline,features,online", 3)


def test_each_link_is_asked_about_what_the_links_before_it_left_in_doubt() -> None:
    first = Link("first", 0.001, [SURE, WIDE, DOOMED, RISKY, WIDE, SURE])
    second = Link("second", 0.1, [WIDE, SURE, WIDE, WIDE, RISKY, WIDE])
    third = Link("third", 10.0, [WIDE] * 6)
    cascade = CascadeForecaster([first, second, third])
    assert cascade.name == "cascade:first,second,third"
    found = cascade.forecast(TASK, DEVICE, SUBJECTS)
    assert first.asked == [0, 1, 2, 3, 4, 5] and second.asked == [1, 3, 4] and third.asked == [3, 4]
    assert found == [SURE, SURE, DOOMED, WIDE, WIDE, SURE]
    assert cascade.asked == [6, 3, 2]


def test_what_is_sure_enough() -> None:
    cascade = CascadeForecaster([RooflineForecaster()])
    assert [cascade.is_sure(f) for f in (SURE, DOOMED, WIDE, RISKY)] == [True, True, False, False]
    reach = 2 * 1.2816
    assert cascade.is_sure(Forecast.from_normal(0.0, 0.98 * SURE_LOG2 / reach, 0.05))
    assert not cascade.is_sure(Forecast.from_normal(0.0, 1.02 * SURE_LOG2 / reach, 0.05))
    assert CascadeForecaster([RooflineForecaster()], sure_log2=9.0).is_sure(WIDE)


def test_nobody_is_asked_where_all_is_clear() -> None:
    dear = Link("dear", 10.0, [WIDE] * 6)
    cascade = CascadeForecaster([Link("cheap", 0.001, [SURE] * 6), dear])
    assert cascade.forecast(TASK, DEVICE, SUBJECTS) == [SURE] * 6
    assert dear.asked == [] and cascade.cost_s == pytest.approx(0.001)
    assert cascade.forecast(TASK, DEVICE, []) == [] and cascade.cost_s == pytest.approx(0.001)


def test_the_cost_is_what_forecasts_have_cost() -> None:
    cheap, dear = Link("cheap", 0.001, [SURE, WIDE, SURE, SURE, SURE, WIDE]), Link("dear", 9.0, [WIDE] * 6)
    cascade = CascadeForecaster([cheap, dear])
    assert cascade.cost_s == pytest.approx(9.001)  # the most it may cost, before anything is known
    cascade.forecast(TASK, DEVICE, SUBJECTS)
    assert cascade.cost_s == pytest.approx(0.001 + 9.0 * 2 / 6)
    cascade.forecast(TASK, DEVICE, SUBJECTS[2:5])
    assert cascade.cost_s == pytest.approx(0.001 + 9.0 * 2 / 9)


def test_all_links_learn() -> None:
    links = [Link("first", 0.001, [SURE] * 6), Link("second", 0.1, [SURE] * 6)]
    CascadeForecaster(links).learn(TASK, DEVICE, make_world(0).measured(7))
    assert [link.learnt for link in links] == [7, 7]


def test_troubles_are_told_for_those_whose_word_stands() -> None:
    asks = Troubled("asks", 10.0, [WIDE] * 6)
    cascade = CascadeForecaster([Link("cheap", 0.001, [SURE, WIDE, DOOMED, WIDE, SURE, SURE]), asks])
    cascade.forecast(TASK, DEVICE, SUBJECTS)
    assert cascade.last_troubles == (None, "request:timeout", None, "request:timeout", None, None)
    assert cascade.troubles == {"request:timeout": 2}


def test_a_cascade_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        CascadeForecaster([])
    with pytest.raises(ValueError, match="positive"):
        CascadeForecaster([RooflineForecaster()], sure_log2=0.0)
