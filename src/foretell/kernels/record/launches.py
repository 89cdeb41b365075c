"""Kernel launches as host code asks for them, intercepted before any device sees them.

Triton's launches are turned into compilations for the wanted target (they land in Triton's own cache, where a worker
finds them); launches of `foretell.cuda` programs are taken as they are. Both become `KernelLaunch` values and go to a
sink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from foretell.kernels.multiprocessor import multiprocessor_of
from foretell.kernels.record.refusal import Reason, Refused


@dataclass(frozen=True)
class TensorDescriptor:
    """A host-side Triton tensor descriptor in the place of its 128-byte parameter."""

    descriptor: Any
    meta: Mapping[str, Any]


@dataclass(frozen=True)
class KernelLaunch:
    """One launch: `values` are the arguments in the kernel's order (tensors as they are), `kinds` their Triton types.

    `threads` are those of a block, of all blocks of a cluster together where there are clusters. `scratch_bytes` of
    global memory must be passed after the arguments, if any.
    """

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    image: bytes
    ptx: str
    values: tuple[Any, ...]
    kinds: tuple[str | None, ...] = ()
    scratch_bytes: int = 0
    cluster: int = 1
    attributes: Mapping[str, Any] = field(default_factory=dict)


Sink = Callable[[KernelLaunch], None]
AddressOf = Callable[[Any], int]  # of a tensor's first element


def aligned_address(tensor: Any) -> int:
    """For builds that need no addresses: every tensor starts at a multiple of everything."""
    return 0


class StubDriver:
    """What Triton asks of a driver when it only compiles."""

    def __init__(self, capability: int, multiprocessors: int, benchmarker: Callable[..., list[float]] | None = None):
        from triton.backends.compiler import GPUTarget

        self._target, self._benchmarker = GPUTarget("cuda", capability, 32), benchmarker
        self._holds, self._multiprocessors = multiprocessor_of(capability), multiprocessors
        self.utils = self

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None: ...

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Callable[..., list[float]] | None:
        return self._benchmarker

    def get_empty_cache_for_benchmark(self) -> None: ...

    def clear_cache(self, cache: object) -> None: ...

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {
            "max_shared_mem": self._holds.block_shared_bytes,
            "multiprocessor_count": self._multiprocessors,
            "max_num_regs": self._holds.registers,
            "warpSize": 32,
        }


class _Pointer:
    """A tensor without memory as Triton's specialisation sees it: its dtype and the alignment of its address."""

    def __init__(self, tensor: Any, address_of: AddressOf) -> None:
        self._tensor, self._address_of = tensor, address_of
        self.dtype = tensor.dtype

    def data_ptr(self) -> int:
        return self._address_of(self._tensor)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, name)


@contextmanager
def triton_intercepted(
    sink: Sink, driver: StubDriver, address_of: AddressOf = aligned_address, launcher: bool = False
) -> Iterator[None]:
    """Within, every Triton launch is compiled and goes to the sink; nothing happens if Triton is not installed.

    With `launcher` Triton's host-side launch stub is built as well, so that a worker finds that in the cache too.
    """
    try:
        import torch
        from triton.runtime import driver as drivers
        from triton.runtime import jit
    except ImportError:
        yield
        return
    original = jit.JITFunction.run

    def compile_instead(self: Any, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> Any:
        def wrap(value: Any) -> Any:
            return _Pointer(value, address_of) if isinstance(value, torch.Tensor) else value

        compiled = original(
            self,
            *(wrap(a) for a in arguments),
            grid=grid,
            warmup=True,
            **{key: wrap(value) for key, value in options.items()},
        )
        if hasattr(compiled, "result"):
            compiled = compiled.result()
        sink(_launch_of(self, compiled, arguments, options, grid))
        if launcher:
            from triton.backends.nvidia.driver import CudaLauncher

            CudaLauncher(compiled.src, compiled.metadata)
        return compiled

    active: Any = drivers
    active.set_active(driver)
    jit.JITFunction.run = compile_instead
    try:
        yield
    finally:
        jit.JITFunction.run = original
        active._active = None  # not reset_active: that asks for a real driver at once


def _launch_of(
    function: Any, compiled: Any, arguments: tuple[Any, ...], options: dict[str, Any], grid: Any
) -> KernelLaunch:
    if callable(grid):
        named = {k: v for k, v in options.items() if k in function.arg_names}
        bound = function.signature.bind_partial(*arguments, **named)
        bound.apply_defaults()
        grid = grid(bound.arguments | options)
    defaults = {n: p.default for n, p in function.signature.parameters.items() if p.default is not p.empty}
    named = defaults | dict(zip(function.arg_names, arguments, strict=False)) | options
    meta = compiled.metadata
    values: list[Any] = []
    kinds: list[str | None] = []
    descriptors = list(getattr(meta, "tensordesc_meta", None) or ())
    for name, kind in compiled.src.signature.items():
        _flatten(named.get(name), kind, values, kinds, descriptors)
    sides = (*(int(side) for side in grid), 1, 1)
    cluster = int(getattr(meta, "num_ctas", 1) or 1)
    found = {"cooperative": "launch_cooperative_grid", "dependent": "launch_pdl"}
    return KernelLaunch(
        name=meta.name,
        grid=(sides[0], sides[1], sides[2]),
        block=(int(meta.num_warps) * 32 * cluster, 1, 1),
        shared_bytes=int(meta.shared),
        image=compiled.asm["cubin"],
        ptx=str(compiled.asm.get("ptx", "")),
        values=tuple(values),
        kinds=tuple(kinds),
        scratch_bytes=int(getattr(meta, "global_scratch_size", 0) or 0),
        cluster=cluster,
        attributes={name: True for name, field_name in found.items() if getattr(meta, field_name, False)},
    )


def _flatten(value: Any, kind: Any, values: list[Any], kinds: list[str | None], descriptors: list[Any]) -> None:
    """A parameter's values in the order the kernel takes them; constants are compiled in and are none."""
    if kind == "constexpr":
        return
    if isinstance(kind, tuple):
        for each, inner in zip(value, kind, strict=True):
            _flatten(each, inner, values, kinds, descriptors)
        return
    if isinstance(kind, str) and kind.startswith("tensordesc"):
        meta = descriptors.pop(0) if descriptors else None
        if meta is None:
            raise Refused(Reason.LAUNCH, "a tensor descriptor without hardware support is passed in parts")
        shape, strides = [int(n) for n in value.shape], [int(n) for n in value.strides]
        values += [TensorDescriptor(value, meta), *shape, *strides]
        kinds += [None, *["i32"] * len(shape), *["i64"] * len(strides)]
        return
    values.append(value)
    kinds.append(str(kind))


@contextmanager
def cuda_intercepted(sink: Sink, capability: int) -> Iterator[None]:
    """Within, `foretell.cuda` compiles for that capability, and every launch goes to the sink."""
    from foretell.cuda import Launch, Program

    def record(launch: Launch) -> None:
        shape = (launch.grid, launch.block, launch.shared_bytes)
        sink(KernelLaunch(launch.name, *shape, launch.image, launch.ptx, launch.arguments))

    Program.recorder, Program.arch = record, arch_of(capability)
    try:
        yield
    finally:
        Program.recorder, Program.arch = None, None


def arch_of(capability: int) -> str:
    """`sm_90a` for 90: with the instructions that only this architecture has."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"
