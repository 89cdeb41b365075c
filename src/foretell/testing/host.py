"""The CPU in the place of the GPU, for tests of the GPU bench on a machine without one. No graphs, no L2, no faults."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

from foretell.kernels.program import Image
from foretell.kernels.record.replay import ReplayError


class HostEvent:
    """A moment by the CPU time of this thread: a machine that is busy with others does not lengthen what it times.

    So a kernel that sleeps takes no time.
    """

    def __init__(self) -> None:
        self.at_s = 0.0

    def record(self, _: int) -> None:
        self.at_s = time.thread_time()

    def elapsed_us(self, end: HostEvent) -> float:
        return max(1e6 * (end.at_s - self.at_s), 0.01)

    def close(self) -> None:
        pass


class HostMemory:
    """Memory that processes share by a descriptor."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor, self.size = descriptor, size
        self.bytes: Any = torch.frombuffer(mmap.mmap(descriptor, size), dtype=torch.uint8)

    @property
    def address(self) -> int:
        return int(self.bytes.data_ptr())

    def descriptor(self) -> int:
        return os.dup(self._descriptor)

    def __del__(self) -> None:
        os.close(self._descriptor)  # what is mapped stays so


class Host:
    """A platform for `GpuBench`, `Judge` and `Session`."""

    device = "cpu"
    flush_bytes = 1 << 12

    def __init__(self) -> None:
        self.l2_bytes = 0

    def open(self) -> str:
        return "CPU"

    def stream(self) -> Any:
        return None

    def default_stream(self) -> Any:
        return None

    def using(self, _: Any) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def handle(self, _: Any) -> int:
        return 0

    def event(self) -> HostEvent:
        return HostEvent()

    def synchronize(self) -> None:
        pass

    def capture(self, stream: Any, pool: Any, work: Callable[[int], None]) -> Callable[[], None]:
        raise RuntimeError("nothing can be captured here")

    def graph_pool(self) -> Any:
        return None

    def lendable(self, size: int) -> HostMemory:
        with tempfile.TemporaryFile() as file:
            file.truncate(size)
            return HostMemory(os.dup(file.fileno()), size)

    def borrow(self, descriptor: int, size: int) -> HostMemory:
        return HostMemory(descriptor, size)

    def load(self, image: Image) -> Any:
        raise ReplayError("kernels can only be carried out on a GPU")

    def persisting_l2_bytes(self) -> int:
        return self.l2_bytes

    def forbid_persisting_l2(self) -> None:
        pass

    def bare(self) -> BareHost:
        return BareHost(self)

    def let_go(self) -> None:
        pass

    def taken_bytes(self) -> int:
        return 0


class BareHost:
    """The stand-in by addresses; nothing is queued, everything is done at once."""

    flush_bytes = Host.flush_bytes
    handle = 0
    reusable = True

    def __init__(self, host: Host) -> None:
        self._host = host
        self._memories: dict[int, Any] = {}

    def open(self) -> str:
        return self._host.open()

    def renew(self) -> None:
        self._memories.clear()

    def borrow(self, descriptor: int, size: int) -> HostMemory:
        return self._host.borrow(descriptor, size)

    def allocate(self, size: int) -> int:
        memory = torch.empty(max(1, size), dtype=torch.uint8)
        self._memories[memory.data_ptr()] = memory
        return int(memory.data_ptr())

    def free(self, address: int) -> None:
        del self._memories[address]

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        ctypes.memmove(address, pattern * count, len(pattern) * count)

    def copy(self, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def write(self, target: int, data: bytes) -> None:
        ctypes.memmove(target, data, len(data))

    def load(self, image: Image) -> Any:
        return self._host.load(image)

    def event(self) -> HostEvent:
        return self._host.event()

    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        return self._host.capture(None, None, lambda _: work())

    def synchronize(self) -> None:
        self._host.synchronize()
