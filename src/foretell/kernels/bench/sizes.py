"""Sizes that a task does not name, at which candidates are checked too: being right at named ones is not enough."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from foretell.kernels.bench.arena import bytes_at, needed_bytes
from foretell.kernels.task import Sizes, Task, Workload

_SHARE = 16  # of a size, by one part in which it is lowered at most, but by 1 at least
_SMALL_BYTES = 1 << 20  # of inputs and outputs at sizes drawn from anywhere, but for one of them
_TRIES = 64


def nearby(task: Task, entropy: int) -> Sequence[Workload | None]:
    """For each timed workload one that is a little smaller, the same for one `entropy`.

    None where there is none: a user's operation may be undefined at sizes that its author did not name.
    """
    rng = np.random.default_rng([entropy, len(task.workloads)])
    named = {workload.name for workload in (*task.workloads, *task.extra)}
    return [None if task.files else _lowered(workload, named, rng) for workload in task.workloads]


def _lowered(workload: Workload, named: set[str], rng: np.random.Generator) -> Workload | None:
    sizes = workload.sizes
    most = {name: min(max(0, size - 1), max(1, size // _SHARE)) for name, size in sizes.items()}
    lowered = {name: int(size - rng.integers(0, most[name], endpoint=True)) for name, size in sizes.items()}
    if lowered == dict(sizes):
        lowered = {name: size - most[name] for name, size in sizes.items()}
    other = Workload(lowered)
    return other if other.name not in named else None


def anywhere(task: Task, count: int, rng: np.random.Generator) -> list[Workload]:
    """Up to `count` workloads of any sizes between the least and the largest that are named.

    The logarithm of each size is even. All but one are small; that one takes as much memory as the largest that is
    named at most. None for a user's operation.
    """
    if task.files:
        return []
    every = [workload.sizes for workload in (*task.workloads, *task.extra)]
    bounds = {name: (min(s[name] for s in every), max(s[name] for s in every)) for name in task.sizes}
    most_bytes = needed_bytes(task)
    small: list[Workload] = []
    large: list[Workload] = []
    for _ in range(_TRIES):
        drawn = {name: _between(low, high, rng) for name, (low, high) in bounds.items()}
        size_bytes = bytes_at(task, drawn)
        if size_bytes <= most_bytes:
            (small if size_bytes <= _SMALL_BYTES else large).append(Workload(drawn))
    return [*large[:1], *small][:count]


def extremes(task: Task) -> list[Workload]:
    """Workloads at which each size is the least or the largest that is named, as many items as fit beside each other.

    None takes more memory than the largest that is named, nor is there one that is larger in a size and less in none.
    None of them is named itself; none for a user's operation.
    """
    if task.files:
        return []
    every = [workload.sizes for workload in (*task.workloads, *task.extra)]
    most_bytes = needed_bytes(task)
    ends = {name: sorted({min(s[name] for s in every), max(s[name] for s in every)}) for name in task.sizes}
    corners = [dict(zip(ends, values, strict=True)) for values in itertools.product(*ends.values())]
    fitting = [each for each in corners if bytes_at(task, each) <= most_bytes]
    kept = [each for each in fitting if not any(_is_within(each, other) for other in fitting if other != each)]
    return [Workload(each) for each in kept if each not in map(dict, every)]


def _is_within(sizes: Sizes, other: Sizes) -> bool:
    return all(size <= other[name] for name, size in sizes.items())


def _between(low: int, high: int, rng: np.random.Generator) -> int:
    return min(high, int(np.exp(rng.uniform(np.log(max(1, low)), np.log(high + 1)))))
