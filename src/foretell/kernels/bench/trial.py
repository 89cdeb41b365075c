"""One candidate before the judge: checked on fresh inputs first, then timed in turns with the reference."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.bench.arena import layout, needed_bytes
from foretell.kernels.bench.inputs import InputPool, InputSet, mismatch
from foretell.kernels.bench.statistics import combine, surely_below, tight_enough, timing
from foretell.kernels.bench.worker import Worker, WorkerFault
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.languages import cpp
from foretell.kernels.measurement import Measurement, Status, Timing
from foretell.kernels.profiles import BenchEffort
from foretell.kernels.task import Task, Workload

FRESH_TO_ACCUSE = 3  # one slow first run is no sign of remembering


class ReferenceFault(Exception):
    """The reference's own process failed: the machine's fault, not the candidate's."""


class Bay:
    """What all candidates of a task share: the reference in its process, and the input pool."""

    def __init__(self, task: Task, effort: BenchEffort, entropy: int) -> None:
        self.task = task
        self.pool = InputPool(task, effort.input_sets, entropy)
        reference = Candidate(task.name, "cpp", task.references["cpp"], Origin("reference"))
        built = cpp.build(task, reference)
        if not built.ok or built.artifact is None:
            raise WorkerFault(Status.INFRASTRUCTURE, f"does not build: {built.message}")
        self.worker = Worker(built.artifact, needed_bytes(task))
        self.reference_s: dict[str, float] = {}
        for workload in task.workloads:
            slots = layout(task, workload.sizes)
            self.worker.arrange(slots, workload.sizes)
            taken = []
            for index in range(2):
                given = self.pool.get(workload, index)
                self.worker.arena.fill(slots, given.inputs)
                self.worker.flush()
                taken.append(self.worker.run(effort.reference_timeout_s)[0] * 1e-6)
                for slot, want in zip(slots[len(task.inputs) :], given.expected, strict=True):
                    wrong = mismatch(self.worker.arena.view(slot), want)
                    if wrong:
                        raise WorkerFault(Status.INFRASTRUCTURE, f"is wrong at {workload.name}: {wrong}")
            self.reference_s[workload.name] = min(taken)
        self.worker.pause()

    def close(self) -> None:
        self.worker.close()


