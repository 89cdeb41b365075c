"""The CPU in the place of the GPU, for tests of the GPU bench on a machine without one. No graphs, no L2, no faults."""

from __future__ import annotations

import contextlib
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
    """A moment by this process's clock."""

    def __init__(self) -> None:
        self.at_s = 0.0

    def record(self, _: int) -> None:
        self.at_s = time.perf_counter()

    def elapsed_us(self, end: HostEvent) -> float:
        return max(1e6 * (end.at_s - self.at_s), 0.01)

    def close(self) -> None:
        pass


class HostMemory:
    """Memory that processes share by a descriptor."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor, self.size = descriptor, size
        self.bytes: Any = torch.frombuffer(mmap.mmap(descriptor, size), dtype=torch.uint8)

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

    def let_go(self) -> None:
        pass

    def taken_bytes(self) -> int:
        return 0
