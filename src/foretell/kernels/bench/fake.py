"""A synthetic world for tests and overhead benchmarks: no compiler, no device, nothing measured.

`FakeBench` answers from a hash of the candidate: the same source always gets the same outcome, and candidates of a
template that share knobs are alike, so that a forecaster has something to learn. Its numbers mean nothing outside
tests; results that anyone quotes as performance never come from here.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Cost, Measurement, Status, Timing
from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.protocols import Build, Subject
from foretell.kernels.task import Task

FAKE_DEVICE = Device(
    name="fake",
    kind="cpu",
    cores=2,
    clock_hz=3e9,
    bandwidth_bytes_per_s=2e10,
    peak_flops={"float32": 1e11},
    memory_bytes=1 << 33,
    cache_bytes=1 << 25,
    vector_bytes=32,
    languages=("cpp",),
    toolchain="fake 1.0",
)

_EFFECT_LOG2 = 0.8
_NOISE_LOG2 = 0.05


def unit_hash(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / float(1 << 48)


class FakeBench:
    """A bench whose outcomes are hashes, and which remembers what it was asked to measure.

    `failure_share` of candidates do not build and as many are wrong. `faults` maps a candidate's id to how often the
    machine fails before it can be measured. With `log` every measurement is noted there as it starts, so that a test
    can count across processes; `delay_s` is how long one takes on the wall clock, `device_s` what it claims to cost.
    """

    def __init__(
        self,
        *,
        device: Device = FAKE_DEVICE,
        failure_share: float = 0.06,
        faults: Mapping[str, int] | None = None,
        log: Path | None = None,
        delay_s: float = 0.0,
        device_s: float = 0.25,
        samples: int = 5,
    ) -> None:
        self.device = device
        self.asked: list[str] = []
        self._failure_share = failure_share
        self._faults = Counter(faults or {})
        self._log = log
        self._delay_s = delay_s
        self._device_s = device_s
        self._samples = samples

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        return [self._build(candidate) for candidate in candidates]

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        for candidate in candidates:
            self.asked.append(candidate.id)
            if self._log is not None:
                with self._log.open("a") as file:
                    file.write(f"{candidate.id} {hopeless_below}\n")
            if self._delay_s:
                time.sleep(self._delay_s)
            build = self._build(candidate)
            failed = Measurement(build.status, build.message, cost=Cost(build_s=build.seconds), device=self.device.id)
            yield candidate, self._measure(task, candidate, hopeless_below) if build.ok else failed

    def close(self) -> None:
        pass

    def log2_speedup(self, candidate: Candidate) -> float:
        """The truth of this world: a sum of the effects of each knob, with a little noise of the source's own."""
        knobs: Knobs = candidate.origin.detail.get("knobs", {"source": candidate.likeness})
        effects = sum(2.0 * unit_hash("effect", name, value) - 1.0 for name, value in knobs.items())
        return _EFFECT_LOG2 * effects + _NOISE_LOG2 * (2.0 * unit_hash("noise", candidate.likeness) - 1.0)

    def _build(self, candidate: Candidate) -> Build:
        if unit_hash("build", candidate.likeness) < self._failure_share:
            return Build(Status.COMPILE_ERROR, "error: a fake compiler was not convinced", seconds=0.1)
        features = {"code_bytes": float(len(candidate.source)), "vector_share": unit_hash("vector", candidate.likeness)}
        return Build(Status.OK, features=features, seconds=0.1)

    def _measure(self, task: Task, candidate: Candidate, hopeless_below: float | None) -> Measurement:
        cost = Cost(device_s=self._device_s, wall_s=self._device_s)
        if self._faults[candidate.id] > 0:
            self._faults[candidate.id] -= 1
            return Measurement(Status.INFRASTRUCTURE, "the fake device is gone", cost=cost, device=self.device.id)
        if unit_hash("wrong", candidate.likeness) < self._failure_share:
            return Measurement(Status.WRONG, "3 of 512 outputs differ", cost=cost, device=self.device.id)
        speedup = 2.0 ** self.log2_speedup(candidate)
        timings = []
        for workload in task.workloads:
            reference_us = tuple(100.0 + unit_hash(workload.name, i) for i in range(self._samples))
            candidate_us = tuple(us / speedup for us in reference_us)
            timings.append(Timing(workload.name, reference_us, candidate_us, speedup, speedup * 0.98, speedup * 1.02))
        return Measurement(
            Status.OK,
            speedup=speedup,
            low=speedup * 0.98,
            high=speedup * 1.02,
            timings=tuple(timings),
            stopped_early=hopeless_below is not None and speedup < hopeless_below,
            cost=cost,
            method="fake",
            device=self.device.id,
        )


class FakeForecaster:
    """A cheap learner for this world: the mean, plus the shrunken mean effect of each knob's value."""

    name = "fake"
    cost_s = 1e-5

    def __init__(self) -> None:
        self._base = 0.0
        self._spread = 1.0
        self._p_fail = 0.2
        self._effects: dict[tuple[str, str], float] = {}

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        return [Forecast.from_normal(self._mean(s.candidate), self._spread, self._p_fail) for s in subjects]

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        self._base, self._spread, self._p_fail, self._effects = 0.0, 1.0, 0.2, {}
        if not measured:
            return
        works = [(subject.candidate, outcome.log2_speedup) for subject, outcome in measured if outcome.ok]
        self._p_fail = (len(measured) - len(works) + 1) / (len(measured) + 5)
        if not works:
            return
        self._base = sum(value for _, value in works) / len(works)
        groups: dict[tuple[str, str], list[float]] = defaultdict(list)
        for candidate, value in works:
            for knob in _knobs(candidate):
                groups[knob].append(value - self._base)
        self._effects = {knob: sum(values) / (len(values) + 2.0) for knob, values in groups.items()}
        errors = [value - self._mean(candidate) for candidate, value in works]
        self._spread = max(0.05, math.sqrt(sum(error * error for error in errors) / len(errors)))

    def _mean(self, candidate: Candidate) -> float:
        return self._base + sum(self._effects.get(knob, 0.0) for knob in _knobs(candidate))


class FakeProposer:
    """Children differ from their parent in one or two knobs, in more where those are used up; never runs dry."""

    name = "fake"

    def __init__(self, task: str) -> None:
        self._template = fake_template(task, knobs=12, values=4)

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        found: dict[str, Candidate] = {}
        names = list(self._template.knobs)
        tries = 0
        while len(found) < count:
            tries += 1
            parent = parents[len(found) % len(parents)]
            knobs = dict(parent.origin.detail.get("knobs", {name: int(rng.integers(4)) for name in names}))
            for index in rng.integers(len(names), size=2 + tries // (4 * count)):
                knobs[names[int(index)]] = int(rng.integers(4))
            child = self._template.candidate(knobs, (parent.id,))
            if child.id not in known:
                found.setdefault(child.id, child)
        return list(found.values())


def fake_template(task: str, knobs: int, values: int) -> Template:
    """A template with `values` to the power of `knobs` settings; its text is about as long as that of a real one."""
    names = [f"k{i}" for i in range(knobs)]
    return Template(task, "cpp", {name: tuple(range(values)) for name in names}, _render)


def _render(knobs: Knobs) -> str:
    lines = [f"static const int {name} = {value};" for name, value in knobs.items()]
    body = [f"    for (int64_t i = {n}; i < rows; ++i) out[i * cols] += x[i * cols + {n}];" for n in range(10)]
    head = 'extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {'
    return "\n".join(("#include <cstdint>", *lines, head, *body, "}", ""))


def _knobs(candidate: Candidate) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in candidate.origin.detail.get("knobs", {}).items()]
