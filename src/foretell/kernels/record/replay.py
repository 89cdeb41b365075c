"""Carrying out a Program on fresh buffers: does the recording say all that the host code did?

On a GPU kernels are launched through the driver; on the CPU only Programs of library calls can be carried out, unless
something else loads the images. The bench's replayer (`bench.gpu.trusted`) does the same over lent memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from foretell.kernels.program import (
    Allocate,
    Argument,
    Copy,
    Fill,
    Fork,
    Image,
    Join,
    Launch,
    LibraryCall,
    Literal,
    Program,
    Region,
    Role,
    Step,
    SymbolUpload,
    Tag,
    View,
    buffers_of,
)
from foretell.kernels.program_check import check
from foretell.kernels.record.parameters import parameters_of
from foretell.kernels.record.refusal import Refused

POISON = 0xFF  # every float of these bytes is a NaN, every signed integer -1
_INTEGERS = {1: "uint8", 2: "int16", 4: "int32"}


class ReplayError(RuntimeError):
    """The Program cannot be carried out here."""


def replay(program: Program, inputs: Sequence[Any], weights: Mapping[str, Any], device: str = "cuda") -> list[Any]:
    """The outputs of one run on these inputs and weights, which are left as they are."""
    player = Replay(program, device)
    player.setup(weights)
    return player.run(inputs)


class Replay:
    """A checked Program with its images loaded and its state made.

    Args:
        program: What to carry out.
        device: Where its buffers lie.
        load: Makes an image launchable; by default the driver loads it.
    """

    def __init__(self, program: Program, device: str = "cuda", load: Callable[[Image], Any] | None = None) -> None:
        self._program, self._device, self._load = check(program), device, load
        self._frees = _last_uses(program)
        self._state: dict[int, Any] = {}
        self._buffers: dict[int, Any] = {}
        self._modules: dict[str, Any] = {}
        self._streams: dict[int, Any] = {}
        self._kept: list[Any] = []  # what running kernels may still read
        self._constants: dict[bytes, Any] = {}  # of the host's, on the device: so runs that copy them can be captured
        self._used = {view.buffer for view in program.outputs}
        for step in (*program.setup, *program.run):
            self._used |= (
                {view.buffer for view in step.tensors()} if isinstance(step, LibraryCall) else buffers_of(step)
            )

    def setup(self, weights: Mapping[str, Any]) -> None:
        """Make the state from weights by name."""
        self._buffers = {}
        self._streams.clear()
        for weight in self._program.weights:
            if weight.name not in weights:
                raise ReplayError(f"the weight {weight.name} is missing")
            self._put(weight.view, weights[weight.name])
        self._steps(self._program.setup)
        self._state = dict(self._buffers)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs for these inputs."""
        if len(inputs) != len(self._program.inputs):
            raise ReplayError(f"it takes {len(self._program.inputs)} tensors, {len(inputs)} were given")
        self._buffers = dict(self._state)
        self._streams.clear()
        for view, tensor in zip(self._program.inputs, inputs, strict=True):
            self._put(view, tensor)
        self._run_steps()
        if self._device != "cpu":
            import torch

            torch.cuda.synchronize()
        self._kept.clear()
        return [self.tensor(view) for view in self._program.outputs]

    def _run_steps(self) -> None:
        """Carry out the run, giving temporary buffers back after their last use."""
        for number, step in enumerate(self._program.run):
            self._steps((step,))
            for buffer in self._frees.get(number, ()):
                self._buffers.pop(buffer, None)

    def tensor(self, view: View) -> Any:
        """The tensor that a view describes."""
        import torch

        empty = torch.empty(0, dtype=getattr(torch, view.dtype), device=self._device)
        return empty.set_(self._buffers[view.buffer], view.offset_bytes // view.item_bytes, view.shape, view.strides)

    def _put(self, view: View, tensor: Any) -> None:
        if view.buffer not in self._buffers:
            self._allocate(view.buffer)
        target = self.tensor(view)
        if tuple(tensor.shape) != view.shape or str(tensor.dtype) != f"torch.{view.dtype}":
            raise ReplayError(f"expected {view.dtype} {view.shape}, got {tensor.dtype} {tuple(tensor.shape)}")
        copy_into(target, tensor)

    def _allocate(self, buffer: int) -> None:
        import torch

        size = self._program.buffers[buffer].bytes
        self._buffers[buffer] = torch.full((size,), POISON, dtype=torch.uint8, device=self._device).untyped_storage()

    def _steps(self, steps: Sequence[Step]) -> None:
        if self._device != "cpu":
            self._stream(0)  # before a step makes another one the current stream
        for step in steps:
            with self._on(getattr(step, "stream", 0)):
                self._step(step)

    def _step(self, step: Step) -> None:
        match step:
            case Allocate():
                self._allocate(step.buffer)
            case LibraryCall():
                self._call(step)
            case Launch():
                self._launch(step)
            case Fill():
                width = len(step.pattern)
                value = int.from_bytes(step.pattern, "little", signed=width > 1)
                self._bytes(step.region, _INTEGERS[width]).fill_(value)
            case Copy():
                self._bytes(step.target).copy_(self._source(step.source))
            case SymbolUpload():
                self._module(step.image).upload(step.symbol, step.offset_bytes, self._source(step.source))
            case Fork():
                self._stream(step.stream).wait_stream(self._stream(step.parent))
            case Join():
                self._stream(step.parent).wait_stream(self._stream(step.stream))

    def _bytes(self, region: Region, dtype: str = "uint8") -> Any:
        import torch

        width = {"uint8": 1, "int16": 2, "int32": 4}[dtype]
        empty = torch.empty(0, dtype=getattr(torch, dtype), device=self._device)
        return empty.set_(self._buffers[region.buffer], region.offset_bytes // width, (region.bytes // width,), (1,))

    def _source(self, source: Region | bytes) -> Any:
        import torch

        if isinstance(source, Region):
            return self._bytes(source)
        if source not in self._constants:
            made = (
                torch.frombuffer(bytearray(source), dtype=torch.uint8) if source else torch.empty(0, dtype=torch.uint8)
            )
            self._constants[source] = made.to(self._device)
        return self._constants[source]

    # Streams

    def _stream(self, number: int) -> Any:
        import torch

        if number not in self._streams:
            self._streams[number] = torch.cuda.current_stream() if number == 0 else torch.cuda.Stream()
        return self._streams[number]

    def _on(self, number: int) -> Any:
        import torch

        return torch.cuda.stream(self._stream(number)) if number and self._device != "cpu" else nullcontext()

    def _current_stream(self) -> int:
        import torch

        return int(torch.cuda.current_stream().cuda_stream) if self._device != "cpu" else 0

    # Library calls

    def _call(self, call: LibraryCall) -> None:
        import torch

        packet = getattr(torch.ops.aten, call.name, None)
        operator = getattr(packet, call.operator.rpartition(".")[2], None)
        if operator is None:
            raise ReplayError(f"this torch has no operator {call.operator}")
        arguments = [self._argument(value) for value in call.arguments]
        keywords = {name: self._argument(value) for name, value in call.keywords}
        with flags_set(call.flags), torch.no_grad():
            returned = operator(*arguments, **keywords)
        flat = list(_flat(returned))
        if len(flat) != len(call.results):
            raise ReplayError(f"{call.operator} returned {len(flat)} results, {len(call.results)} were recorded")
        for view, tensor in zip(call.results, flat, strict=True):
            if view is not None and view.buffer in self._used:
                self._bind(call, view, tensor)

    def _bind(self, call: LibraryCall, view: View, tensor: Any) -> None:
        """Let a result be its buffer, or copy it if it is laid out otherwise than it was recorded."""
        if str(tensor.dtype) != f"torch.{view.dtype}" or tuple(tensor.shape) != view.shape:
            found = f"{tensor.dtype} {tuple(tensor.shape)}"
            raise ReplayError(f"{call.operator} returned {found}, {view.dtype} {view.shape} was recorded")
        if view.buffer in self._buffers:
            if not self._is_there(view, tensor):
                self.tensor(view).copy_(tensor)
            return
        storage = tensor.untyped_storage()
        offset = tensor.storage_offset() * tensor.element_size()
        same = (tuple(tensor.stride()), offset) == (view.strides, view.offset_bytes) or not tensor.numel()
        if same and storage.nbytes() >= self._program.buffers[view.buffer].bytes:
            self._buffers[view.buffer] = storage
            return
        self._allocate(view.buffer)
        self.tensor(view).copy_(tensor)

    def _is_there(self, view: View, tensor: Any) -> bool:
        return bool(tensor.untyped_storage().data_ptr() == self._buffers[view.buffer].data_ptr())

    def _argument(self, value: Argument) -> Any:
        import torch

        match value:
            case View():
                return self.tensor(value)
            case Literal():
                made = (
                    torch.frombuffer(bytearray(value.data), dtype=getattr(torch, value.dtype)) if value.data else None
                )
                empty = torch.empty(value.shape, dtype=getattr(torch, value.dtype))
                return empty if made is None else made.reshape(value.shape)
            case Tag("device", name):
                return torch.device("cpu" if name == "cpu" else self._device)
            case Tag(_, name):
                return getattr(torch, name)
            case tuple():
                return [self._argument(each) for each in value]
        return value

    # Launches

    def _module(self, image: str) -> Any:
        if self._device == "cpu" and self._load is None:
            raise ReplayError("kernels can only be carried out on a GPU")
        if image not in self._modules:
            self._modules[image] = (self._load or loaded)(self._program.image(image))
        return self._modules[image]

    def _launch(self, launch: Launch) -> None:
        addresses = {each.buffer: self._buffers[each.buffer].data_ptr() for each in launch.pointers}
        addresses |= {each.buffer: self._buffers[each.buffer].data_ptr() for each in launch.tensor_maps}
        module, places = self._module(launch.image), places_of(self._program, launch)
        self._kept.append(launched(module, launch, places, addresses, self._current_stream()))


def launched(module: Any, launch: Launch, places: Sequence[int], addresses: Mapping[int, int], stream: int) -> Any:
    """Launch a kernel with its buffers at these addresses; returns what has to be kept until it was started."""
    block = bytearray(launch.arguments)
    for pointer in launch.pointers:
        address = addresses[pointer.buffer] + pointer.offset_bytes
        block[pointer.position : pointer.position + 8] = address.to_bytes(8, "little")
    for each in launch.tensor_maps:
        address = addresses[each.buffer] + each.offset_bytes
        block[each.position : each.position + 128] = module.tensor_map(each, address)
    return module.launch_block(
        launch.entry, launch.grid, launch.block, bytes(block), places, launch.shared_bytes, stream,
        dict(launch.attributes),
    )  # fmt: skip


def places_of(program: Program, launch: Launch) -> list[int]:
    """Where each parameter begins in a launch's parameter block. Raises ReplayError if its PTX does not tell."""
    try:
        parameters = parameters_of(program.image(launch.image).ptx, launch.entry)
    except Refused as error:
        raise ReplayError(error.refusal.sentence) from error
    if parameters and parameters[-1].offset + parameters[-1].size != len(launch.arguments):
        raise ReplayError(f"the parameters of {launch.entry} do not take {len(launch.arguments)} bytes")
    return [parameter.offset for parameter in parameters]


def loaded(image: Image) -> Any:
    """The image as a module of the current CUDA context."""
    from foretell.kernels.bench.gpu.driver import Module

    return Module(image.cubin or image.ptx.encode() + b"\0")


def copy_into(target: Any, tensor: Any) -> None:
    """Overwrite a tensor with another of its shape; of an expanded one the elements that are in memory."""
    for dimension, stride in enumerate(target.stride()):
        if stride == 0 and target.shape[dimension] > 1:
            target, tensor = target.narrow(dimension, 0, 1), tensor.narrow(dimension, 0, 1)
    target.copy_(tensor)


def _last_uses(program: Program) -> dict[int, list[int]]:
    """Temporary buffers by the number of the step that uses them last; none where streams run side by side."""
    if any(isinstance(step, Fork) for step in program.run):
        return {}
    last: dict[int, int] = {}
    for number, step in enumerate(program.run):
        for buffer in buffers_of(step):
            if program.buffers[buffer].role is Role.TEMPORARY:
                last[buffer] = number
    for view in program.outputs:
        last.pop(view.buffer, None)
    frees: dict[int, list[int]] = {}
    for buffer, number in last.items():
        frees.setdefault(number, []).append(buffer)
    return frees


def _flat(returned: Any) -> Iterator[Any]:
    for item in returned if isinstance(returned, tuple | list) else (returned,):
        yield from item if isinstance(item, tuple | list) else (item,)


@contextmanager
def flags_set(flags: Sequence[tuple[str, str | bool]]) -> Iterator[None]:
    """Backend settings as recorded; those not named are at torch's defaults."""
    if not flags:
        yield
        return
    import torch

    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    places: dict[str, tuple[Any, str]] = {
        "cudnn_tf32": (cudnn, "allow_tf32"),
        "cudnn_benchmark": (cudnn, "benchmark"),
        "cudnn_enabled": (cudnn, "enabled"),
        "fp16_reduction": (matmul, "allow_fp16_reduced_precision_reduction"),
        "bf16_reduction": (matmul, "allow_bf16_reduced_precision_reduction"),
    }
    precision, certain = torch.get_float32_matmul_precision(), torch.are_deterministic_algorithms_enabled()
    before = {name: getattr(*place) for name, place in places.items()}
    try:
        for name, value in flags:
            if name == "matmul_precision":
                torch.set_float32_matmul_precision(value)
            elif name == "deterministic":
                torch.use_deterministic_algorithms(bool(value), warn_only=True)
            elif name in places:
                setattr(*places[name], value)
        yield
    finally:
        torch.set_float32_matmul_precision(precision)
        torch.use_deterministic_algorithms(certain)
        for name, value in before.items():
            setattr(*places[name], value)
