"""The memory a candidate works on fits the pages of this machine."""

from __future__ import annotations

import mmap

from foretell.kernels.bench.arena import layout
from foretell.kernels.library import tasks


def test_buffers_start_on_pages_of_this_machine() -> None:
    """Protection is set page by page: a buffer that starts elsewhere could not be made readable at all."""
    for task in tasks().values():
        for workload in (*task.workloads, *task.extra):
            for slot in layout(task, workload.sizes):
                assert slot.offset % mmap.PAGESIZE == 0
                assert slot.whole_bytes % mmap.PAGESIZE == 0
