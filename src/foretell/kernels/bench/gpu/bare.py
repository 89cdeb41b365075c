"""A GPU by its driver alone: a context of one's own, memory as addresses, one stream, graphs. Nothing here needs torch.

For processes that carry out launches, fills and copies only, on one stream: they can do with few connections to the
device.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from ctypes import (
    byref,
    c_char_p,
    c_int,
    c_size_t,
    c_ubyte,
    c_uint,
    c_uint64,
    c_ulonglong,
    c_ushort,
    c_void_p,
    create_string_buffer,
)
from typing import Any, Protocol

from foretell.kernels.bench.gpu import driver
from foretell.kernels.bench.gpu.driver import CudaError, call
from foretell.kernels.bench.gpu.lending import DeviceMemory
from foretell.kernels.program import Image

# Such contexts are made twice as fast.
FEW_QUEUES = {
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    "CUDA_DEVICE_MAX_COPY_CONNECTIONS": "1",
    "CUDA_SCALE_LAUNCH_QUEUES": "0.25x",
}
_PAGEABLE_MEMORY_ACCESS = 88  # kernels may read and write the host's memory by its addresses
_NON_BLOCKING, _THREAD_LOCAL = 1, 1
_NAME_BYTES = 256
_PATTERNS: dict[int, tuple[str, Callable[[int], Any]]] = {
    1: ("cuMemsetD8Async", c_ubyte),
    2: ("cuMemsetD16Async", c_ushort),
    4: ("cuMemsetD32Async", c_uint),
}


class Borrowed(Protocol):
    """Memory that another process lends, at an address of this one."""

    @property
    def address(self) -> int: ...


class Bare(Protocol):
    """A device by addresses. Work is queued on its one stream, whose driver's name is `handle`."""

    flush_bytes: int
    reusable: bool  # whether kernels reach nothing of this process but the memory of its context

    def open(self) -> str:
        """Make a context; the device's name."""
        ...

    def renew(self) -> None:
        """Another context: the memory, modules and graphs of the one before are gone."""
        ...

    @property
    def handle(self) -> int: ...

    def borrow(self, descriptor: int, size: int) -> Borrowed:
        """Map memory that another process lends; the descriptor is closed here."""
        ...

    def allocate(self, size: int) -> int: ...

    def free(self, address: int) -> None: ...

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        """Repeat a pattern of 1, 2 or 4 bytes so many times."""
        ...

    def copy(self, target: int, source: int, size: int) -> None: ...

    def write(self, target: int, data: bytes) -> None:
        """Overwrite memory with bytes of the host; waits."""
        ...

    def load(self, image: Image) -> Any: ...

    def event(self) -> Any: ...

    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        """Record what `work` queues; what is returned repeats it. RuntimeError if it cannot be recorded."""
        ...

    def synchronize(self) -> None: ...


class BareCuda:
    """The GPU that this process sees first."""

    flush_bytes = 128 << 20  # as `platform.Cuda`

    def __init__(self) -> None:
        self._device, self._context, self._stream = c_int(), c_void_p(), c_void_p()
        self.reusable = False

    def open(self) -> str:
        os.environ.update(FEW_QUEUES)  # read by the driver when it starts
        call("cuInit", c_uint(0))
        call("cuDeviceGet", byref(self._device), c_int(0))
        pageable, name = c_int(), create_string_buffer(_NAME_BYTES)
        call("cuDeviceGetAttribute", byref(pageable), c_int(_PAGEABLE_MEMORY_ACCESS), self._device)
        self.reusable = not pageable.value
        call("cuDeviceGetName", name, c_int(_NAME_BYTES), self._device)
        self._make()
        return name.value.decode(errors="replace")

    def renew(self) -> None:
        call("cuCtxDestroy_v2", self._context)
        self._make()

    def _make(self) -> None:
        call("cuCtxCreate_v2", byref(self._context), c_uint(0), self._device)
        driver.forbid_persisting_l2()
        call("cuStreamCreate", byref(self._stream), c_uint(_NON_BLOCKING))

    @property
    def handle(self) -> int:
        return self._stream.value or 0

    def borrow(self, descriptor: int, size: int) -> DeviceMemory:
        return DeviceMemory.borrow(descriptor, size)

    def allocate(self, size: int) -> int:
        address = c_uint64()
        call("cuMemAlloc_v2", byref(address), c_size_t(max(1, size)))
        return address.value

    def free(self, address: int) -> None:
        call("cuMemFree_v2", c_uint64(address))

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        name, kind = _PATTERNS[len(pattern)]
        if count:
            value = kind(int.from_bytes(pattern, "little"))
            call(name, c_uint64(address), value, c_size_t(count), self._stream)

    def copy(self, target: int, source: int, size: int) -> None:
        if size:
            call("cuMemcpyDtoDAsync_v2", c_uint64(target), c_uint64(source), c_size_t(size), self._stream)

    def write(self, target: int, data: bytes) -> None:
        if data:
            self.synchronize()
            call("cuMemcpyHtoD_v2", c_uint64(target), c_char_p(data), c_size_t(len(data)))

    def load(self, image: Image) -> driver.Module:
        return driver.Module(image.cubin or image.ptx.encode() + b"\0")

    def event(self) -> driver.Event:
        return driver.Event()

    def capture(self, work: Callable[[], None]) -> Callable[[], None]:
        graph, executable = c_void_p(), c_void_p()
        call("cuStreamBeginCapture_v2", self._stream, c_int(_THREAD_LOCAL))
        try:
            work()
        except BaseException:
            with suppress(CudaError):
                call("cuStreamEndCapture", self._stream, byref(graph))
            raise
        call("cuStreamEndCapture", self._stream, byref(graph))
        call("cuGraphInstantiateWithFlags", byref(executable), graph, c_ulonglong(0))
        call("cuGraphDestroy", graph)
        return lambda: call("cuGraphLaunch", executable, self._stream)

    def synchronize(self) -> None:
        driver.synchronize()