class Trial:
    """One candidate before the judge: checked first, then timed."""

    def __init__(self, bay: Bay, device: Device, effort: BenchEffort, hopeless_below: float | None) -> None:
        self._bay = bay
        self._task = bay.task
        self._device = device
        self._effort = effort
        self._hopeless_below = hopeless_below
        self._verified: dict[tuple[str, int], list[NDArray[np.uint8]]] = {}
        self.busy_s = 0.0

    def judge(self, worker: Worker) -> Measurement:
        for workload in self._task.extra:
            failure = self._check(worker, workload, 0, self._effort.run_timeout_s)
            if failure:
                return failure
        for workload in self._task.workloads:
            for index in range(self._effort.check_seeds):
                failure = self._check(worker, workload, index, self._limit_s(workload))
                if failure:
                    return failure
        return self._time(worker)

    def _limit_s(self, workload: Workload) -> float:
        return max(self._effort.run_timeout_s, self._effort.slowest_ratio * self._bay.reference_s[workload.name])

    def _check(self, worker: Worker, workload: Workload, index: int, limit_s: float) -> Measurement | None:
        slots = layout(self._task, workload.sizes)
        given = self._bay.pool.get(workload, index)
        worker.arrange(slots, workload.sizes)
        worker.arena.fill(slots, given.inputs)
        taken_us, _ = worker.run(limit_s)
        self.busy_s += taken_us * 1e-6
        worker.pause()
        return self._verdict(worker, workload, index, given)

    def _verdict(self, worker: Worker, workload: Workload, index: int, given: InputSet) -> Measurement | None:
        """None when inputs and surroundings are untouched and the outputs are right; else the failure."""
        slots = layout(self._task, workload.sizes)
        changed = worker.arena.tampered(slots, given.inputs)
        if changed:
            status = Status.CHEAT if changed.startswith("the input") else Status.WRONG
            return Measurement(status, f"{changed} at {workload.name}")
        outputs = [worker.arena.view(slot) for slot in slots if slot.writable]
        seen = self._verified.get((workload.name, index))
        if seen is not None and all(
            np.array_equal(o.view(np.uint8).ravel(), s) for o, s in zip(outputs, seen, strict=True)
        ):
            return None
        for slot, got, want in zip(slots[len(self._task.inputs) :], outputs, given.expected, strict=True):
            wrong = mismatch(got, want)
            if wrong:
                return Measurement(Status.WRONG, f"output {slot.tensor.name!r} at {workload.name}: {wrong}")
        self._verified[workload.name, index] = [o.view(np.uint8).ravel().copy() for o in outputs]
        return None

    def _time(self, worker: Worker) -> Measurement:
        timings: list[Timing] = []
        stopped = False
        for workload in self._task.workloads:
            result = self._pairs(worker, workload, hurry=stopped)
            if isinstance(result, Measurement):
                return result
            references, candidates, stopped = result
            timings.append(timing(workload.name, references, candidates))
            too_fast = self._beyond_physics(workload, min(candidates) * 1e-6)
            if too_fast:
                return Measurement(Status.CHEAT, too_fast)
        speedup, low, high = combine(timings, self._effort.between_processes)
        return Measurement(Status.OK, "", speedup, low, high, tuple(timings), stopped)

    def _pairs(
        self, worker: Worker, workload: Workload, hurry: bool
    ) -> tuple[list[float], list[float], bool] | Measurement:
        """Interleaved samples until the interval is tight, the cap is reached or the candidate is hopeless."""
        effort = self._effort
        slots = layout(self._task, workload.sizes)
        reference = self._bay.worker
        try:
            reference.arrange(slots, workload.sizes)
        except WorkerFault as fault:
            raise ReferenceFault(str(fault)) from fault
        worker.arrange(slots, workload.sizes)
        references: list[float] = []
        candidates: list[float] = []
        overhead: tuple[list[float], list[float]] = ([], [])
        deadline = time.perf_counter() + effort.workload_cap_s
        while True:
            n = len(candidates)
            index = self._input_set(n)
            given = self._bay.pool.get(workload, index)
            for ours in (n % 2 == 1, n % 2 == 0):
                inner, outer = self._timed_run(worker if ours else reference, workload, given, ours)
                overhead[ours].append(outer - inner)
                if ours and overhead[False]:
                    # A clock in the candidate's process may lie; what it can gain is bounded by the judge's own.
                    inner = max(inner, outer - max(overhead[False]) - effort.clock_slack_us)
                (candidates if ours else references).append(inner)
                if ours:
                    failure = self._verdict(worker, workload, index, given)
                    if failure:
                        return failure
            n += 1
            if n < effort.fewest_pairs:
                continue
            if self._hopeless_below is not None and surely_below(references, candidates, self._hopeless_below):
                hurry = True
            done = tight_enough(references, candidates, effort.half_width) or n >= effort.most_pairs
            if hurry or done or time.perf_counter() > deadline:
                suspicion = self._suspicion(references, candidates, overhead)
                if not suspicion or n >= effort.pairs_to_accuse:
                    break
        if suspicion:
            return Measurement(Status.CHEAT, f"{suspicion} at {workload.name}")
        return references, candidates, hurry

    def _timed_run(self, worker: Worker, workload: Workload, given: InputSet, ours: bool) -> tuple[float, float]:
        slots = layout(self._task, workload.sizes)
        try:
            worker.resume()
            worker.arena.fill(slots, given.inputs)
            worker.flush()
            inner, outer = worker.run(self._limit_s(workload))
            worker.pause()
        except WorkerFault as fault:
            if ours:
                raise
            raise ReferenceFault(str(fault)) from fault
        self.busy_s += inner * 1e-6
        return inner, outer

    def _input_set(self, pair: int) -> int:
        """Which inputs a pair runs on: now and then a set not seen before, else one of those already checked.

        The new ones are spread out, so that a busy spell of the machine cannot pass for their being slower.
        """
        effort = self._effort
        turn, rest = divmod(pair, effort.fresh_every)
        if rest == 0 and turn < effort.input_sets - effort.check_seeds:
            return effort.check_seeds + turn
        return pair % effort.check_seeds

    def _suspicion(
        self,
        references: Sequence[float],
        candidates: Sequence[float],
        overhead: tuple[Sequence[float], Sequence[float]],
    ) -> str:
        """Signs that the times are not what they seem: a clock that disagrees with ours, or answers remembered."""
        extra_us = min(overhead[True]) - max(overhead[False])  # a busy machine delays some runs, a liar all of them
        if extra_us > self._effort.clock_slack_us + 0.2 * float(np.median(candidates)):
            return f"its clock runs {extra_us:.0f} us short of the judge's"
        ratios = [c / r for r, c in zip(references, candidates, strict=True)]
        fresh = [ratio for n, ratio in enumerate(ratios) if self._input_set(n) >= self._effort.check_seeds]
        repeated = [ratio for n, ratio in enumerate(ratios) if self._input_set(n) < self._effort.check_seeds]
        if (
            repeated
            and len(fresh) >= FRESH_TO_ACCUSE
            and float(np.percentile(repeated, 90)) < self._effort.memory_ratio * min(fresh)
        ):
            return "it is faster on inputs it has seen before: results are remembered"
        return ""

    def _beyond_physics(self, workload: Workload, fastest_s: float) -> str:
        """Faster than reading the inputs or doing the arithmetic allows, with a wide margin for our device figures."""
        read_bytes = self._task.least_bytes(workload.sizes) / 2
        floor_s = max(
            read_bytes / (self._effort.physics_margin * self._device.bandwidth_bytes_per_s),
            self._task.flops(workload.sizes) / (2 * max(self._device.peak_flops.values())),
        )
        if fastest_s >= floor_s:
            return ""
        return (
            f"{fastest_s * 1e6:.1f} us at {workload.name} is less than the {floor_s * 1e6:.1f} us that physics allows"
        )
