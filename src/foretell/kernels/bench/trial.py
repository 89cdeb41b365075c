"""One candidate before the judge: checked on fresh inputs first, then timed in turns with the reference."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.bench.arena import ALIGNMENT, PAGE_BYTES, Slot, layout, needed_bytes
from foretell.kernels.bench.cpu_device import probed_again
from foretell.kernels.bench.faults import WorkerFault
from foretell.kernels.bench.inputs import InputPool, InputSet, differs, draw, mismatch
from foretell.kernels.bench.pairs import Pair, Pairs
from foretell.kernels.bench.runs import Run
from foretell.kernels.bench.secret import Secret
from foretell.kernels.bench.sizes import anywhere, extremes, nearby
from foretell.kernels.bench.statistics import combine
from foretell.kernels.bench.worker import BUSY_SHARE, Worker
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.contention import Watch, load_average, usable_cores
from foretell.kernels.device import Device
from foretell.kernels.languages import cpp
from foretell.kernels.measurement import Measurement, Status, Timing
from foretell.kernels.profiles import BenchEffort
from foretell.kernels.task import Task, Workload
from foretell.kernels.tasks.refusal import BadTask, Refusal

_EXTRA_SEEDS = 2  # sets on which shapes that are not timed are checked
_FEWEST_ITEMS = 16  # of inputs that differ for another seed


def _own_cpu_s() -> float:
    """CPU seconds of this process and of those that drew inputs for it."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def _are_alike(first: Sequence[NDArray[Any]], second: Sequence[NDArray[Any]]) -> bool:
    """Whether two sets of inputs, of a few items at least, are the same."""
    items = sum(array.size for array in first)
    return items >= _FEWEST_ITEMS and all(map(np.array_equal, first, second))


def _met(seeds: int) -> list[tuple[int, bool]]:
    """The sets of inputs that a workload is checked on, and whether they lie at the end of their pages.

    The first one comes twice in the same place: whatever a kernel remembers, it must write its outputs.
    """
    return [(0, False), (0, False), *((index, True) for index in range(min(1, seeds - 1), seeds))]


class ReferenceFault(Exception):
    """The reference's own process failed: the machine's fault, not the candidate's."""


class Bay:
    """What all candidates of a task share: the reference, in a process for each measurement, and the input pool."""

    def __init__(self, task: Task, effort: BenchEffort, entropy: int) -> None:
        self.task = task
        self._secret = Secret(entropy)
        self.pool = InputPool(task, self._secret)
        self._turns = 0
        self._extremes: list[tuple[Workload, InputSet]] | None = None
        self.nearby = nearby(task, self._secret.number("nearby"))
        reference = Candidate(task.key, "cpp", task.references["cpp"], Origin("reference"))
        built = cpp.build(task, reference)
        if not built.ok or built.artifact is None:
            raise WorkerFault(built.status, f"does not build: {built.message}")
        self._artifact = built.artifact
        self.worker = Worker(built.artifact, needed_bytes(task))
        self.reference_s = {workload.name: self._tried(workload, effort) for workload in task.workloads}

    def _tried(self, workload: Workload, effort: BenchEffort) -> float:
        """Seconds that the reference takes at a workload. Raises WorkerFault if what it gives is wrong."""
        slots = layout(self.task, workload.sizes)
        self.worker.arrange(slots, workload.sizes)
        if self.task.files and _are_alike(*(self.pool.get(workload, index).inputs for index in range(2))):
            what = f"the inputs of {self.task.name} are the same for every seed: kernels could remember their results"
            raise BadTask(Refusal.ODD_INPUTS, what, "inputs(seed, ...) that draws other numbers for another seed")
        taken_us = []
        for index in range(2):
            drawn = self.pool.get(workload, index)
            self.worker.arena.fill(slots, drawn.inputs)
            taken_us.append(self.worker.timed_call(effort.reference_timeout_s).time_us)
            for slot, expected in zip(slots[len(self.task.inputs) :], drawn.expected, strict=True):
                wrong = mismatch(self.worker.arena.view(slot), expected)
                if wrong:
                    raise WorkerFault(Status.WRONG, f"is wrong at {workload.name}: {wrong}")
        return min(taken_us) * 1e-6

    def surprises(self, count: int) -> list[tuple[Workload, InputSet]]:
        """Input sets of sizes that were never drawn before."""
        found = anywhere(self.task, count, np.random.default_rng(self._secret.next()))
        seeds = [self._secret.next() for _ in found]
        return [(each, draw(self.task, each, [seed])[0]) for each, seed in zip(found, seeds, strict=True)]

    def extremes(self) -> list[tuple[Workload, InputSet]]:
        """Input sets of the least and largest sizes, with what is usually left to chance; kept for other processes."""
        if self._extremes is None:
            found = extremes(self.task)
            seeds = [self._secret.next() for _ in found]
            self._extremes = [
                (each, draw(self.task, each, [seed], extreme=True)[0]) for each, seed in zip(found, seeds, strict=True)
            ]
        return self._extremes

    def fresh_pool(self) -> InputPool:
        """A pool of sets that no process has met."""
        self._turns += 1
        return InputPool(self.task, self._secret, self._turns)

    def drawn_number(self, below: int) -> int:
        """A number from 0 on that no candidate can foresee."""
        return self._secret.next() % below

    def renew(self) -> None:
        """Put the reference into a new process. Raises WorkerFault if it does not start."""
        self.worker.close()
        self.worker = Worker(self._artifact, needed_bytes(self.task))

    def close(self) -> None:
        """End the reference's process; safe to call twice."""
        self.worker.close()


