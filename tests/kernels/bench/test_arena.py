"""The memory a candidate works on fits the pages of this machine."""

from __future__ import annotations

import itertools
import mmap
from dataclasses import replace

import numpy as np
import pytest

from foretell.kernels.bench.arena import ALIGNMENT, Arena, bytes_at, layout
from foretell.kernels.library import get, tasks


@pytest.mark.parametrize(("at_end", "lead_bytes"), [(False, 0), (True, 0), (False, 64), (False, mmap.PAGESIZE - 64)])
def test_buffers_have_pages_of_their_own_with_guards_around(at_end: bool, lead_bytes: int) -> None:
    """Protection is set page by page; at the end of them less than an alignment is left before the guard."""
    for task in tasks().values():
        for workload in (*task.workloads, *task.extra):
            slots, end = layout(task, workload.sizes, at_end, lead_bytes), 0
            for slot in slots:
                first, last = slot.pages
                assert first % mmap.PAGESIZE == last % mmap.PAGESIZE == slot.offset % ALIGNMENT == 0
                assert first >= end + mmap.PAGESIZE and first <= slot.offset and slot.offset + slot.bytes <= last
                assert last - slot.offset - slot.bytes < ALIGNMENT if at_end else slot.offset == first + lead_bytes
                end = last
            assert bytes_at(task, workload.sizes) >= end + mmap.PAGESIZE


def test_at_the_end_no_buffer_lies_where_it_does_at_the_start() -> None:
    for task in tasks().values():
        for workload in (*task.workloads, *task.extra):
            both = [[slot.offset for slot in layout(task, workload.sizes, at_end)] for at_end in (False, True)]
            assert not set(both[0]) & set(both[1][:1])
            steps = [[b - a for a, b in itertools.pairwise(offsets)] for offsets in both]
            assert all(a != b for a, b in zip(*steps, strict=True))


def test_what_is_written_before_a_buffer_is_seen() -> None:
    task, sizes = get("row_sum"), {"rows": 37, "cols": 131}
    slots = layout(task, sizes, at_end=True)
    arena = Arena(bytes_at(task, sizes))
    arena.fill(slots, [np.ones((37, 131), dtype=np.float32)])
    assert not arena.strayed(slots)
    arena.view(replace(slots[1], offset=slots[1].offset - 4, bytes=4, shape=(1,)))[0] = 3.0
    assert "before" in arena.strayed(slots)
    arena.close()


def test_poison_and_filler_are_not_always_the_same() -> None:
    task, sizes = get("row_sum"), {"rows": 37, "cols": 131}
    slots = layout(task, sizes)
    arena = Arena(bytes_at(task, sizes))
    x = np.ones((37, 131), dtype=np.float32)
    result = np.arange(1, 38, dtype=np.float32)
    poisons, fillers = set(), set()
    for _ in range(60):
        arena.view(slots[1])[:] = result
        arena.fill(slots, [x])
        out = arena.view(slots[1]).copy()
        assert not (out == result).any(), "nothing may be right that was not computed"
        kind = "nan" if np.isnan(out).all() else "moved" if np.isin(out[1:], result).all() else "other"
        poisons.add(kind)
        behind = replace(slots[0], offset=slots[0].offset + slots[0].bytes, bytes=4, shape=(1,))
        fillers.add(float(arena.view(behind)[0]))
        assert not arena.strayed(slots)
        arena.view(behind)[0] = 1.0
        assert "behind 'x'" in arena.strayed(slots)
    assert poisons == {"nan", "moved", "other"}
    assert any(np.isnan(value) for value in fillers) and any(value > 1e37 for value in fillers)
    arena.close()
