"""The work of a task by its reference's Program, recorded once in the sandbox and then kept by content."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from foretell.extras import is_installed
from foretell.kernels.cost import work_of
from foretell.kernels.devices import described
from foretell.kernels.program import Program, View
from foretell.kernels.record.apart import record_apart
from foretell.kernels.sandbox import NoSandbox, required
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.task import ITEM_BYTES, Task
from foretell.kernels.typed import typed

FORMAT = 1  # of the file; another one is recorded anew
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
    """The work of each task, None where its reference cannot be recorded here. Those not known yet are recorded."""
    unknown = {task.identity: task for task in tasks if _read(task) is None}
    if unknown and _can_record():
        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            list(pool.map(_record, unknown.values()))
    found = [_read(task) for task in tasks]
    return [each if isinstance(each, ReferenceWork) else None for each in found]


def _can_record() -> bool:
    if not is_installed("torch"):
        return False
    try:
        required(server=True)
    except NoSandbox:
        return False
    return True


def _record(task: Task) -> None:
    recording = record_apart(task, task.workloads[0], None, "torch", described(DEVICE))
    program = recording.program
    told: dict[str, Any] = {"format": FORMAT}
    told |= {"refusal": str(recording.refusal)} if program is None else {"work": asdict(_work(program))}
    path = _path(task)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(told))
    partial.replace(path)


def _work(program: Program) -> ReferenceWork:
    work = work_of(program)
    read = (*program.inputs, *(weight.view for weight in program.weights))
    inputs, outputs = (tuple(_array(view) for view in views) for views in (read, program.outputs))
    return ReferenceWork(inputs, outputs, work.flops, work.least_bytes, work.launches, work.intermediate_bytes)


def _array(view: View) -> Array:
    """A view, with a dtype that tasks know."""
    return Array(view.dtype if view.dtype in ITEM_BYTES else _BY_BYTES[view.item_bytes], view.shape)


def _path(task: Task) -> Any:
    key = hashlib.sha256(task.identity.encode()).hexdigest()[:40]
    return cache_dir() / "work" / key[:2] / f"{key}.json"


def _read(task: Task) -> ReferenceWork | str | None:
    """What is kept: the work, why there is none, or None where nothing is."""
    try:
        told = json.loads(_path(task).read_text())
        if told["format"] != FORMAT:
            return None
        if "refusal" in told:
            return str(told["refusal"])
        plain = told["work"]
        arrays = {
            name: tuple(Array(str(each["dtype"]), tuple(int(side) for side in each["shape"])) for each in plain[name])
            for name in ("inputs", "outputs")
        }
        return typed(ReferenceWork(**(plain | arrays)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
