"""Building a Python candidate without a GPU: its host code runs on fake CUDA tensors, and every launch is compiled.

torch's fake tensors have shapes, dtypes and a CUDA device but no memory. What comes out are the launches with their
grids and machine code: features for free. For a recording of everything the host code does, see `recorder`.

Runs in a builder process: it changes Triton's active driver and never touches a device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foretell.kernels.languages.dry import Launch, dry_features
from foretell.kernels.languages.sass import read_cubin
from foretell.kernels.multiprocessor import USUAL_CAPABILITY
from foretell.kernels.record.host import STAND_INS, torch_sees
from foretell.kernels.record.launches import (
    KernelLaunch,
    StubDriver,
    cuda_intercepted,
    triton_intercepted,
)

Shape = tuple[tuple[int, ...], str]

MULTIPROCESSORS = 132  # of an H200, for which the templates are written
TENSOR_BYTES, ADDRESSES = 1 << 42, 1 << 20  # tensors lie this far apart, each in one of so many places


@dataclass(frozen=True)
class Launched(Launch):
    """One launch seen while tracing, with its machine code."""

    shared_bytes: int
    image: bytes


def trace(
    run: Callable[[], Any],
    capability: int = USUAL_CAPABILITY,
    launcher: bool = False,
    multiprocessors: int = MULTIPROCESSORS,
) -> list[Launched]:
    """Call `run` (host code on fake tensors) and compile what it launches. Whatever `run` raises goes through.

    Host code that asks for the device is told of one with that capability and so many multiprocessors. With `launcher`
    Triton's host-side launch stub is built as well, so that a worker finds that in the cache too. Of an autotuned
    kernel every configuration is compiled, and the first that compiles is the launch.
    """
    seen: list[Launched] = []

    def compile_it(call: Callable[[], Any], **_: Any) -> list[float]:
        before = len(seen)
        call()
        del seen[before:]
        return [0.0, 0.0, 0.0]

    def note(launch: KernelLaunch) -> None:
        seen.append(launched(launch))

    with (
        STAND_INS,
        triton_intercepted(note, StubDriver(capability, multiprocessors, compile_it), launcher=launcher),
        cuda_intercepted(note, capability),
        torch_sees(capability, multiprocessors),
    ):
        run()
    return seen


def launched(launch: KernelLaunch) -> Launched:
    """A launch as the dry run takes it."""
    values = tuple(value for argument in launch.values for value in _as_passed(argument))
    shape = (launch.grid, launch.block)
    return Launched(launch.name, *shape, launch.ptx, values, launch.shared_bytes, launch.image)


def fake_inputs(shapes: Sequence[Shape]) -> list[Any]:
    """Fake CUDA tensors of these shapes and dtypes; call inside `fake_mode()`."""
    import torch

    return [torch.empty(shape, dtype=getattr(torch, dtype), device="cuda") for shape, dtype in shapes]


def fake_mode() -> Any:
    """Within, tensors are fake; CUDA tensors can be made whether torch knows CUDA or not."""
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
    """An argument as the kernel sees it: whole numbers as they are, a tensor as an address of its own."""
    if isinstance(value, bool | int):
        return (int(value),)
    if hasattr(value, "untyped_storage"):
        place = value.untyped_storage()._cdata % ADDRESSES
        return (int((place + 1) * TENSOR_BYTES + value.storage_offset() * value.element_size()),)
    return (None,)
