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

from foretell.kernels.languages.sass import read_cubin

Shape = tuple[tuple[int, ...], str]

# What host code that asks for the device is told while it is traced: an H200, for which the templates are written.
MULTIPROCESSORS, SHARED_BYTES, REGISTERS = 132, 232448, 65536


@dataclass(frozen=True)
class Launched:
    """One launch seen while tracing."""

    name: str
    blocks: int
    threads: int
    shared_bytes: int
    image: bytes


class _StubDriver:
    """What Triton asks of a driver when it only compiles."""

    def __init__(self, capability: int, seen: list[Launched]) -> None:
        from triton.backends.compiler import GPUTarget

        self._target, self._seen = GPUTarget("cuda", capability, 32), seen
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
            "max_shared_mem": SHARED_BYTES,
            "multiprocessor_count": MULTIPROCESSORS,
            "max_num_regs": REGISTERS,
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


def trace(run: Callable[[], Any], capability: int = 90, launcher: bool = False) -> list[Launched]:
    """Call `run` (host code on fake tensors) and compile what it launches. Whatever `run` raises goes through.

    With `launcher` Triton's host-side launch stub is built as well, so that a worker finds that in the cache too.
    """
    seen: list[Launched] = []
    with (
        _triton_compiles_only(seen, capability, launcher),
        _cuda_records_only(seen, capability),
        _torch_knows_the_device(capability),
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


def launch_features(launches: Sequence[Launched]) -> dict[str, float]:
    """Features of the largest launch, and how many there are in all."""
    features: dict[str, float] = {"launches": float(len(launches))}
    if not launches:
        return features
    main = max(launches, key=lambda launch: launch.blocks * launch.threads)
    features |= read_cubin(main.image, main.threads, main.shared_bytes, main.name)
    features["blocks_log2"] = math.log2(max(1, main.blocks))
    if len(launches) > 1:
        lengths = [
            read_cubin(each.image, each.threads, each.shared_bytes, each.name).get("instructions", 0.0)
            for each in launches
        ]
        started = [each.blocks * each.threads for each in launches]
        work = [float(count) * length for count, length in zip(started, lengths, strict=True)]
        features["main_share"] = work[launches.index(main)] / max(1.0, sum(work))
        features["others_instructions"] = sum(lengths) - lengths[launches.index(main)]
        features["fewest_threads_log2"] = math.log2(max(1, min(started)))
    return features


@contextmanager
def _triton_compiles_only(seen: list[Launched], capability: int, launcher: bool) -> Iterator[None]:
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
        blocks = math.prod(int(g) for g in grid)
        meta = compiled.metadata
        threads = int(meta.num_warps) * 32 * int(getattr(meta, "num_ctas", 1))
        seen.append(Launched(meta.name, blocks, threads, int(meta.shared), compiled.asm["cubin"]))
        if launcher:
            from triton.backends.nvidia.driver import CudaLauncher

            CudaLauncher(compiled.src, compiled.metadata)
        return compiled

    active: Any = driver
    active.set_active(_StubDriver(capability, seen))
    jit.JITFunction.run = compile_instead
    try:
        yield
    finally:
        jit.JITFunction.run = original
        active._active = None  # not reset_active: that asks for a real driver at once


@contextmanager
def _torch_knows_the_device(capability: int) -> Iterator[None]:
    """Answers to what host code asks before it launches, on a machine where torch finds no device."""
    import torch

    properties = SimpleNamespace(
        name=f"sm_{capability}",
        major=capability // 10,
        minor=capability % 10,
        multi_processor_count=MULTIPROCESSORS,
        shared_memory_per_block_optin=SHARED_BYTES,
        shared_memory_per_multiprocessor=SHARED_BYTES + 1024,
        regs_per_multiprocessor=REGISTERS,
        max_threads_per_multi_processor=2048,
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
    from foretell.cuda import Launch, Program

    def record(launch: Launch) -> None:
        blocks, threads = math.prod(launch.grid), math.prod(launch.block)
        seen.append(Launched(launch.name, blocks, threads, launch.shared_bytes, launch.image))

    Program.recorder, Program.arch = record, f"sm_{capability}{'a' if capability >= 90 else ''}"
    try:
        yield
    finally:
        Program.recorder, Program.arch = None, None
