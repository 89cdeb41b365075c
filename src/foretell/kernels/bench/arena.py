"""The memory a candidate works on: shared with its process, laid out so that straying is seen.

Every buffer starts on a page, is followed by filler up to the page's end (checked for stray writes) and by one page
the candidate cannot touch. Inputs are read-only to it; outputs are poisoned before every run.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.task import Sizes, Task, Tensor, tensor_bytes

PAGE_BYTES = mmap.PAGESIZE  # 4 KiB on x86-64; 4, 16 or 64 KiB on AArch64
POISON = 0xFF  # NaN as float, -1 as integer
FILLER = 0xA5


@dataclass(frozen=True)
class Slot:
    """Where one tensor lies in the arena."""

    tensor: Tensor
    offset: int
    bytes: int
    shape: tuple[int, ...]
    writable: bool

    @property
    def whole_bytes(self) -> int:
        return -(-self.bytes // PAGE_BYTES) * PAGE_BYTES


def layout(task: Task, sizes: Sizes) -> list[Slot]:
    """Slots for all inputs and outputs at these sizes."""
    slots: list[Slot] = []
    offset = PAGE_BYTES
    for tensor, writable in [(t, False) for t in task.inputs] + [(t, True) for t in task.outputs]:
        slot = Slot(tensor, offset, tensor_bytes(tensor, sizes), tensor.dims(sizes), writable)
        slots.append(slot)
        offset += slot.whole_bytes + PAGE_BYTES
    return slots


def needed_bytes(task: Task) -> int:
    """Size of an arena that fits every workload and extra shape of the task."""
    return max(bytes_at(task, workload.sizes) for workload in (*task.workloads, *task.extra))


def bytes_at(task: Task, sizes: Sizes) -> int:
    """Size of an arena that fits the task at these sizes."""
    last = layout(task, sizes)[-1]
    return last.offset + last.whole_bytes + PAGE_BYTES


class Arena:
    """An anonymous memory file, mapped here and, through `fd`, in the candidate's process."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.fd = os.memfd_create("foretell-arena")
        os.ftruncate(self.fd, size_bytes)
        self._map = mmap.mmap(self.fd, size_bytes)
        self._bytes: NDArray[np.uint8] = np.frombuffer(self._map, dtype=np.uint8)

    def view(self, slot: Slot) -> NDArray[Any]:
        """The slot as an array over the shared memory itself."""
        return self._raw(slot).view(slot.tensor.dtype).reshape(slot.shape)

    def fill(self, slots: Sequence[Slot], inputs: Sequence[NDArray[Any]]) -> None:
        """Write inputs, poison outputs, lay filler behind each buffer."""
        values = iter(inputs)
        for slot in slots:
            if slot.writable:
                self._raw(slot)[:] = POISON
            else:
                self.view(slot)[...] = next(values)
            self._tail(slot)[:] = FILLER

    def changed(self, slots: Sequence[Slot], inputs: Sequence[NDArray[Any]]) -> str:
        """Which input is no longer what was filled in, in words; empty if none."""
        values = iter(inputs)
        for slot in slots:
            if not slot.writable and not _same_bytes(self._raw(slot), next(values)):
                return f"the input {slot.tensor.name!r} was changed"
        return ""

    def strayed(self, slots: Sequence[Slot]) -> str:
        """Behind which buffer something was written, in words; empty if behind none."""
        for slot in slots:
            if not (self._tail(slot) == FILLER).all():
                return f"memory behind {slot.tensor.name!r} was written"
        return ""

    def close(self) -> None:
        self._bytes = np.empty(0, dtype=np.uint8)
        with contextlib.suppress(BufferError):  # a view is still alive somewhere: the mapping goes with it
            self._map.close()
        os.close(self.fd)

    def _raw(self, slot: Slot) -> NDArray[np.uint8]:
        return self._bytes[slot.offset : slot.offset + slot.bytes]

    def _tail(self, slot: Slot) -> NDArray[np.uint8]:
        return self._bytes[slot.offset + slot.bytes : slot.offset + slot.whole_bytes]


def _same_bytes(raw: NDArray[np.uint8], array: NDArray[Any]) -> bool:
    other = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    whole = len(raw) - len(raw) % 8
    words = np.array_equal(raw[:whole].view(np.uint64), other[:whole].view(np.uint64))
    return bool(words and np.array_equal(raw[whole:], other[whole:]))


def name_fault(slots: Sequence[Slot], offset: int) -> tuple[str, bool]:
    """Describe a forbidden access at an arena offset by the nearest buffer; True where it was a write to an input."""
    if not slots:
        return "touched the bench's memory before its first run", False
    distances = [max(slot.offset - offset, offset - (slot.offset + slot.bytes) + 1, 0) for slot in slots]
    nearest = min(range(len(slots)), key=distances.__getitem__)
    slot = slots[nearest]
    if distances[nearest] == 0:
        return f"wrote to its input {slot.tensor.name!r}", True
    if offset < slot.offset:
        return f"touched memory {slot.offset - offset} bytes before the start of {slot.tensor.name!r}", False
    return f"touched memory {offset - slot.offset - slot.bytes} bytes past the end of {slot.tensor.name!r}", False
