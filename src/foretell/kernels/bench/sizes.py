"""Sizes near those that a task names, at which candidates are checked too: being right at named ones is not enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.kernels.task import Task, Workload

_SHARE = 16  # of a size, by one part in which it is lowered at most, but by 1 at least


def nearby(task: Task, entropy: int) -> Sequence[Workload | None]:
    """For each timed workload one that is a little smaller, the same for one `entropy`.

    None where there is none: a user's operation may be undefined at sizes that its author did not name.
    """
    rng = np.random.default_rng([entropy, len(task.workloads)])
    named = {workload.name for workload in (*task.workloads, *task.extra)}
    found = []
    for workload in task.workloads:
        most = {name: min(size - 1, max(1, size // _SHARE)) for name, size in workload.sizes.items()}
        lowered = {
            name: int(size - rng.integers(0, most[name], endpoint=True)) for name, size in workload.sizes.items()
        }
        if lowered == dict(workload.sizes):
            lowered = {name: size - most[name] for name, size in workload.sizes.items()}
        other = Workload(lowered)
        found.append(other if not task.files and other.name not in named else None)
    return found
