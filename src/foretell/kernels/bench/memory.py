"""Whether a machine's memory holds what measuring a task on its CPU takes."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

from foretell.kernels.device import Device
from foretell.kernels.task import Task, tensor_bytes
from foretell.kernels.tasks.fits import check_fits

# The fewest of its size: the arenas of the candidate and of the reference, the set in use and the one before it; for
# outputs what is expected and its room, in double precision, and their two bounds.
INPUT_COPIES, OUTPUT_COPIES = 4, 12
_GROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def check_size(task: Task, device: Device) -> None:
    """Raises BadTask if the task's data would not fit into what this process may use of the device's memory."""
    check_fits(task, needed_bytes, min([device.memory_bytes, *_limits()]), device.name)


def needed_bytes(task: Task) -> int:
    """Memory that measuring the task takes at least, at the largest of its workloads."""
    return max(
        INPUT_COPIES * sum(tensor_bytes(tensor, workload.sizes) for tensor in task.inputs)
        + OUTPUT_COPIES * sum(tensor_bytes(tensor, workload.sizes) for tensor in task.outputs)
        for workload in (*task.workloads, *task.extra)
    )


def _limits() -> list[int]:
    """Bytes that this process may map, and that its control group may use, where there are such limits."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    found = [soft] if soft != resource.RLIM_INFINITY else []
    for path in _GROUP_LIMITS:
        with suppress(OSError, ValueError):  # absent, or "max"
            found.append(int(Path(path).read_text()))
    return found
