"""The work of a task by its reference's Program, recorded in the sandbox (see `recordings` for what is kept)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from foretell.kernels.cost.recordings import can_record, recording_of
from foretell.kernels.cost.work import work_of
from foretell.kernels.devices import described
from foretell.kernels.program import Program, View
from foretell.kernels.task import ITEM_BYTES, Task

DEVICE = "h200"  # references are recorded for; their work is the same on any device
_BY_BYTES = {1: "uint8", 2: "float16", 4: "float32", 8: "int64", 16: "float64"}


@dataclass(frozen=True)
class Array:
    """A tensor that goes in or comes out."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ReferenceWork:
    """Work of a task's reference at its first workload: tensors read (weights too) and written, operations, bytes."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    flops: float
    least_bytes: float
    launches: int
    intermediate_bytes: float


def reference_works(tasks: Sequence[Task]) -> list[ReferenceWork | None]:
    """The work of each task, None where its reference cannot be recorded here."""
    if not tasks or not can_record():
        return [None] * len(tasks)
    distinct = {task.identity: task for task in tasks}
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        found = dict(zip(distinct, pool.map(_recorded, distinct.values()), strict=True))
    return [found[task.identity] for task in tasks]


def _recorded(task: Task) -> ReferenceWork | None:
    nameless = replace(task, name="reference", summary="")  # so that the same problem under two names is recorded once
    program = recording_of(nameless, task.workloads[0], None, "torch", described(DEVICE)).program
    return None if program is None else _work(program)


def _work(program: Program) -> ReferenceWork:
    work = work_of(program)
    read = (*program.inputs, *(weight.view for weight in program.weights))
    inputs, outputs = (tuple(_array(view) for view in views) for views in (read, program.outputs))
    return ReferenceWork(inputs, outputs, work.flops, work.least_bytes, work.launches, work.intermediate_bytes)


def _array(view: View) -> Array:
    """A view, with a dtype that tasks know."""
    return Array(view.dtype if view.dtype in ITEM_BYTES else _BY_BYTES[view.item_bytes], view.shape)
