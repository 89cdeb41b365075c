"""The synthetic world keeps the contracts it stands in for."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.kernels import library
from foretell.kernels.bench.fake import FAKE_DEVICE, FakeBench, FakeForecaster, FakeProposer, fake_template
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.measurement import Status
from foretell.kernels.propose.template import TemplateProposer
from foretell.kernels.protocols import Forecaster, Proposer, Subject
from foretell.kernels.task import Task
from foretell.testing.conformance import ForecasterConformance, ProposerConformance

TASK = library.get("softmax")


def candidates(count: int) -> list[Candidate]:
    reference = Candidate(TASK.name, "cpp", TASK.references["cpp"], Origin("reference"))
    return FakeProposer(TASK.name).propose(TASK, [reference], count, np.random.default_rng(0), {reference.id})


class TestFakeForecaster(ForecasterConformance):
    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return FakeForecaster()

    @pytest.fixture
    def twin(self) -> Forecaster:
        return FakeForecaster()

    @pytest.fixture
    def task(self) -> Task:
        return TASK

    @pytest.fixture
    def device(self) -> Device:
        return FAKE_DEVICE

    @pytest.fixture
    def subjects(self) -> list[Subject]:
        found = candidates(20)
        return [Subject(c, b) for c, b in zip(found, FakeBench(failure_share=0).build(TASK, found), strict=True)]


class TestFakeProposer(ProposerConformance):
    @pytest.fixture
    def proposer(self) -> Proposer:
        return FakeProposer(TASK.name)

    @pytest.fixture
    def task(self) -> Task:
        return TASK


class TestTemplateProposer(ProposerConformance):
    @pytest.fixture
    def proposer(self) -> Proposer:
        return TemplateProposer(fake_template(TASK.name, knobs=4, values=3))

    @pytest.fixture
    def task(self) -> Task:
        return TASK


def test_the_same_candidate_always_has_the_same_outcome() -> None:
    found = candidates(50)
    first = list(FakeBench().measure(TASK, found))
    assert list(FakeBench().measure(TASK, found)) == first
    assert {outcome.status for _, outcome in first} == {Status.OK, Status.WRONG, Status.COMPILE_ERROR}


def test_faults_pass() -> None:
    (one,) = candidates(1)
    bench = FakeBench(failure_share=0.0, faults={one.id: 2})
    statuses = [outcome.status for _ in range(3) for _, outcome in bench.measure(TASK, [one])]
    assert statuses == [Status.INFRASTRUCTURE, Status.INFRASTRUCTURE, Status.OK]
    assert bench.asked == [one.id] * 3
