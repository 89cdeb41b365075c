"""Memory as a launch sees it: global memory with the buffers in it, shared memory by block, local memory by lane.

Each buffer has pages of its own, as torch's allocator gives them. A load from elsewhere returns bytes that make NaNs,
and a store there is dropped; both are counted, since on a GPU they go unnoticed or spoil something else. An address
outside of all memory is a fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.emulate.values import UNSIGNED, Value

PAGE_BYTES = 512
POISON = 0xFF  # every float of these bytes is a NaN
GLOBAL_BASE = 1 << 40
SHARED_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW = 1 << 60, 1 << 61, 1 << 62
_WINDOW_BITS = 60
Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


class Fault(Exception):
    """What a GPU would end the kernel for."""


@dataclass
class Strays:
    """Accesses beyond every buffer, by lanes."""

    loads: int = 0
    stores: int = 0


def _aligned(size: int) -> Bytes:
    """So many zeros or up to 15 more, which begin at a multiple of 64 bytes."""
    size = -(-size // 16) * 16
    room = np.zeros(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size]


class GlobalMemory:
    """Buffers at addresses. `put` copies them in, `get` out again."""

    def __init__(self, sizes: dict[Any, int]) -> None:
        self._starts: dict[Any, int] = {}
        at = PAGE_BYTES
        for name, size in sizes.items():
            self._starts[name] = at
            at += -(-max(1, size) // PAGE_BYTES) * PAGE_BYTES + PAGE_BYTES
        self.bytes = _aligned(at)
        self.bytes[:] = POISON
        self._owned = np.zeros(at // PAGE_BYTES, bool)
        for name, size in sizes.items():
            first = self._starts[name] // PAGE_BYTES
            self._owned[first : first + -(-max(1, size) // PAGE_BYTES)] = True

    def address(self, name: Any) -> int:
        return GLOBAL_BASE + self._starts[name]

    def slot(self, name: Any, size: int) -> Bytes:
        """The bytes of a buffer."""
        return self.bytes[self._starts[name] : self._starts[name] + size]

    def strays(self, places: Places) -> NDArray[np.bool_]:
        """Which places no buffer owns. Raises Fault if one lies outside of all memory."""
        if places.size and (places.min() < 0 or places.max() >= self.bytes.size):
            raise Fault("it accesses an address outside of every buffer")
        return ~self._owned[places // PAGE_BYTES]


class Memory:
    """All spaces of a batch of blocks.

    Args:
        of_device: Global memory.
        parameters: The launch's parameter block.
        shared_bytes: Shared memory of a block.
        local_bytes: Local memory of a lane.
        block_of: The block, in this batch, of each lane.
    """

    def __init__(
        self, of_device: GlobalMemory, parameters: bytes, shared_bytes: int, local_bytes: int, block_of: Places
    ) -> None:
        self.strays = Strays()
        self._global = of_device
        self._parameters = _aligned(max(8, len(parameters)))
        self._parameters[: len(parameters)] = np.frombuffer(parameters, np.uint8)
        self._shared_bytes, self._local_bytes = -(-shared_bytes // 16) * 16, -(-local_bytes // 16) * 16
        blocks = int(block_of[-1]) + 1
        self._shared = _aligned(blocks * self._shared_bytes)
        self._local = _aligned(len(block_of) * self._local_bytes)
        self._block_of = block_of
        self._lane = np.arange(len(block_of), dtype=np.int64)

    def load(self, space: str, address: Value, lanes: Any, size: int, count: int) -> list[Value]:
        """`count` words of `size` bytes from each lane's address on; scalars where all lanes read the same one."""
        kind = UNSIGNED[size]
        if address.ndim == 0 and space in ("global", "const", "param"):
            store, places = self._where(space, np.atleast_1d(address), slice(0, 1), size * count, loads=True)
            return [store.view(kind)[places // size + k][0] for k in range(count)]
        found = []
        for part, chosen in self._by_space(space, address, lanes):
            store, places = self._where(part, chosen[0], chosen[1], size * count, loads=True)
            words = store.view(kind)
            found.append((chosen[2], [words[places // size + k] for k in range(count)]))
        if len(found) == 1:
            return found[0][1]
        whole: list[Value] = [np.zeros(len(self._lane[lanes]), kind) for _ in range(count)]
        for mask, values in found:
            for target, value in zip(whole, values, strict=True):
                target[mask] = value
        return whole

    def store(self, space: str, address: Value, lanes: Any, values: list[Value], size: int) -> None:
        for part, (where, chosen, mask) in self._by_space(space, address, lanes):
            store, places = self._where(part, where, chosen, size * len(values), loads=False)
            words = store.view(UNSIGNED[size])
            kept = places >= 0
            every = bool(kept.all())
            for k, value in enumerate(values):
                value = value[mask] if np.ndim(value) else value
                if every:
                    words[places // size + k] = value
                else:
                    words[places[kept] // size + k] = value[kept] if np.ndim(value) else value

    def words(self, space: str, address: Value, lanes: Any, size: int) -> tuple[NDArray[Any], Places]:
        """A space as words, and the place of each lane's among them: what atomics work on. One space for all lanes."""
        parts = list(self._by_space(space, address, lanes))
        if len(parts) != 1:
            raise Fault("lanes of one instruction address several spaces")
        name, (where, chosen, _) = parts[0]
        store, places = self._where(name, where, chosen, size, loads=False)
        if (places < 0).any():
            raise Fault("an atomic operation outside of every buffer")
        return store.view(UNSIGNED[size]), places // size

    def _by_space(self, space: str, address: Value, lanes: Any) -> list[tuple[str, tuple[Value, Any, Any]]]:
        """Addresses by space: the address within it, the lanes, and which of the given ones they are."""
        chosen = self._lane[lanes]
        address = np.broadcast_to(address, chosen.shape).astype(np.int64)
        if space:
            return [(space, (address, chosen, slice(None)))]
        window = address >> _WINDOW_BITS
        if not window.any():
            return [("global", (address, chosen, slice(None)))]
        names = {0: "global", 1: "shared", 2: "local", 4: "param"}
        found = []
        for code in np.unique(window):
            if int(code) not in names:
                raise Fault("it accesses an address outside of every space")
            mask = window == code
            rest = address[mask] & ((1 << _WINDOW_BITS) - 1)
            found.append((names[int(code)], (rest, chosen[mask], mask)))
        return found

    def _where(self, space: str, address: Value, lanes: Any, size: int, loads: bool) -> tuple[Bytes, Places]:
        """The bytes of a space, and each lane's place in them; -1 for a store that is dropped."""
        places = address.astype(np.int64)
        word = 1 << min(4, (size & -size).bit_length() - 1)
        if (places & (word - 1)).any():
            raise Fault("it accesses a misaligned address")
        if space in ("global", "const"):
            places = places - GLOBAL_BASE
            stray = self._global.strays(places)
            if stray.any():
                places = self._astray(places, stray, loads)
            return self._global.bytes, places
        if space == "param":
            self._within(places, size, self._parameters.size, "its parameters")
            return self._parameters, places
        if space == "shared":
            self._within(places, size, self._shared_bytes, "shared memory")
            return self._shared, places + self._block_of[lanes] * self._shared_bytes
        self._within(places, size, self._local_bytes, "local memory")
        return self._local, places + self._lane[lanes] * self._local_bytes

    def _astray(self, places: Places, stray: NDArray[np.bool_], loads: bool) -> Places:
        if loads:  # the gap before the first buffer stays as poison
            self.strays.loads += int(stray.sum())
            return np.where(stray, 0, places)
        self.strays.stores += int(stray.sum())
        return np.where(stray, -1, places)

    @staticmethod
    def _within(places: Places, size: int, most: int, what: str) -> None:
        if places.size and (places.min() < 0 or places.max() + size > most):
            raise Fault(f"it accesses an address outside of {what}")
