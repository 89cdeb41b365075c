"""The memory a candidate works on: shared with its process, laid out so that straying is seen.

Every buffer starts on a page, somewhere in one, or ends with one but for less than ALIGNMENT bytes: all that a kernel
may rely on is that it starts at a multiple of those. The rest of its pages is filler (checked for stray writes), and
pages that the candidate cannot touch are before and behind. Inputs are read-only to it; outputs are poisoned before
every run. Filler and poison change from run to run, as nobody can foresee: not-a-number, which spoils every sum that it
gets into; large and ordinary numbers, which spoil comparisons and tell nobody that a place was not written; and what
the last run left, moved along.
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
ALIGNMENT = 64  # bytes, as allocators of tensors have it
NAN = 0xFF  # in every byte: NaN as float, -1 as integer
_FILLERS = (NAN, 0x7E, 0x01)  # the second is 8.5e37 as float32; the third is 1 as a byte
_TILE = 4099  # items of ordinary numbers, over and over


@dataclass(frozen=True)
class Slot:
    """Where one tensor lies in the arena."""

    tensor: Tensor
    offset: int
    bytes: int
    shape: tuple[int, ...]
    writable: bool

    @property
    def pages(self) -> tuple[int, int]:
        """Where its first page starts and its last one ends."""
        return self.offset // PAGE_BYTES * PAGE_BYTES, _up(self.offset + self.bytes, PAGE_BYTES)


def layout(task: Task, sizes: Sizes, at_end: bool = False, lead_bytes: int = 0) -> list[Slot]:
    """Slots for all inputs and outputs at these sizes, each at the start of its pages or `at_end` of them.

    At the end no buffer lies where it does at the start, nor as far from the next one. `lead_bytes`, less than a page,
    are left free before each buffer that is not at the end.
    """
    slots: list[Slot] = []
    gap = (2 if at_end else 1) * PAGE_BYTES
    offset = gap
    for tensor, writable in [(t, False) for t in task.inputs] + [(t, True) for t in task.outputs]:
        size = tensor_bytes(tensor, sizes)
        whole = _up(size + lead_bytes, PAGE_BYTES)
        start = offset + (whole - _up(size, ALIGNMENT) if at_end else lead_bytes)
        slots.append(Slot(tensor, start, size, tensor.dims(sizes), writable))
        offset += whole + gap
    return slots


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def needed_bytes(task: Task) -> int:
    """Size of an arena that fits every workload and extra shape of the task."""
    return max(bytes_at(task, workload.sizes) for workload in (*task.workloads, *task.extra))


def bytes_at(task: Task, sizes: Sizes) -> int:
    """Size of an arena that fits the task at these sizes."""
    return layout(task, sizes, at_end=True)[-1].pages[1] + PAGE_BYTES


class Arena:
    """An anonymous memory file, mapped here and, through `fd`, in the candidate's process."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.fd = os.memfd_create("foretell-arena")
        os.ftruncate(self.fd, size_bytes)
        self._map = mmap.mmap(self.fd, size_bytes)
        self._bytes: NDArray[np.uint8] = np.frombuffer(self._map, dtype=np.uint8)
        self._rng = np.random.default_rng()
        self._filler = NAN

    def view(self, slot: Slot) -> NDArray[Any]:
        """The slot as an array over the shared memory itself."""
        return self._raw(slot).view(slot.tensor.dtype).reshape(slot.shape)

    def fill(self, slots: Sequence[Slot], inputs: Sequence[NDArray[Any]]) -> None:
        """Write inputs, poison outputs, lay filler around each buffer."""
        values = iter(inputs)
        self._filler = int(self._rng.choice(_FILLERS))
        for slot in slots:
            if slot.writable:
                self._poison(slot)
            else:
                self.view(slot)[...] = next(values)
            for filler in self._around(slot).values():
                filler[:] = self._filler

    def _poison(self, slot: Slot) -> None:
        """Leave no right result in an output: NaN, ordinary numbers, or what is there moved by some items."""
        items = self._raw(slot).view(slot.tensor.dtype)
        kind = int(self._rng.integers(3))
        if kind == 0 or not items.size:
            self._raw(slot)[:] = NAN
        elif kind == 1:
            tile = 1 + np.abs(self._rng.standard_normal(min(_TILE, items.size))) * 3
            items[:] = np.resize(tile, items.size).astype(items.dtype)
        else:
            items[:] = np.roll(items, int(self._rng.integers(1, max(items.size, 2))))
            self._raw(slot)[: items.itemsize] = NAN  # however few or alike they are

    def changed(self, slots: Sequence[Slot], inputs: Sequence[NDArray[Any]]) -> str:
        """Which input is no longer what was filled in, in words; empty if none."""
        values = iter(inputs)
        for slot in slots:
            if not slot.writable and not _same_bytes(self._raw(slot), next(values)):
                return f"the input {slot.tensor.name!r} was changed"
        return ""

    def strayed(self, slots: Sequence[Slot]) -> str:
        """Around which buffer something was written, in words; empty if around none."""
        for slot in slots:
            for where, filler in self._around(slot).items():
                if not (filler == self._filler).all():
                    return f"memory {where} {slot.tensor.name!r} was written"
        return ""

    def close(self) -> None:
        self._bytes = np.empty(0, dtype=np.uint8)
        with contextlib.suppress(BufferError):  # a view is still alive somewhere: the mapping goes with it
            self._map.close()
        os.close(self.fd)

    def _raw(self, slot: Slot) -> NDArray[np.uint8]:
        return self._bytes[slot.offset : slot.offset + slot.bytes]

    def _around(self, slot: Slot) -> dict[str, NDArray[np.uint8]]:
        """The rest of a buffer's pages, and the guard page on either side: a kernel could open those for itself."""
        first, last = slot.pages
        end = slot.offset + slot.bytes
        return {
            "before": self._bytes[first - mmap.PAGESIZE : slot.offset],
            "behind": self._bytes[end : last + mmap.PAGESIZE],
        }


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
