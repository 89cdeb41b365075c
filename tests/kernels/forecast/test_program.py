"""The forecaster `program`: conformance, and forecasts of candidates that are really recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foretell.kernels.candidate import Candidate
from foretell.kernels.devices import described
from foretell.kernels.forecast import ProgramForecaster
from foretell.kernels.protocols import Subject
from foretell.kernels.tasks import kernelbench
from tests.kernels.forecast.world import WorldConformance

PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1.0


def get_inputs():
    return [torch.randn(4096, 8192)]


def get_init_inputs():
    return []
"""
WASTEFUL = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for _ in range(6):
            x = torch.relu(x)
        return x + 1.0
"""
DEPENDENT = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1.0 if x.sum().item() > 0 else x
"""


class TestConformance(WorldConformance):
    @pytest.fixture
    def forecaster(self) -> ProgramForecaster:
        return ProgramForecaster()

    @pytest.fixture
    def twin(self) -> ProgramForecaster:
        return ProgramForecaster()


def test_steps_of_reference_and_candidate_are_costed() -> None:
    pytest.importorskip("torch")
    task, device = kernelbench.from_text(PROBLEM, "relu_plus_one"), described("a100")
    speaker = ProgramForecaster()
    subjects = [Subject(Candidate(task.key, "torch", source)) for source in (WASTEFUL, DEPENDENT)]
    wasteful, dependent = speaker.forecast(task, device, subjects)
    pair = speaker.compared[0]
    assert pair is not None and [step.label for step in pair.reference.steps] == ["relu", "add"]
    assert len(pair.candidate.steps) == 7
    assert wasteful.median == pytest.approx(-1.8, abs=0.3)
    assert wasteful.interval(0.8)[1] < 0.0
    assert speaker.last_troubles[0] is None and "depends on data" in (speaker.last_troubles[1] or "")
    assert speaker.compared[1] is None and dependent.interval(0.8)[0] < wasteful.median
    again = ProgramForecaster(eager=True)
    (eager,) = again.forecast(replace(task, kind="table"), device, subjects[:1])  # recordings are kept
    assert again.last_troubles == [None] and eager.median == pytest.approx(wasteful.median, abs=0.1)