class Trial:
    """One candidate before the judge: checked first, then timed."""

    def __init__(self, bay: Bay, device: Device, effort: BenchEffort, hopeless_below: float | None) -> None:
        self._bay = bay
        self._task = bay.task
        self._device = device
        self._effort = effort
        self._hopeless_below = hopeless_below
        self._allowed_s = effort.total_s
        self._fresh = bay.fresh_pool()  # of the workload that is timed
        self.busy_s = 0.0

    def judge(self, worker: Worker) -> Measurement:
        for workload, drawn, at_end, timed in self._checks():
            limit_s = self._effort.run_timeout_s if timed is None else self._limit_s(timed)
            failure = self._check(worker, workload, layout(self._task, workload.sizes, at_end), drawn, limit_s)
            if failure:
                return failure
            self._charge(worker, workload if timed is None else timed)
        return self._time(worker)

    def _checks(self) -> Iterator[tuple[Workload, InputSet, bool, Workload | None]]:
        """What a candidate is called on before it is timed: sizes, inputs, whether they lie at the end of their pages,
        and the timed workload of about these sizes."""
        pool = self._bay.pool
        for workload in self._task.extra:
            for index, at_end in _met(_EXTRA_SEEDS):
                yield workload, pool.get(workload, index), at_end, None
        for workload, unnamed in zip(self._task.workloads, self._bay.nearby, strict=True):
            for index, at_end in _met(self._effort.check_seeds):
                yield workload, pool.get(workload, index), at_end, workload
            if unnamed:
                yield unnamed, pool.get(unnamed, 0), True, workload
        for workload, drawn in self._bay.extremes():
            yield workload, drawn, True, None
        for number, (workload, drawn) in enumerate(self._bay.surprises(self._effort.surprises)):
            yield workload, drawn, number % 2 == 1, None

    def _charge(self, worker: Worker, workload: Workload) -> None:
        """Allow for one more call. Raises WorkerFault if all calls together have taken too long."""
        self._allowed_s += self._effort.total_ratio * self._bay.reference_s.get(workload.name, 0.0)
        if worker.spent_s > self._allowed_s:
            raise WorkerFault(
                Status.TIMEOUT,
                f"took {worker.spent_s:.3g} s for its calls so far, of {self._allowed_s:.3g} s that they may take in "
                "all, and was stopped",
            )

    def _limit_s(self, workload: Workload) -> float:
        return max(self._effort.run_timeout_s, self._effort.slowest_ratio * self._bay.reference_s[workload.name])

    def _check(
        self, worker: Worker, workload: Workload, slots: Sequence[Slot], drawn: InputSet, limit_s: float
    ) -> Measurement | None:
        """None when the outputs are right and nothing was written around the buffers; else the failure.

        Raises WorkerFault if the process ended or changed its inputs.
        """
        worker.arrange(slots, workload.sizes)
        worker.arena.fill(slots, drawn.inputs)
        worker.call(limit_s)
        self._compare_inputs(worker, workload, slots, drawn)
        return self._verdict(worker, workload, slots, drawn, None)

    def _compare_inputs(self, worker: Worker, workload: Workload, slots: Sequence[Slot], drawn: InputSet) -> None:
        """Raises WorkerFault if the inputs of the last call are not what they were before it."""
        changed = worker.arena.changed(slots, drawn.inputs)
        if changed:
            raise WorkerFault(Status.CHEAT, f"{changed} at {workload.name}")

    def _verdict(
        self, worker: Worker, workload: Workload, slots: Sequence[Slot], drawn: InputSet, reference: Worker | None
    ) -> Measurement | None:
        """None when the outputs are right and nothing was written around the buffers; else the failure.

        The oracle decides. Where there is a reference that ran on the same inputs, agreeing with it is enough.
        """
        strayed = worker.arena.strayed(slots)
        if strayed:
            return Measurement(Status.WRONG, f"{strayed} at {workload.name}")
        for number, slot in enumerate(slots[len(self._task.inputs) :]):
            got = worker.arena.view(slot)
            if reference is not None:
                other = reference.arena.view(slot)
                if not differs(got, other, self._task.tolerance, drawn.scale):
                    continue
            wrong = mismatch(got, drawn.expected[number])
            if wrong:
                return Measurement(Status.WRONG, f"output {slot.tensor.name!r} at {workload.name}: {wrong}")
        return None

    def _time(self, worker: Worker) -> Measurement:
        timings: list[Timing] = []
        stopped = False
        self._watch = Watch(lambda: _own_cpu_s() + worker.cpu_s() + self._bay.worker.cpu_s())
        taken: list[Pairs] = []
        for workload in self._task.workloads:
            self._fresh = self._bay.fresh_pool()
            result = self._pairs(worker, workload, hurry=stopped)
            if isinstance(result, Measurement):
                return result
            pairs, stopped = result
            failure = self._met_again(worker, workload, len(pairs.taken))
            if failure:
                return failure
            timings.append(pairs.timing(workload.name))
            too_fast = self._beyond_physics(workload, pairs.candidate_us * 1e-6)
            if too_fast:  # or the device's figures were taken on a busy machine: look again before accusing anyone
                self._device = probed_again(self._device)
                too_fast = self._beyond_physics(workload, pairs.candidate_us * 1e-6)
            if too_fast:
                return Measurement(Status.CHEAT, too_fast)
            taken.append(pairs)
        mixed = [timing.workload for timing, pairs in zip(timings, taken, strict=True) if pairs.mixed]
        speedup, low, high = combine(timings, self._effort.between_processes, mixed)
        return Measurement(
            Status.OK, "", speedup, low, high, tuple(timings), stopped, conditions=self._conditions(taken)
        )

    def _met_again(self, worker: Worker, workload: Workload, timed: int) -> Measurement | None:
        """Check a candidate on a set that it has met before, somewhere else: nobody can foresee which one and where."""
        number = self._bay.drawn_number(self._effort.check_seeds + timed) - timed
        drawn = self._fresh.get(workload, -1 - number) if number < 0 else self._bay.pool.get(workload, number)
        lead_bytes = ALIGNMENT * (1 + self._bay.drawn_number(PAGE_BYTES // ALIGNMENT - 1))
        slots = layout(self._task, workload.sizes, lead_bytes=lead_bytes)
        failure = self._check(worker, workload, slots, drawn, self._limit_s(workload))
        self._charge(worker, workload)
        return failure

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
            self._charge(worker, workload)
            if pairs.slow():
                return pairs, True
            if len(pairs.taken) < effort.fewest_pairs:
                continue
            hurry = hurry or pairs.hopeless(self._hopeless_below)
            if hurry or pairs.enough(time.perf_counter() - started):
                return pairs, hurry

    def _pair(self, worker: Worker, workload: Workload, pairs: Pairs) -> Measurement | None:
        """Run both once on new data, in alternating order, and add the pair; the failure if the output is wrong."""
        drawn = self._fresh.get(workload, len(pairs.taken))
        reference = self._bay.worker
        if len(pairs.taken) % 2 == 1:
            candidate_run = self._timed_call(worker, workload, drawn)
            reference_run = self._reference_call(workload, drawn)
        else:
            reference_run = self._reference_call(workload, drawn)
            candidate_run = self._timed_call(worker, workload, drawn)
        pairs.taken.append(Pair(reference_run, candidate_run))
        slots = layout(self._task, workload.sizes)
        return self._verdict(worker, workload, slots, drawn, None if drawn.by_oracle else reference)

    def _reference_call(self, workload: Workload, drawn: InputSet) -> Run:
        try:
            return self._timed_call(self._bay.worker, workload, drawn)
        except WorkerFault as fault:
            raise ReferenceFault(str(fault)) from fault

    def _timed_call(self, worker: Worker, workload: Workload, drawn: InputSet) -> Run:
        slots = layout(self._task, workload.sizes)
        if self._bay.reference_s[workload.name] < self._effort.warm_below_s:
            # A short call is slower by what drawing inputs pushed out of the caches: its code, and how it is mapped.
            first = self._bay.pool.get(workload, 0)
            worker.arena.fill(slots, first.inputs)
            worker.call(self._limit_s(workload))
            self._compare_inputs(worker, workload, slots, first)
        worker.arena.fill(slots, drawn.inputs)
        run = worker.timed_call(self._limit_s(workload))
        self._compare_inputs(worker, workload, slots, drawn)
        self.busy_s += run.time_us * 1e-6
        return run

    def _beyond_physics(self, workload: Workload, taken_s: float) -> str:
        """Faster than reading the inputs or doing the arithmetic allows, with a wide margin for our device figures."""
        read_bytes = self._task.certain_bytes(workload.sizes)
        floor_s = max(
            read_bytes / (self._effort.physics_margin * self._device.bandwidth_bytes_per_s),
            self._task.flops(workload.sizes) / (2 * max(self._device.peak_flops.values())),
        )
        if taken_s >= floor_s:
            return ""
        return f"{taken_s * 1e6:.1f} us at {workload.name} is less than the {floor_s * 1e6:.1f} us that physics allows"
