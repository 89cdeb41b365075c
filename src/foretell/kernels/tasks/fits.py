"""Tasks whose data does not fit into memory are refused before any of it is made, with sizes at which it would."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.limits import TASK_LIMITS
from foretell.kernels.task import Task
from foretell.kernels.tasks import sizes
from foretell.kernels.tasks.refusal import BadTask, Refusal

_GIB = 1 << 30
NeededBytes = Callable[[Task], "int | None"]


def check_fits(task: Task, needed_bytes: NeededBytes, memory_bytes: int, device: str) -> None:
    """Raises BadTask if the task needs more than its share of the memory; says which sizes would fit."""
    limit_bytes = int(TASK_LIMITS.memory_share * memory_bytes)
    need_bytes = needed_bytes(task)
    if need_bytes is None or need_bytes <= limit_bytes:
        return
    what = f"{task.name} needs about {_gib(need_bytes)} for its data, and {device} has {_gib(memory_bytes)}"
    expected = f"at most {_gib(limit_bytes)}"
    raise BadTask(Refusal.TOO_LARGE, what, expected, _offer(task, needed_bytes, limit_bytes))


def _offer(task: Task, needed_bytes: NeededBytes, limit_bytes: int) -> str:
    """Sizes at which the task would fit, as an option to give."""
    for name, value in sizes.adjustable(task):
        smaller = value
        while smaller > 1:
            smaller //= 2
            need_bytes = needed_bytes(sizes.resized(task, {name: smaller}))
            if need_bytes is not None and need_bytes <= limit_bytes:
                return f"--size {name}={smaller} (instead of {value}) needs {_gib(need_bytes)}"
    return "use smaller sizes"


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / _GIB:.3g} GiB" if size_bytes >= _GIB else f"{size_bytes / (1 << 20):.3g} MiB"
