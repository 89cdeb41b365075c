"""What host code finds when it asks torch about the device, on a machine where torch may see none.

Properties, streams and events are stand-ins; asking for the time, for a captured graph or for a compiled model is
refused, since none of them can be had without running anything.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Protocol

from foretell.kernels.multiprocessor import multiprocessor_of
from foretell.kernels.record.device_guard import ensure_cuda_guard
from foretell.kernels.record.refusal import Reason, Refused

FIRST_STREAM_HANDLE = 0x51000000  # what a stand-in stream passes for its address
MEMORY_BYTES = 80 << 30
MOST_DEVICES = 64  # whose generators are seeded: those of a machine with GPUs are there only once CUDA is in use

# Stand-ins hold for the whole process, and are put back in the order of a stack: whoever puts them in holds this.
STAND_INS = threading.RLock()


class StreamSink(Protocol):
    """Who is told about streams: which one is current, which one waits for which, and that a time is asked for."""

    def use_stream(self, number: int) -> None: ...

    def wait(self, waiter: int, source: int) -> None: ...

    def elapsed_ms(self) -> float: ...


class _Ignored:
    """For builds, which have no use for streams."""

    def use_stream(self, number: int) -> None: ...

    def wait(self, waiter: int, source: int) -> None: ...

    def elapsed_ms(self) -> float:
        return 1.0


class Streams:
    """The stand-in streams of one recording; number 0 is the default stream."""

    def __init__(self, sink: StreamSink) -> None:
        self.sink = sink
        self.all: list[Any] = []
        self.stream_class = type("Stream", (_Stream,), {"_streams": self})  # classes, for isinstance
        self.event_class = type("Event", (_Event,), {"_streams": self})
        self.default: Any = self.stream_class()
        self.current = self.default

    def set(self, stream: Any) -> None:
        if stream is not None:
            self.current = stream
            self.sink.use_stream(stream.number)
            extension: Any = sys.modules.get("foretell.kernels.languages.extension")
            if extension is not None:
                extension.current_stream = stream.cuda_stream

    def by_handle(self, handle: int) -> int:
        """The number of the stream that a launch named; legacy and per-thread default streams are number 0."""
        number = handle - FIRST_STREAM_HANDLE
        return number if 0 < number < len(self.all) else 0


class _Stream:
    """Stands in for torch.cuda.Stream."""

    priority = 0
    _streams: Streams

    def __init__(self, *_: Any, **__: Any) -> None:
        self.number = len(self._streams.all)
        self._streams.all.append(self)
        self._before: list[Any] = []

    @property
    def cuda_stream(self) -> int:
        return FIRST_STREAM_HANDLE + self.number if self.number else 0

    @property
    def device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def wait_stream(self, other: Any) -> None:
        self._streams.sink.wait(self.number, other.number)

    def wait_event(self, event: Any) -> None:
        event.wait(self)

    def record_event(self, event: Any = None) -> Any:
        event = event or self._streams.event_class()
        event.record(self)
        return event

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def __enter__(self) -> Any:
        self._before.append(self._streams.current)
        self._streams.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._streams.set(self._before.pop())


class _Event:
    """Stands in for torch.cuda.Event. Whoever waits for it waits for all that its stream was given so far."""

    _streams: Streams

    def __init__(self, *_: Any, **__: Any) -> None:
        self._recorded = 0

    def record(self, stream: Any = None) -> None:
        self._recorded = (stream or self._streams.current).number

    def wait(self, stream: Any = None) -> None:
        self._streams.sink.wait((stream or self._streams.current).number, self._recorded)

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Any) -> float:
        return self._streams.sink.elapsed_ms()


@contextmanager
def torch_sees(
    capability: int, multiprocessors: int, sink: StreamSink | None = None, name: str = ""
) -> Iterator[Streams]:
    """Within, torch.cuda describes a device of that capability and hands out stand-in streams and events."""
    import torch
    import torch._subclasses.fake_tensor as fake_tensor

    ensure_cuda_guard()
    streams = Streams(sink or _Ignored())
    properties = _properties(capability, multiprocessors, name)
    answers: dict[str, Any] = {
        "get_device_properties": properties,
        "get_device_capability": (properties.major, properties.minor),
        "get_device_name": properties.name,
        "current_device": 0,
        "device_count": 1,
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": capability >= 80,
        "is_current_stream_capturing": False,
        "synchronize": None,
        "set_device": None,
        "empty_cache": None,
        "reset_peak_memory_stats": None,
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "memory_reserved": 0,
        "max_memory_reserved": 0,
        "mem_get_info": (MEMORY_BYTES, MEMORY_BYTES),
        "_lazy_init": None,
        "_exchange_device": 0,
        "_maybe_exchange_device": 0,
    }
    patches: list[tuple[Any, str, Any]] = [
        (torch.cuda, name, lambda *_, answer=answer, **__: answer) for name, answer in answers.items()
    ]
    patches += [
        (torch.cuda, "Stream", streams.stream_class),
        (torch.cuda, "ExternalStream", streams.stream_class),
        (torch.cuda, "Event", streams.event_class),
        (torch.cuda, "current_stream", lambda *_: streams.current),
        (torch.cuda, "default_stream", lambda *_: streams.default),
        (torch.cuda, "set_stream", streams.set),
        (torch.cuda, "stream", lambda stream: _using(streams, stream)),
        (torch.cuda, "CUDAGraph", _refusing(Reason.GRAPH, "it makes a torch.cuda.CUDAGraph")),
        (torch.cuda, "graph", _refusing(Reason.GRAPH, "it captures with torch.cuda.graph")),
        (torch.cuda, "make_graphed_callables", _refusing(Reason.GRAPH, "it calls torch.cuda.make_graphed_callables")),
        (torch, "compile", _refusing(Reason.COMPILED, "it calls torch.compile, which compiles for the GPU at hand")),
        (fake_tensor, "init_gpu_context", lambda *_: None),
        (torch.nn.Module, "_apply", _apply),
        (torch.nn.RNNBase, "flatten_parameters", lambda _: None),  # which asks cuDNN, and changes no value
        (torch.cuda, "default_generators", tuple(torch.Generator() for _ in range(MOST_DEVICES))),
        (torch, "Generator", _generator_class()),
        (torch.cuda, "_lazy_call", lambda *_, **__: None),  # seeds of the device's generators, which are not used
        (torch.cuda.random, "_lazy_call", lambda *_, **__: None),
    ]
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    for owner, name, stand_in in patches:
        setattr(owner, name, stand_in)
    try:
        with _scripts_unfused():
            yield streams
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _apply(module: Any, function: Callable[[Any], Any], recurse: bool = True) -> Any:
    """Stands in for Module._apply (`cuda`, `to`, `half`), which refuses to exchange the contents of fake parameters."""
    import torch

    if recurse:
        for child in module.children():
            child._apply(function)
    for group in (module._parameters, module._buffers):
        for name, tensor in group.items():
            if tensor is None:
                continue
            with torch.no_grad():
                made = function(tensor)
            if made is tensor:
                continue
            if group is module._parameters:
                made = torch.nn.Parameter(made, tensor.requires_grad)
                if not isinstance(module, torch.jit.ScriptModule) and _exchanged(tensor, made):
                    continue  # the same object still, for whoever else holds it
            group[name] = made
    return module


@contextmanager
def _scripts_unfused() -> Iterator[None]:
    """Within, TorchScript calls one operator after another; its fusers would compile for and launch on a device."""
    import torch

    jit: Any = torch._C
    fusing = jit._jit_texpr_fuser_enabled(), jit._jit_can_fuse_on_gpu(), jit._jit_can_fuse_on_cpu()
    setters = jit._jit_set_texpr_fuser_enabled, jit._jit_override_can_fuse_on_gpu, jit._jit_override_can_fuse_on_cpu
    for setter in setters:
        setter(False)
    try:
        yield
    finally:
        for setter, before in zip(setters, fusing, strict=True):
            setter(before)


def _generator_class() -> Any:
    """A generator on the host, whatever device it is asked for: fake tensors take their numbers from nowhere."""
    import torch

    def new(cls: Any, device: Any = "cpu") -> Any:
        return torch_generator.__new__(cls)

    torch_generator = torch.Generator
    return type("Generator", (torch_generator,), {"__new__": new})


def _exchanged(tensor: Any, other: Any) -> bool:
    """Exchange what two fake tensors are, as torch.utils.swap_tensors does; False if something keeps them."""
    import torch

    try:
        torch._C._swap_tensor_impl(tensor, other)
    except RuntimeError:
        return False
    tensor.__dict__, other.__dict__ = other.__dict__, tensor.__dict__
    return True


@contextmanager
def _using(streams: Streams, stream: Any) -> Iterator[Any]:
    if stream is None:
        yield None
        return
    with stream as current:
        yield current


def _refusing(reason: Reason, sentence: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise Refused(reason, sentence)

    return refuse


def _properties(capability: int, multiprocessors: int, name: str) -> SimpleNamespace:
    holds = multiprocessor_of(capability)
    return SimpleNamespace(
        name=name or f"sm_{capability}",
        major=capability // 10,
        minor=capability % 10,
        multi_processor_count=multiprocessors,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=holds.block_shared_bytes,
        shared_memory_per_multiprocessor=holds.shared_bytes,
        regs_per_multiprocessor=holds.registers,
        max_threads_per_multi_processor=holds.threads,
        max_threads_per_block=1024,
        total_memory=MEMORY_BYTES,
        L2_cache_size=50 << 20,
        warp_size=32,
        is_integrated=0,
    )
