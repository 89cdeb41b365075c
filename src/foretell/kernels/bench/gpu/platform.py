"""What judge and session need of the machine under them. `Cuda` is the real one; tests put a stand-in in its place.

Each process of a bench makes a platform of its own, from the name of its class (`name_of`, `named`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from typing import Any, Protocol

import torch

from foretell.kernels.bench.gpu import driver
from foretell.kernels.bench.gpu.bare import Bare, BareCuda
from foretell.kernels.bench.gpu.lending import DeviceMemory
from foretell.kernels.bench.gpu.tuning import hurry_autotuner
from foretell.kernels.program import Image
from foretell.kernels.record.replay import loaded


class Lendable(Protocol):
    """Memory that another process can be lent: a tensor over its `bytes`, and a descriptor for the borrower."""

    @property
    def bytes(self) -> Any: ...

    @property
    def size(self) -> int: ...

    def descriptor(self) -> int:
        """For the caller to close once it is handed over."""
        ...


class Platform(Protocol):
    """Where tensors lie (`device`), how work is queued, timed and waited for, how memory is lent.

    `capture` records what `work(handle)` queues on the stream and returns a function that repeats it; RuntimeError
    where the work cannot be recorded. A `handle` is the driver's name of a stream, for events.
    """

    device: str
    flush_bytes: int

    def open(self) -> str:
        """Get ready before any foreign code runs; the device's name."""
        ...

    def stream(self) -> Any: ...

    def default_stream(self) -> Any:
        """The stream that work goes to where nobody says otherwise, such as a launch `<<<blocks, threads>>>`."""
        ...

    def using(self, stream: Any) -> AbstractContextManager[Any]: ...

    def handle(self, stream: Any) -> int: ...

    def event(self) -> Any: ...

    def synchronize(self) -> None: ...

    def capture(self, stream: Any, pool: Any, work: Callable[[int], None]) -> Callable[[], None]: ...

    def graph_pool(self) -> Any: ...

    def lendable(self, size: int) -> Lendable:
        """So many bytes or a few more in an allocation of their own, so that nothing else is lent with them."""
        ...

    def borrow(self, descriptor: int, size: int) -> Lendable:
        """What another process lends; takes over the descriptor."""
        ...

    def load(self, image: Image) -> Any:
        """Code for the device, ready to be launched; a `driver.Module` or what can do the same."""
        ...

    def persisting_l2_bytes(self) -> int: ...

    def forbid_persisting_l2(self) -> None: ...

    def bare(self) -> Bare:
        """The device by addresses, for a process that is to use it in no other way."""
        ...

    def let_go(self) -> None: ...

    def taken_bytes(self) -> int:
        """Memory of the device that is not free, whoever holds it."""
        ...


class Cuda:
    """The GPU that this process sees first."""

    device = "cuda"
    flush_bytes = 128 << 20  # more than twice an H200's L2

    def open(self) -> str:
        torch.cuda.init()
        major, minor = torch.cuda.get_device_capability()
        os.environ["TORCH_CUDA_ARCH_LIST"] = f"{major}.{minor}"  # as in the builders: extensions are found built
        torch.zeros(1, device=self.device)
        hurry_autotuner()
        return str(torch.cuda.get_device_name())

    def stream(self) -> Any:
        return torch.cuda.Stream()

    def default_stream(self) -> Any:
        return torch.cuda.default_stream()

    def using(self, stream: Any) -> AbstractContextManager[Any]:
        found: AbstractContextManager[Any] = torch.cuda.stream(stream)
        return found

    def handle(self, stream: Any) -> int:
        return int(stream.cuda_stream)

    def event(self) -> driver.Event:
        return driver.Event()

    def synchronize(self) -> None:
        driver.synchronize()

    def capture(self, stream: Any, pool: Any, work: Callable[[int], None]) -> Callable[[], None]:
        """By hand and not by `torch.cuda.graph`, which empties the allocator's cache before every capture."""
        graph = torch.cuda.CUDAGraph()
        with _capturing(graph, stream, pool):
            work(self.handle(stream))
        replay: Callable[[], None] = graph.replay
        return replay

    def graph_pool(self) -> Any:
        return torch.cuda.graph_pool_handle()

    def lendable(self, size: int) -> DeviceMemory:
        torch.zeros(1, device=self.device)  # makes torch's context the current one
        return DeviceMemory.make(size)

    def borrow(self, descriptor: int, size: int) -> DeviceMemory:
        return DeviceMemory.borrow(descriptor, size)

    def load(self, image: Image) -> Any:
        return loaded(image)

    def persisting_l2_bytes(self) -> int:
        return driver.persisting_l2_bytes()

    def forbid_persisting_l2(self) -> None:
        driver.forbid_persisting_l2()

    def bare(self) -> BareCuda:
        return BareCuda()

    def let_go(self) -> None:
        """Give back what this process keeps in reserve."""
        torch.cuda.empty_cache()

    def taken_bytes(self) -> int:
        free, whole = torch.cuda.mem_get_info()
        return int(whole - free)


@contextmanager
def _capturing(graph: Any, stream: Any, pool: Any) -> Iterator[None]:
    with torch.cuda.stream(stream):
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            yield
        except BaseException:
            with suppress(RuntimeError):
                graph.capture_end()
            raise
        graph.capture_end()


def name_of(platform: Platform) -> str:
    """The name by which another process makes such a platform."""
    return f"{type(platform).__module__}:{type(platform).__qualname__}"


def named(name: str) -> Platform:
    """A platform of the class that is called `module:class`."""
    module, _, kind = name.partition(":")
    made: Platform = getattr(import_module(module), kind)()
    return made
