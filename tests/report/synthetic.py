"""Made-up runs with real candidates: events as a search would write them, without building or timing anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.library import get
from foretell.kernels.measurement import Cost, Measurement, Status, Timing
from foretell.kernels.policy import Action
from foretell.kernels.profiles import QUICK
from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.protocols import Build
from foretell.kernels.search import (
    Child,
    Event,
    Finished,
    Measured,
    Round,
    RunStarted,
    RunState,
    SearchConfig,
    StopReason,
    Verified,
    to_stored,
)
from foretell.kernels.store import Journal

DEVICE = Device(
    name="Example CPU x8",
    kind="cpu",
    cores=8,
    clock_hz=3.1e9,
    bandwidth_bytes_per_s=41e9,
    peak_flops={"float32": 790e9},
    memory_bytes=32 << 30,
    cache_bytes=36 << 20,
    vector_bytes=32,
    languages=("cpp",),
    toolchain="g++ 13.2.0, -O3 -march=native",
)
METHOD = "cold data: caches flushed before each run; reference and candidate interleaved; median of paired ratios"


def _render(knobs: Knobs) -> str:
    wide = "\n    #pragma omp parallel for" if knobs["threads"] == "all" else ""
    return f"""#include <cmath>
#include <cstdint>
// {knobs["exp"]} & {knobs["passes"]} <{knobs["tail"]}>

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {{{wide}
    for (int64_t i = 0; i < rows; ++i) {{
        float peak[{knobs["lanes"]}];
        float sum = {knobs["exp"]}_{knobs["passes"]}_{knobs["divide"]}_{knobs["tail"]}(x + i * cols, peak, cols);
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] /= sum;
    }}
}}
"""


# A template of the tests' own: the library's may change its knobs at any time.
TEMPLATE = Template(
    "softmax",
    "cpp",
    {
        "passes": ("three", "two", "online", "unshifted"),
        "exp": ("libm", "poly", "coarse"),
        "threads": ("one", "all"),
        "lanes": (1, 8, 16, 32),
        "divide": ("divide", "reciprocal"),
        "tail": ("full", "dropped"),
    },
    _render,
    lambda knobs: knobs["tail"] == "full" or knobs["lanes"] == 32,
)


class World:
    """Softmax candidates in a fixed order, with made-up truth and forecasts that are right about four times in five."""

    def __init__(self, seed: int = 1) -> None:
        self.task = get("softmax")
        self.rng = np.random.default_rng(seed)
        template, settings = TEMPLATE, TEMPLATE.settings()
        order = self.rng.permutation(len(settings))
        self.reference = Candidate("softmax", "cpp", self.task.references["cpp"], Origin("reference"))
        self._candidates = iter(template.candidate(settings[int(i)], (self.reference.id,)) for i in order)
        self._seen: set[str] = set()

    def started(self) -> RunStarted:
        config = SearchConfig("cpp", 0, QUICK).resolved(get("softmax"), "selective", "puct", "online", "template")
        return RunStarted(config, DEVICE, self.reference, "0.1.0")

    def candidate(self) -> Candidate:
        while True:
            found = next(self._candidates)
            if found.id not in self._seen:
                self._seen.add(found.id)
                return found

    def log2(self, candidate: Candidate) -> float:
        """What the candidate's knobs are worth in this world."""
        knobs = candidate.origin.detail["knobs"]
        gain = {"libm": 0.0, "poly": 0.9, "coarse": 1.0}[knobs["exp"]] + (0.8 if knobs["threads"] == "all" else 0.0)
        gain += {1: -0.3, 8: 0.3, 16: 0.45, 32: 0.35}[knobs["lanes"]] - (0.6 if knobs["passes"] == "online" else 0.0)
        return float(gain + 0.12 * self.rng.standard_normal())

    def fails(self, candidate: Candidate) -> bool:
        knobs = candidate.origin.detail["knobs"]
        return knobs["tail"] == "dropped" or knobs["exp"] == "coarse" or knobs["passes"] == "unshifted"

    def forecast(self, log2: float, fails: bool, learnt: int) -> Forecast:
        spread = 0.2 + 0.8 / (1 + learnt / 12)
        p_fail = float(np.clip((0.7 if fails else 0.08) + 0.1 * self.rng.standard_normal(), 0.01, 0.99))
        return Forecast.from_normal(log2 + spread * float(self.rng.standard_normal()), spread, p_fail)

    def timed(self, log2: float) -> Measurement:
        timings = []
        for workload in self.task.workloads:
            ratio = 2.0 ** (log2 + 0.2 * float(self.rng.standard_normal()))
            samples = tuple(float(v) for v in 900 + 10 * self.rng.standard_normal(6))
            other = tuple(v / ratio for v in samples)
            timings.append(Timing(workload.name, samples, other, ratio, ratio * 0.985, ratio * 1.015))
        speedup = math.exp(sum(math.log(t.speedup) for t in timings) / len(timings))
        cost = Cost(0.4, 0.35 + 0.2 * float(self.rng.random()), 0.9)
        return Measurement(
            Status.OK, "", speedup, speedup * 0.985, speedup * 1.015, tuple(timings), False, cost, METHOD, DEVICE.id
        )


