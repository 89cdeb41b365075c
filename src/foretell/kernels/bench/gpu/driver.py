"""The CUDA driver by `ctypes`: events, modules and launches that no candidate can patch from Python.

Function pointers are taken when this module is imported, before any candidate is. Nothing here needs torch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

from foretell.kernels.program import TensorMap

EVENT_EXTERNAL = 1  # CU_EVENT_RECORD_EXTERNAL: an event node in a captured graph that is timed on every replay
LIMIT_PERSISTING_L2 = 0x06
ATTRIBUTE_STATIC_SHARED = 1
ATTRIBUTE_MAX_DYNAMIC_SHARED = 8
USUAL_SHARED = 48 * 1024  # more, static and dynamic together, has to be asked for
MOST_PARAMETER_BYTES = 32768  # of a kernel: a block that is too short is read no further than this
LAUNCH_COOPERATIVE, LAUNCH_CLUSTER, LAUNCH_DEPENDENT = 2, 4, 6
TENSOR_MAP_BYTES = 128


class _LaunchAttribute(ctypes.Structure):
    _fields_ = (("id", c_int), ("pad", c_uint), ("value", c_uint * 16))


class _LaunchConfig(ctypes.Structure):
    _fields_ = (
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared_bytes", c_uint),
        ("stream", c_void_p),
        ("attributes", ctypes.POINTER(_LaunchAttribute)),
        ("attribute_count", c_uint),
    )


class CudaError(RuntimeError):
    """A driver call failed; `code` is the driver's number, and most codes above 600 poison the whole context."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(f"CUDA error {code} ({_name(code)}) in {what}")
        self.code = code


@cache
def library() -> Any:
    """libcuda; OSError where there is no driver."""
    return ctypes.CDLL("libcuda.so.1")


def _name(code: int) -> str:
    text = c_char_p()
    try:
        library().cuGetErrorName(c_int(code), byref(text))
    except OSError:
        return "no driver"
    return text.value.decode() if text.value else "unknown"


def call(name: str, *arguments: Any) -> None:
    """Call a driver function by name; CudaError unless it succeeds."""
    code = int(getattr(library(), name)(*arguments))
    if code != 0:
        raise CudaError(code, name)


class Event:
    """A timing event."""

    def __init__(self) -> None:
        self._handle = c_void_p()
        call("cuEventCreate", byref(self._handle), c_uint(0))

    def record(self, stream: int) -> None:
        call("cuEventRecord", self._handle, c_void_p(stream))

    def record_in_graph(self, stream: int) -> None:
        """Record as a node of the graph being captured on `stream`."""
        call("cuEventRecordWithFlags", self._handle, c_void_p(stream), c_uint(EVENT_EXTERNAL))

    def elapsed_us(self, end: Event) -> float:
        """Microseconds from this event to `end`; both must have completed."""
        value = c_float()
        call("cuEventElapsedTime", byref(value), self._handle, end._handle)
        return value.value * 1e3

    def close(self) -> None:
        call("cuEventDestroy_v2", self._handle)


def synchronize() -> None:
    """Wait for everything in this context, on every stream."""
    call("cuCtxSynchronize")


def persisting_l2_bytes() -> int:
    """How much of L2 is set aside for persisting accesses."""
    value = c_size_t()
    call("cuCtxGetLimit", byref(value), c_int(LIMIT_PERSISTING_L2))
    return value.value


def forbid_persisting_l2() -> None:
    """Give up any L2 set aside for persisting accesses, so that a flush is a flush."""
    call("cuCtxSetLimit", c_int(LIMIT_PERSISTING_L2), c_size_t(0))
    call("cuCtxResetPersistingL2Cache")


