"""Virtual device addresses for tensors that have no memory, so that host code can pass pointers to kernels.

Gaps of random size lie between allocations: a number that falls into the same place of the same allocation in two
recordings is a pointer and no coincidence.
"""

from __future__ import annotations

import random
from bisect import bisect_right

ALIGNMENT = 512  # what torch's allocator gives
FIRST = 0x7E59_0000_0000  # the upper half is no likely size, so that two packed integers are not taken for an address
MOST_GAP = 1 << 24


class AddressSpace:
    """Hands out addresses for numbered allocations, and says which allocation an address lies in."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._next = FIRST + self._random.randrange(MOST_GAP) * ALIGNMENT
        self._starts: list[int] = []
        self._sizes: list[int] = []
        self._numbers: list[int] = []

    def place(self, number: int, size: int) -> int:
        """The address of the allocation with this number."""
        start = self._next
        self._starts.append(start)
        self._sizes.append(size)
        self._numbers.append(number)
        step = size + ALIGNMENT * self._random.randrange(1, MOST_GAP // ALIGNMENT)
        self._next = start + -(-step // ALIGNMENT) * ALIGNMENT
        return start

    def find(self, address: int) -> tuple[int, int] | None:
        """The allocation's number and the offset within it, its end included; None if the address is in none."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address > self._starts[at] + self._sizes[at]:
            return None
        return self._numbers[at], address - self._starts[at]