def failed(status: Status, message: str, device_s: float = 0.05) -> Measurement:
    return Measurement(status, message, cost=Cost(0.4, device_s, 0.6), device=DEVICE.id)


def events_of_a_run(rounds: int = 7, batch: int = 16, seed: int = 1, verify: bool = True) -> list[Event]:
    """A whole run: exploring first, then selective, with failures, audits, a broken build and verified winners."""
    world = World(seed)
    events: list[Event] = [world.started()]
    learnt, best = 0, 1.0
    ranking: list[tuple[float, str]] = []
    for number in range(rounds):
        children, outcomes = [], []
        for place in range(batch):
            candidate = world.candidate()
            log2, fails = world.log2(candidate), world.fails(candidate)
            forecast = world.forecast(log2, fails, learnt)
            chance = forecast.prob_above(best * 1.02)
            audit = number > 0 and place % 9 == 4 and chance < 0.2
            action = Action.MEASURE if (number == 0 and place < 8) or chance >= 0.2 else Action.TRUST
            if action is Action.TRUST and forecast.p_fail > 0.5:
                action = Action.DROP
            reason = f"{chance:.1%} chance of more than {best * 1.02:.2f}x"
            build = Build(Status.OK, "", {"instructions": 120.0}, None, 0.41)
            if number == 2 and place == 3:
                build = Build(Status.COMPILE_ERROR, "kernel.cpp:9:5: error: 'sum' was not declared", {}, None, 0.2)
                action, audit, reason = Action.DROP, False, "does not build (compile_error)"
            children.append(Child(candidate, build, forecast, action, reason, audit))
            if not build.ok:
                outcomes.append(Measured(candidate.id, failed(build.status, build.message, 0.0)))
            elif audit or action is Action.MEASURE:
                wrong = failed(Status.WRONG, "output 'out' at rows=17 cols=129: 17 of 2193 differ, worst 0.4 <b>")
                outcomes.append(Measured(candidate.id, wrong if fails else world.timed(log2), audit))
        events.append(Round(number, (world.reference.id,), tuple(children), "online", 0.02))
        for outcome in outcomes:
            events.append(outcome)
            if outcome.measurement.status is not Status.INFRASTRUCTURE:
                learnt += 1
            if outcome.measurement.speedup:
                best = max(best, outcome.measurement.speedup)
                ranking.append((outcome.measurement.log2_speedup, outcome.id))
    ranking.sort(reverse=True)
    if verify:
        events += [Verified(winner, world.timed(log2 - 0.03)) for log2, winner in ranking[:3]]
        events.append(Finished(StopReason.MEASUREMENTS, ranking[0][1] if ranking else None, 30.0))
    return events


def events_of_failures(count: int = 6) -> list[Event]:
    """A run in which every candidate failed in another way."""
    world = World(2)
    kinds = [status for status in Status if status is not Status.OK]
    children, outcomes = [], []
    for index in range(count):
        candidate = world.candidate()
        forecast = Forecast.from_normal(0.4, 0.5, 0.3)
        children.append(Child(candidate, Build(Status.OK), forecast, Action.MEASURE, "unsure", False))
        status = kinds[index % len(kinds)]
        outcomes.append(Measured(candidate.id, failed(status, f"it was {status.value}")))
    done = Finished(StopReason.EXHAUSTED, None, 0.4)
    return [world.started(), Round(0, (world.reference.id,), tuple(children), "online", 0.01), *outcomes, done]


def state_of(events: Sequence[Event]) -> RunState:
    return RunState.fold(events)


def write_run(run_dir: Path, events: Sequence[Event]) -> Path:
    """Put events into a journal, one second apart."""
    ticks = iter(range(1_790_000_000, 1_790_000_000 + len(events)))
    with Journal.open(run_dir, clock=lambda: float(next(ticks)), fsync=False) as journal:
        for event in events:
            journal.append(*to_stored(event))
    return run_dir
