"""Building a Python candidate without a GPU: its host code runs on fake CUDA tensors, and every launch is compiled.

torch's fake tensors have shapes, dtypes and a CUDA device but no memory. Triton's launches are turned into
compilations for the wanted target (they land in Triton's own cache, where the worker finds them); launches of
`foretell.cuda` programs are recorded. What comes out are the launches with their grids and machine code: features for
free.

Runs in a builder process: it changes Triton's active driver and never touches a device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from foretell.kernels.languages.dry import Launch, dry_features
from foretell.kernels.languages.sass import read_cubin
from foretell.kernels.multiprocessor import USUAL_CAPABILITY, multiprocessor_of

Shape = tuple[tuple[int, ...], str]

MULTIPROCESSORS = 132  # of an H200, for which the templates are written
TENSOR_BYTES, ADDRESSES = 1 << 42, 1 << 20  # tensors lie this far apart, each in one of so many places


@dataclass(frozen=True)
class Launched(Launch):
    """One launch seen while tracing, with its machine code."""

    shared_bytes: int
    image: bytes


class _StubDriver:
    """What Triton asks of a driver when it only compiles."""

    def __init__(self, capability: int, multiprocessors: int, seen: list[Launched]) -> None:
        from triton.backends.compiler import GPUTarget

        self._target, self._seen = GPUTarget("cuda", capability, 32), seen
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

    def get_benchmarker(self) -> Callable[..., list[float]]:
        """For the autotuner: every setting is compiled, the first one wins, and only that is a launch."""

        def compile_it(call: Callable[[], Any], **_: Any) -> list[float]:
            before = len(self._seen)
            call()
            del self._seen[before:]
            return [0.0, 0.0, 0.0]

        return compile_it

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
    """A fake tensor as Triton's specialisation sees it: aligned, with its dtype."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self.dtype = tensor.dtype

    def data_ptr(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, name)


def trace(
    run: Callable[[], Any],
    capability: int = USUAL_CAPABILITY,
    launcher: bool = False,
    multiprocessors: int = MULTIPROCESSORS,
) -> list[Launched]:
    """Call `run` (host code on fake tensors) and compile what it launches. Whatever `run` raises goes through.

    Host code that asks for the device is told of one with that capability and so many multiprocessors. With `launcher`
    Triton's host-side launch stub is built as well, so that a worker finds that in the cache too.
    """
    seen: list[Launched] = []
    with (
        _triton_compiles_only(seen, capability, launcher, multiprocessors),
        _cuda_records_only(seen, capability),
        _torch_knows_the_device(capability, multiprocessors),
    ):
        run()
    return seen


def fake_inputs(shapes: Sequence[Shape]) -> list[Any]:
    """Fake CUDA tensors of these shapes and dtypes; call inside `fake_mode()`."""
    import torch

    return [torch.empty(shape, dtype=getattr(torch, dtype), device="cuda") for shape, dtype in shapes]


def fake_mode() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode(allow_non_fake_inputs=True)


def launch_features(launches: Sequence[Launched], capability: int = USUAL_CAPABILITY) -> dict[str, float]:
    """Features of the largest launch on a GPU of that capability, and how many there are in all."""
    features: dict[str, float] = {"launches": float(len(launches))}
    if not launches:
        return features
    codes = [read_cubin(each.image, each.threads, each.shared_bytes, each.name, capability) for each in launches]
    started = [each.all_threads for each in launches]
    main = started.index(max(started))
    features |= codes[main]
    features["blocks_log2"] = math.log2(max(1, launches[main].blocks))
    features |= dry_features(launches)
    if len(launches) > 1:
        lengths = [code.get("instructions", 0.0) for code in codes]
        work = [float(count) * length for count, length in zip(started, lengths, strict=True)]
        features["main_share"] = work[main] / max(1.0, sum(work))
        features["others_instructions"] = sum(lengths) - lengths[main]
        features["fewest_threads_log2"] = math.log2(max(1, min(started)))
    return features


