"""What a task costs, read off its recorded reference: for tasks of others, whose work no formula tells."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from foretell.errors import note
from foretell.kernels.cost.apart import WORK_DEVICE, NotAnalysed, times_apart, work_apart
from foretell.kernels.cost.recordings import can_record, recording_of
from foretell.kernels.cost.work import Work
from foretell.kernels.device import Device
from foretell.kernels.devices import described
from foretell.kernels.limits import REFERENCES
from foretell.kernels.program import Program
from foretell.kernels.record.refusal import Recording
from foretell.kernels.task import Task, WorkloadCost


@dataclass(frozen=True)
class Reference:
    """The Program of a task's reference, and its work."""

    program: Program
    work: Work


@dataclass(frozen=True)
class Costed:
    """A task whose `costs` are filled in as far as its reference could be recorded, and those recordings by workload.

    `refusal` says why the first workload that could not be recorded was not; empty if all were. `trouble` says why
    costs are missing though all were recorded.
    """

    task: Task
    recordings: Mapping[str, Recording]
    trouble: str = ""

    @property
    def reference(self) -> Recording:
        """The recording of the first workload."""
        return self.recordings[self.task.workloads[0].name]

    @property
    def refusal(self) -> str:
        return next((str(each.refusal) for each in self.recordings.values() if not each.ok), "")


def costed(task: Task, device: Device, reference_us: float | None = None) -> Costed:
    """Record a GPU task's reference at its timed workloads, in processes of their own, and cost it.

    Args:
        task: A task for a GPU. One of the library keeps its formulas, and only its first workload is recorded.
        device: The GPU that it is recorded for; it need not be there.
        reference_us: The reference's time at the first workload, if it is known.
    """
    formulas = task.kind == "library"
    recordings: dict[str, Recording] = {}
    for workload in task.workloads[: 1 if formulas else None]:
        recordings[workload.name] = recording_of(task, workload, None, "torch", device)
        if not recordings[workload.name].ok:
            break
    programs = [recording.program for recording in recordings.values() if recording.program is not None]
    costs: dict[str, WorkloadCost] = {}
    trouble = ""
    if not formulas and len(programs) == len(task.workloads):
        try:
            costs = {name: cost_of(program, device) for name, program in zip(recordings, programs, strict=True)}
        except NotAnalysed as error:
            trouble = str(error)
    return Costed(replace(task, costs=_known(task, costs, reference_us)), recordings, trouble)


def references_of(tasks: Sequence[Task], seconds: float = REFERENCES.seconds) -> list[Reference | None]:
    """Each task's reference at its first workload; None if it cannot be recorded or analysed here.

    None is begun once so many seconds are over: a note says how many were left out.
    """
    if not tasks or not can_record():
        return [None] * len(tasks)
    distinct = {task.identity: task for task in tasks}
    end_s = time.monotonic() + seconds
    late = []

    def in_time(task: Task) -> Reference | None:
        if time.monotonic() < end_s:
            return _reference(task)
        late.append(task)
        return None

    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        found = dict(zip(distinct, pool.map(in_time, distinct.values()), strict=True))
    if late:
        note(f"references not recorded, for no time of {seconds:g} s is left: {len(late)} of {len(distinct)}")
    return [found[task.identity] for task in tasks]


def _reference(task: Task) -> Reference | None:
    nameless = replace(task, name="reference", summary="")  # so that the same problem under two names is recorded once
    program = recording_of(nameless, task.workloads[0], None, "torch", described(WORK_DEVICE)).program
    try:
        return None if program is None else Reference(program, work_apart(program))
    except NotAnalysed:
        return None


def _known(task: Task, costs: Mapping[str, WorkloadCost], reference_us: float | None) -> dict[str, WorkloadCost]:
    """Costs with the reference's time as it is known; at other workloads in proportion to what was estimated."""
    if reference_us is None:
        return dict(costs)
    first = task.workloads[0]
    estimate = costs[first.name].reference_us if first.name in costs else None
    if not estimate:
        work = WorkloadCost(task.flops_of(first), task.least_bytes_of(first), task.dtype)
        return {first.name: replace(work, reference_us=reference_us)} if task.kind == "library" else dict(costs)
    share = reference_us / estimate
    return {
        name: replace(cost, reference_us=share * (cost.reference_us or 0.0), estimated=False)
        for name, cost in costs.items()
    }


def cost_of(program: Program, device: Device) -> WorkloadCost:
    """The cost of the workload that a reference's Program was recorded for, with an estimate of its time.

    Worked out in the sandbox. Raises NotAnalysed.
    """
    work = work_apart(program)
    [times] = times_apart([program], device)
    counts = (len(program.inputs), len(program.outputs))
    return WorkloadCost(work.flops, work.least_bytes, work.dtype, *counts, reference_us=times.device_us, estimated=True)
