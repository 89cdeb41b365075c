"""One candidate before the judge: checked on fresh inputs first, then timed in turns with the reference."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.bench.arena import layout, needed_bytes
from foretell.kernels.bench.cpu_device import probed_again
from foretell.kernels.bench.inputs import InputPool, InputSet, mismatch
from foretell.kernels.bench.pairs import Pair, Pairs
from foretell.kernels.bench.statistics import combine
from foretell.kernels.bench.worker import BUSY_SHARE, Run, Worker, WorkerFault
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.contention import Watch, load_average, usable_cores
from foretell.kernels.device import Device
from foretell.kernels.languages import cpp
from foretell.kernels.measurement import Measurement, Status, Timing
from foretell.kernels.profiles import BenchEffort
from foretell.kernels.task import Task, Workload


def _own_cpu_s() -> float:
    """CPU seconds of this process and of those that drew inputs for it."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


class ReferenceFault(Exception):
    """The reference's own process failed: the machine's fault, not the candidate's."""


class Bay:
    """What all candidates of a task share: the reference in its process, and the input pool."""

    def __init__(self, task: Task, effort: BenchEffort, entropy: int) -> None:
        self.task = task
        self.pool = InputPool(task, entropy)
        reference = Candidate(task.key, "cpp", task.references["cpp"], Origin("reference"))
        built = cpp.build(task, reference)
        if not built.ok or built.artifact is None:
            raise WorkerFault(built.status, f"does not build: {built.message}")
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
                taken.append(self.worker.run(effort.reference_timeout_s).inner_us * 1e-6)
                for slot, want in zip(slots[len(task.inputs) :], given.expected, strict=True):
                    wrong = mismatch(self.worker.arena.view(slot), want)
                    if wrong:
                        raise WorkerFault(Status.WRONG, f"is wrong at {workload.name}: {wrong}")
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
        self.busy_s += worker.run(limit_s).inner_us * 1e-6
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
        self._watch = Watch(lambda: _own_cpu_s() + worker.cpu_s() + self._bay.worker.cpu_s())
        taken: list[Pairs] = []
        for workload in self._task.workloads:
            result = self._pairs(worker, workload, hurry=stopped)
            if isinstance(result, Measurement):
                return result
            pairs, stopped = result
            timings.append(pairs.timing(workload.name))
            too_fast = self._beyond_physics(workload, pairs.fastest_us * 1e-6)
            if too_fast:  # or the device's figures were taken on a busy machine: look again before accusing anyone
                self._device = probed_again(self._device)
                too_fast = self._beyond_physics(workload, pairs.fastest_us * 1e-6)
            if too_fast:
                return Measurement(Status.CHEAT, too_fast)
            taken.append(pairs)
        speedup, low, high = combine(timings, self._effort.between_processes)
        return Measurement(
            Status.OK, "", speedup, low, high, tuple(timings), stopped, conditions=self._conditions(taken)
        )

    def _conditions(self, taken: Sequence[Pairs]) -> dict[str, Any]:
        """What state the machine was in while timing, for whoever reads the measurement."""
        return {
            "load": round(load_average(), 2),
            "cores": usable_cores(),
            "others": round(self._watch.others_share(), 3),
            "pairs": sum(len(pairs.counted) for pairs in taken),
            "retaken": sum(pairs.retaken for pairs in taken),
            "disturbed": any(pairs.disturbed for pairs in taken),
        }

    def _pairs(self, worker: Worker, workload: Workload, hurry: bool) -> tuple[Pairs, bool] | Measurement:
        """Interleaved samples until the interval is tight, the cap is reached or the candidate is hopeless."""
        effort = self._effort
        slots = layout(self._task, workload.sizes)
        reference = self._bay.worker
        try:
            reference.arrange(slots, workload.sizes)
        except WorkerFault as fault:
            raise ReferenceFault(str(fault)) from fault
        worker.arrange(slots, workload.sizes)
        pairs = Pairs(effort)
        started = time.perf_counter()
        while True:
            failure = self._pair(worker, workload, pairs)
            if failure:
                return failure
            pairs.contended = self._watch.others_share() >= BUSY_SHARE
            if len(pairs.taken) < effort.fewest_pairs:
                continue
            hurry = hurry or pairs.hopeless(self._hopeless_below)
            if hurry or pairs.enough(time.perf_counter() - started):
                suspicion = pairs.suspicion()
                if not suspicion or len(pairs.counted) >= effort.pairs_to_accuse:
                    break
        if suspicion:
            return Measurement(Status.CHEAT, f"{suspicion} at {workload.name}")
        return pairs, hurry

    def _pair(self, worker: Worker, workload: Workload, pairs: Pairs) -> Measurement | None:
        """Run both once, in alternating order, and add the pair; the failure if the candidate's output is wrong."""
        index, fresh = pairs.next_inputs()
        inputs = self._bay.pool.get(workload, index)
        runs: dict[bool, Run] = {}
        first = len(pairs.taken) % 2 == 1
        for ours in (first, not first):
            runs[ours] = self._timed_run(worker if ours else self._bay.worker, workload, inputs, ours)
            if ours:
                failure = self._verdict(worker, workload, index, inputs)
                if failure:
                    return failure
        reference, candidate = runs[False], runs[True]
        # A clock in the candidate's process may lie; what it can gain is bounded by the judge's own.
        slowest_us = max(reference.overhead_us, *(pair.reference.overhead_us for pair in pairs.taken), 0.0)
        least_us = candidate.outer_us - slowest_us - self._effort.clock_slack_us
        candidate = replace(candidate, inner_us=max(candidate.inner_us, least_us))
        pairs.taken.append(Pair(reference, candidate, fresh))
        return None

    def _timed_run(self, worker: Worker, workload: Workload, inputs: InputSet, ours: bool) -> Run:
        slots = layout(self._task, workload.sizes)
        try:
            worker.pause()
            worker.arena.fill(slots, inputs.inputs)
            worker.flush()
            run = worker.run(self._limit_s(workload))
            worker.pause()
        except WorkerFault as fault:
            if ours:
                raise
            raise ReferenceFault(str(fault)) from fault
        self.busy_s += run.inner_us * 1e-6
        return run

    def _beyond_physics(self, workload: Workload, fastest_s: float) -> str:
        """Faster than reading the inputs or doing the arithmetic allows, with a wide margin for our device figures."""
        read_bytes = self._task.certain_bytes(workload.sizes)
        floor_s = max(
            read_bytes / (self._effort.physics_margin * self._device.bandwidth_bytes_per_s),
            self._task.flops(workload.sizes) / (2 * max(self._device.peak_flops.values())),
        )
        if fastest_s >= floor_s:
            return ""
        return (
            f"{fastest_s * 1e6:.1f} us at {workload.name} is less than the {floor_s * 1e6:.1f} us that physics allows"
        )