class Module:
    """A cubin loaded into the current context."""

    def __init__(self, image: bytes) -> None:
        self._handle = c_void_p()
        call("cuModuleLoadData", byref(self._handle), c_char_p(image))
        self._functions: dict[str, c_void_p] = {}
        self._static_bytes: dict[str, int] = {}

    def function(self, name: str) -> c_void_p:
        if name not in self._functions:
            handle = c_void_p()
            call("cuModuleGetFunction", byref(handle), self._handle, name.encode())
            self._functions[name] = handle
            static = c_int()
            call("cuFuncGetAttribute", byref(static), c_int(ATTRIBUTE_STATIC_SHARED), handle)
            self._static_bytes[name] = static.value
        return self._functions[name]

    def prepare(self, name: str) -> None:
        """Have a kernel in the device's memory, where drivers would load it when it is first launched."""
        function = self.function(name)
        if hasattr(library(), "cuFuncLoad"):
            call("cuFuncLoad", function)

    def launch(
        self,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: list[Any],
        shared_bytes: int,
        stream: int,
    ) -> None:
        """Launch with `ctypes` values as arguments."""
        function = self.function(name)
        if shared_bytes + self._static_bytes[name] > USUAL_SHARED:
            call("cuFuncSetAttribute", function, c_int(ATTRIBUTE_MAX_DYNAMIC_SHARED), c_int(shared_bytes))
        pointers = (c_void_p * len(arguments))(*(ctypes.cast(byref(a), c_void_p) for a in arguments))
        call(
            "cuLaunchKernel", function, *(c_uint(v) for v in (*grid, *block)), c_uint(shared_bytes), c_void_p(stream),
            pointers, None,
        )  # fmt: skip

    def launch_block(
        self,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: bytes,
        places: Sequence[int],
        shared_bytes: int,
        stream: int,
        attributes: Mapping[str, Any],
    ) -> Any:
        """Launch with a parameter block whose parameters begin at `places`.

        The driver takes each parameter from its place: in machine code they may lie elsewhere, as ptxas aligns tensor
        maps to 64 bytes of the constant bank, of which the parameters are only a part.

        Args:
            name: The kernel.
            grid: Blocks.
            block: Threads per block.
            arguments: The parameter block.
            places: Where in it each parameter begins.
            shared_bytes: Dynamic shared memory.
            stream: Handle of the stream.
            attributes: `cluster` (x, y, z), `cooperative`, `dependent`.

        Returns:
            What has to be kept until the kernel was started.
        """
        function = self.function(name)
        if shared_bytes + self._static_bytes[name] > USUAL_SHARED:
            call("cuFuncSetAttribute", function, c_int(ATTRIBUTE_MAX_DYNAMIC_SHARED), c_int(shared_bytes))
        values = {
            LAUNCH_CLUSTER: tuple(attributes.get("cluster", ())),
            LAUNCH_COOPERATIVE: (1,) if attributes.get("cooperative") else (),
            LAUNCH_DEPENDENT: (1,) if attributes.get("dependent") else (),
        }
        wanted = [_LaunchAttribute(code, 0, (c_uint * 16)(*value)) for code, value in values.items() if value]
        listed = (_LaunchAttribute * max(1, len(wanted)))(*wanted)
        config = _LaunchConfig((c_uint * 3)(*grid), (c_uint * 3)(*block), shared_bytes, stream, listed, len(wanted))
        held = ctypes.create_string_buffer(arguments, len(arguments) + MOST_PARAMETER_BYTES)
        start = ctypes.addressof(held)
        pointers = (c_void_p * max(1, len(places)))(*(start + place for place in places))
        call("cuLaunchKernelEx", byref(config), function, pointers, None)
        return held

    def upload(self, symbol: str, offset_bytes: int, source: Any) -> None:
        """Overwrite part of a global variable with a tensor of bytes."""
        address, size = c_uint64(), c_size_t()
        call("cuModuleGetGlobal_v2", byref(address), byref(size), self._handle, symbol.encode())
        count = source.numel()
        if offset_bytes + count > size.value:
            raise CudaError(1, f"writing {count} bytes to {symbol}")
        target = c_uint64(address.value + offset_bytes)
        if source.device.type == "cpu":
            call("cuMemcpyHtoD_v2", target, c_void_p(source.data_ptr()), c_size_t(count))
        else:
            call("cuMemcpyDtoD_v2", target, c_uint64(source.data_ptr()), c_size_t(count))

    @staticmethod
    def tensor_map(described: TensorMap, address: int) -> bytes:
        """The 128 bytes of a tensor map over memory at that address."""
        raw = ctypes.create_string_buffer(2 * TENSOR_MAP_BYTES)
        start = ctypes.addressof(raw)
        aligned = -(-start // 64) * 64
        rank = len(described.shape)
        call(
            "cuTensorMapEncodeTiled", c_void_p(aligned), c_int(described.element), c_uint32(rank), c_void_p(address),
            (c_uint64 * rank)(*described.shape), (c_uint64 * rank)(*described.strides_bytes),
            (c_uint32 * rank)(*described.box), (c_uint32 * rank)(*[1] * rank), c_int(described.interleave),
            c_int(described.swizzle), c_int(described.promotion), c_int(described.fill),
        )  # fmt: skip
        return ctypes.string_at(aligned, TENSOR_MAP_BYTES)