def _as_passed(value: Any) -> tuple[int | None, ...]:
    """An argument as the kernel sees it: whole numbers as they are, a tensor as an address of its own.

    A tensor's description made by the host goes in parts: itself, its shape, its strides.
    """
    if isinstance(value, bool | int):
        return (int(value),)
    if hasattr(value, "untyped_storage"):
        place = value.untyped_storage()._cdata % ADDRESSES
        return (int((place + 1) * TENSOR_BYTES + value.storage_offset() * value.element_size()),)
    if hasattr(value, "base") and hasattr(value, "block_shape"):
        return (None, *(int(n) for n in (*value.shape, *value.strides)))
    return (None,)


@contextmanager
def _triton_compiles_only(
    seen: list[Launched], capability: int, launcher: bool, multiprocessors: int
) -> Iterator[None]:
    try:
        import torch
        from triton.runtime import driver, jit
    except ImportError:
        yield
        return
    original = jit.JITFunction.run

    def compile_instead(self: Any, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> Any:
        def wrap(value: Any) -> Any:
            return _Pointer(value) if isinstance(value, torch.Tensor) else value

        compiled = original(
            self,
            *(wrap(a) for a in arguments),
            grid=grid,
            warmup=True,
            **{key: wrap(value) for key, value in options.items()},
        )
        if hasattr(compiled, "result"):
            compiled = compiled.result()
        if callable(grid):
            bound = self.signature.bind_partial(*arguments, **{k: v for k, v in options.items() if k in self.arg_names})
            bound.apply_defaults()
            grid = grid(bound.arguments | options)
        meta = compiled.metadata
        threads = int(meta.num_warps) * 32 * int(getattr(meta, "num_ctas", 1))
        given = dict(zip(self.arg_names, arguments, strict=False)) | options
        passed = [name for name, kind in compiled.src.signature.items() if kind != "constexpr"]
        values = tuple(value for name in passed for value in _as_passed(given.get(name)))
        ptx = str(compiled.asm.get("ptx", ""))
        size = (*(int(g) for g in grid), 1, 1)
        shape = (size[0], size[1], size[2])
        image = compiled.asm["cubin"]
        seen.append(Launched(meta.name, shape, (threads, 1, 1), ptx, values, int(meta.shared), image))
        if launcher:
            from triton.backends.nvidia.driver import CudaLauncher

            CudaLauncher(compiled.src, compiled.metadata)
        return compiled

    active: Any = driver
    active.set_active(_StubDriver(capability, multiprocessors, seen))
    jit.JITFunction.run = compile_instead
    try:
        yield
    finally:
        jit.JITFunction.run = original
        active._active = None  # not reset_active: that asks for a real driver at once


@contextmanager
def _torch_knows_the_device(capability: int, multiprocessors: int) -> Iterator[None]:
    """Answers to what host code asks before it launches, on a machine where torch finds no device."""
    import torch

    holds = multiprocessor_of(capability)
    properties = SimpleNamespace(
        name=f"sm_{capability}",
        major=capability // 10,
        minor=capability % 10,
        multi_processor_count=multiprocessors,
        shared_memory_per_block_optin=holds.block_shared_bytes,
        shared_memory_per_multiprocessor=holds.shared_bytes,
        regs_per_multiprocessor=holds.registers,
        max_threads_per_multi_processor=holds.threads,
        warp_size=32,
    )
    answers: dict[str, Any] = {
        "get_device_properties": properties,
        "get_device_capability": (properties.major, properties.minor),
        "current_device": 0,
    }
    originals = {name: getattr(torch.cuda, name) for name in answers}
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(torch.cuda, name, original)


@contextmanager
def _cuda_records_only(seen: list[Launched], capability: int) -> Iterator[None]:
    from foretell.cuda import Launch as Asked
    from foretell.cuda import Program

    def record(launch: Asked) -> None:
        values = tuple(value for argument in launch.arguments for value in _as_passed(argument))
        shape = (launch.grid, launch.block)
        seen.append(Launched(launch.name, *shape, launch.ptx, values, launch.shared_bytes, launch.image))

    Program.recorder, Program.arch = record, f"sm_{capability}{'a' if capability >= 90 else ''}"
    try:
        yield
    finally:
        Program.recorder, Program.arch = None, None
