"""Sizes near the named ones: smaller, never named, drawn anew by every bench, and only where any size is defined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foretell.kernels.bench.arena import bytes_at, needed_bytes
from foretell.kernels.bench.inputs import draw
from foretell.kernels.bench.sizes import anywhere, extremes, nearby
from foretell.kernels.library import get, tasks
from foretell.kernels.task import Workload


@pytest.mark.parametrize("name", list(tasks()))
def test_every_operation_of_the_library_has_neighbours_that_fit(name: str) -> None:
    task = get(name)
    named = [dict(workload.sizes) for workload in (*task.workloads, *task.extra)]
    for entropy in range(5):
        for workload, other in zip(task.workloads, nearby(task, entropy), strict=True):
            assert other is not None and dict(other.sizes) not in named
            assert all(max(1, size * 0.9 - 1) <= other.sizes[key] <= size for key, size in workload.sizes.items())
            assert bytes_at(task, other.sizes) <= needed_bytes(task)
        drawn = anywhere(task, 6, np.random.default_rng(entropy))
        assert len(drawn) == 6 and len({other.name for other in drawn}) > 1
        for other in drawn:
            assert bytes_at(task, other.sizes) <= needed_bytes(task)
            assert all(min(s[k] for s in named) <= other.sizes[k] <= max(s[k] for s in named) for k in task.sizes)


@pytest.mark.parametrize("name", list(tasks()))
def test_one_of_those_drawn_is_large_where_timed_ones_are(name: str) -> None:
    task = get(name)
    large = [
        sum(bytes_at(task, other.sizes) > 1 << 20 for other in anywhere(task, 6, np.random.default_rng(entropy)))
        for entropy in range(5)
    ]
    assert large == [1] * 5 if needed_bytes(task) > 6 << 20 else max(large) <= 1


@pytest.mark.parametrize("name", list(tasks()))
def test_extremes_are_the_ends_of_sizes_and_fit(name: str) -> None:
    task = get(name)
    named = [dict(workload.sizes) for workload in (*task.workloads, *task.extra)]
    for workload in extremes(task):
        assert bytes_at(task, workload.sizes) <= needed_bytes(task) and dict(workload.sizes) not in named
        for key, size in workload.sizes.items():
            assert size in (min(sizes[key] for sizes in named), max(sizes[key] for sizes in named))
    assert not extremes(replace(task, files={"op.py": ""}))


def test_the_largest_histogram_has_a_value_that_prevails() -> None:
    task = get("histogram")
    [workload] = extremes(task)
    assert workload.sizes == {"count": 3_000_000, "bins": 256}
    for seed in range(3):
        [drawn] = draw(task, workload, [seed], extreme=True)
        tables = [np.bincount(drawn.inputs[0][k::32], minlength=256) for k in range(32)]
        assert max(table.max() for table in tables) > 1 << 16, "a counter of 16 bits wraps in each of 32 tables"


def test_inputs_and_results_are_defined_there() -> None:
    for name in ("avg_pool2d", "stencil5", "attention", "conv2d", "histogram"):
        task = get(name)
        other = nearby(task, 3)[-1]
        assert other is not None
        [drawn] = draw(task, other, [1])
        for tensor, expected in zip(task.outputs, drawn.expected, strict=True):
            assert expected.want.shape == tensor.dims(other.sizes)


def test_each_bench_draws_others_and_a_users_operation_gets_none() -> None:
    task = get("row_sum")
    assert nearby(task, 1) == nearby(task, 1) != nearby(task, 2)
    own = replace(task, files={"op.py": ""})
    assert set(nearby(own, 1)) == {None} and not anywhere(own, 6, np.random.default_rng(1))


def test_an_operation_of_no_items_has_neighbours_too() -> None:
    none = replace(get("row_sum"), workloads=(Workload({"rows": 0, "cols": 3}),))
    [other] = nearby(none, 1)
    assert other is not None and other.sizes["rows"] == 0
