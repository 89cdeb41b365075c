"""Device memory that one process lends to another by handing over a descriptor.

The driver's virtual memory management: nothing is looked up by name, address or process number, so it works across the
sandbox's walls, and a process can map no more than what it was handed.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from ctypes import byref, c_int, c_size_t, c_ubyte, c_uint64, c_ulonglong, c_ushort, c_void_p
from typing import Any

import torch

from foretell.kernels.bench.gpu.driver import CudaError, call

_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
_PINNED, _ON_DEVICE, _DESCRIPTOR, _READ_AND_WRITE, _SMALLEST = 1, 1, 1, 3, 0


class _Location(ctypes.Structure):
    _fields_ = (("kind", c_int), ("number", c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("kind", c_int),
        ("handles", c_int),
        ("location", _Location),
        ("metadata", c_void_p),
        ("compression", c_ubyte),
        ("remote", c_ubyte),
        ("usage", c_ushort),
        ("reserved", c_ubyte * 4),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", c_int))


class DeviceMemory:
    """Memory of this process's GPU, its own or another's: `bytes` is a tensor over all of it.

    It is mapped until nothing refers to that tensor, or to a view of it, any more.
    """

    def __init__(self, handle: c_ulonglong, size: int) -> None:
        self._handle, self._size, self._address = handle, size, c_uint64()
        call("cuMemAddressReserve", byref(self._address), c_size_t(size), c_size_t(0), c_uint64(0), c_ulonglong(0))
        call("cuMemMap", self._address, c_size_t(size), c_size_t(0), handle, c_ulonglong(0))
        access = _Access(_location(), _READ_AND_WRITE)
        call("cuMemSetAccess", self._address, c_size_t(size), byref(access), c_size_t(1))

    @staticmethod
    def make(size: int) -> DeviceMemory:
        """Memory of at least so many bytes. Raises torch.OutOfMemoryError if there is not so much."""
        properties = _Properties(_PINNED, _DESCRIPTOR, _location())
        granularity, handle = c_size_t(), c_ulonglong()
        call("cuMemGetAllocationGranularity", byref(granularity), byref(properties), c_int(_SMALLEST))
        whole = -(-size // granularity.value) * granularity.value
        for last in (False, True):
            try:
                call("cuMemCreate", byref(handle), c_size_t(whole), byref(properties), c_ulonglong(0))
                break
            except CudaError as error:
                if error.code != _OUT_OF_MEMORY:
                    raise
                if last:
                    raise torch.OutOfMemoryError(f"no {whole} bytes of device memory to lend") from error
                torch.cuda.empty_cache()
        return DeviceMemory(handle, whole)

    @staticmethod
    def borrow(descriptor: int, size: int) -> DeviceMemory:
        """The memory that a descriptor stands for, which is closed; `size` is what its owner says."""
        handle = c_ulonglong()
        try:
            call("cuMemImportFromShareableHandle", byref(handle), c_void_p(descriptor), c_int(_DESCRIPTOR))
        finally:
            os.close(descriptor)
        return DeviceMemory(handle, size)

    @property
    def size(self) -> int:
        return self._size

    @property
    def address(self) -> int:
        return self._address.value

    def descriptor(self) -> int:
        """A descriptor to hand to another process, for the caller to close."""
        descriptor = c_int()
        call("cuMemExportToShareableHandle", byref(descriptor), self._handle, c_int(_DESCRIPTOR), c_ulonglong(0))
        return descriptor.value

    @property
    def bytes(self) -> Any:
        found = torch.as_tensor(self, device="cuda")
        if found.data_ptr() != self._address.value:
            raise RuntimeError("torch copies memory that it should only refer to")
        return found

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        place = (self._address.value, False)
        return {"shape": (self._size,), "typestr": "|u1", "data": place, "strides": None, "version": 3}

    def __del__(self) -> None:
        size = c_size_t(self._size)
        for name, arguments in (
            ("cuMemUnmap", (self._address, size)),
            ("cuMemAddressFree", (self._address, size)),
            ("cuMemRelease", (self._handle,)),
        ):
            with suppress(CudaError, OSError):  # what was never mapped, or is gone with the driver
                call(name, *arguments)


def _location() -> _Location:
    device = c_int()
    call("cuCtxGetDevice", byref(device))
    return _Location(_ON_DEVICE, device.value)
