"""A small world whose truth is known: C++ sources with knobs, whose log2 speedup is a sum of the knobs' effects.

One knob value is always wrong, one does not build, and every measurement has the same known noise.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from foretell.kernels.bench.fake import FAKE_DEVICE
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement, Status, Timing
from foretell.kernels.protocols import Build, Subject
from foretell.kernels.task import Task
from foretell.testing.conformance import ForecasterConformance

TASK = get("softmax")
DEVICE = FAKE_DEVICE
NOISE_LOG2 = 0.15

_KNOBS = {
    "pragma": ({"": 0.0, "#pragma omp parallel for": 0.9, "#pragma omp simd": 0.3}),
    "step": ({"1": 0.0, "8": 0.5, "16": 0.7, "64": -0.4}),
    "body": ({"out[i] = x[i] / y;": -0.8, "out[i] = x[i] * y;": 0.4, "out[i] = std::exp(x[i]);": -1.5}),
    "extra": ({"": 0.0, "float t[64];": 0.2, "double z = 0.0;": -0.5}),
    "mistake": ({"": 0.0, "out[0] = 1.0f;": 0.0, "return 3;": 0.0}),
}


@dataclass(frozen=True)
class World:
    """Subjects in random order, with what measuring each would show and the log2 speedup it truly has."""

    subjects: list[Subject]
    outcomes: list[Measurement]
    truths: list[float]

    def measured(self, count: int) -> list[tuple[Subject, Measurement]]:
        return list(zip(self.subjects[:count], self.outcomes[:count], strict=True))


def make_world(seed: int) -> World:
    """All settings of the knobs, shuffled, with fresh noise."""
    rng = np.random.default_rng(seed)
    subjects, outcomes, truths = [], [], []
    settings = list(itertools.product(*(knob.items() for knob in _KNOBS.values())))
    for index in rng.permutation(len(settings)):
        setting = settings[int(index)]
        texts = [text for text, _ in setting]
        truth = sum(effect for _, effect in setting)
        subject, measurement = _subject(texts), _measurement(texts, truth + NOISE_LOG2 * rng.standard_normal())
        subjects.append(subject)
        outcomes.append(measurement)
        truths.append(truth)
    return World(subjects, outcomes, truths)


def _subject(texts: list[str]) -> Subject:
    pragma, step, body, extra, mistake = texts
    source = f"""#include <cmath>
extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {{
    float y = 2.0f; {extra} {mistake}
    {pragma}
    for (int64_t i = 0; i < rows; i += {step}) {{ {body} }}
}}
"""
    candidate = Candidate(TASK.name, "cpp", source)
    if mistake == "return 3;":
        return Subject(candidate, Build(Status.COMPILE_ERROR, "error: return-statement with a value"))
    return Subject(candidate, Build(Status.OK, features={"instructions": 10.0 * len(body), "loops": 1.0}))


def _measurement(texts: list[str], log2: float) -> Measurement:
    mistake = texts[-1]
    if mistake == "return 3;":
        return Measurement(Status.COMPILE_ERROR, "error: return-statement with a value")
    if mistake:
        return Measurement(Status.WRONG, "1 of 512 outputs differs")
    return worked(log2)


def worked(log2: float, reference_us: float = 1000.0) -> Measurement:
    """A measurement that went well, with this log2 speedup on every workload."""
    speedup = 2.0**log2
    timings = tuple(
        Timing(w.name, (reference_us,), (reference_us / speedup,), speedup, speedup, speedup) for w in TASK.workloads
    )
    return Measurement(Status.OK, speedup=speedup, low=speedup, high=speedup, timings=timings)


class WorldConformance(ForecasterConformance):
    """The conformance of a forecaster that is asked about this world: supply it and its twin."""

    @pytest.fixture
    def subjects(self) -> list[Subject]:
        return [subject for subject in make_world(0).subjects if subject.build and subject.build.ok][:14]

    @pytest.fixture
    def task(self) -> Task:
        return TASK

    @pytest.fixture
    def device(self) -> Device:
        return DEVICE
