"""A Program: the recording of what a reference or candidate does for one workload. Plain data, stdlib only.

`setup` turns weights into state and is not timed; `run` turns inputs, weights and state into outputs. Both are steps
over numbered buffers: allocations have numbers, never addresses. A buffer of role `temporary` or `state` comes into
being by an `Allocate` or as the result of a `LibraryCall`; inputs and weights are there from the start.

`program_codec` turns a Program into bytes and back, `program_check` refuses one that makes no sense.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

VERSION = 1

# Bytes per element. A dtype that is not listed cannot be in a Program.
DTYPE_BYTES: Mapping[str, int] = {
    "bool": 1, "uint8": 1, "int8": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4,
    "int64": 8, "uint64": 8, "float64": 8, "complex32": 4, "complex64": 8, "complex128": 16,
}  # fmt: skip


class Role(StrEnum):
    """Where a buffer's contents come from: the caller (input, weight), `setup` (state) or `run` (temporary)."""

    INPUT = "input"
    WEIGHT = "weight"
    STATE = "state"
    TEMPORARY = "temporary"


@dataclass(frozen=True, slots=True)
class Buffer:
    """One allocation of device memory."""

    bytes: int
    role: Role


@dataclass(frozen=True, slots=True)
class View:
    """A tensor over a buffer. Strides count elements and are never negative."""

    buffer: int
    offset_bytes: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def item_bytes(self) -> int:
        return DTYPE_BYTES[self.dtype]

    @property
    def end_bytes(self) -> int:
        """Offset just past the last byte that the view can reach."""
        if 0 in self.shape:
            return self.offset_bytes
        last = sum((side - 1) * stride for side, stride in zip(self.shape, self.strides, strict=True))
        return self.offset_bytes + (last + 1) * self.item_bytes

    @property
    def distinct_bytes(self) -> int:
        """Bytes of the distinct elements; those that a broadcast dimension repeats count once."""
        sides = [side for side, stride in zip(self.shape, self.strides, strict=True) if stride or side == 0]
        return math.prod(sides) * self.item_bytes


@dataclass(frozen=True, slots=True)
class Region:
    """A range of bytes of a buffer."""

    buffer: int
    offset_bytes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Tag:
    """An argument of a library call that is neither tensor nor number: a dtype, device, layout or memory format."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A small tensor whose values were known when the program was recorded, on the host."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


Argument = Any  # View | Tag | Literal | int | float | str | bool | None | tuple of these


@dataclass(frozen=True, slots=True)
class Allocate:
    """The buffer comes into being; its contents are undefined."""

    buffer: int


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """One call of an operator such as `aten::mm.default`.

    `results` are the tensors it returns, None where it returns none; one over a buffer that exists already is returned
    by reference (an in-place operation). `mutated` are the arguments that it writes. `flags` are the backend settings
    in force that differ from torch's defaults.
    """

    operator: str
    arguments: tuple[Argument, ...]
    keywords: tuple[tuple[str, Argument], ...]
    results: tuple[View | None, ...]
    mutated: tuple[View, ...] = ()
    flags: tuple[tuple[str, str | bool], ...] = ()
    stream: int = 0

    @property
    def name(self) -> str:
        """`mm` of `aten::mm.default`."""
        return self.operator.partition("::")[2].partition(".")[0]

    def tensors(self) -> Iterator[View]:
        """The views among the arguments, in order."""
        yield from views_in(self.arguments)
        yield from views_in(tuple(value for _, value in self.keywords))


@dataclass(frozen=True, slots=True)
class Pointer:
    """Eight bytes of a launch's arguments that hold the address of a place in a buffer."""

    position: int
    buffer: int
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A 128-byte descriptor for bulk tensor copies, which the replayer encodes for the buffer's address.

    `shape` and `strides` (in bytes, all but the innermost) are innermost dimension first, as the driver takes them;
    `element`, `interleave`, `swizzle`, `promotion` and `fill` are its enumerators.
    """

    position: int
    buffer: int
    offset_bytes: int
    element: int
    shape: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    interleave: int = 0
    swizzle: int = 0
    promotion: int = 0
    fill: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch. `arguments` is the whole parameter block; bytes that `pointers` and `tensor_maps` cover are 0.

    `attributes` may hold `cluster` (blocks per cluster along x, y, z), `cooperative` and `dependent` (programmatic
    dependent launch).
    """

    image: str
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: bytes
    pointers: tuple[Pointer, ...] = ()
    tensor_maps: tuple[TensorMap, ...] = ()
    stream: int = 0
    attributes: tuple[tuple[str, Any], ...] = ()

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def threads(self) -> int:
        """Threads per block."""
        return math.prod(self.block)


@dataclass(frozen=True, slots=True)
class Fill:
    """A region set to a repeated pattern of 1, 2 or 4 bytes."""

    region: Region
    pattern: bytes
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Copy:
    """A region overwritten with another of the same size, or with bytes from the host."""

    target: Region
    source: Region | bytes
    stream: int = 0


@dataclass(frozen=True, slots=True)
class SymbolUpload:
    """A global variable of an image overwritten, from the host or from a buffer."""

    image: str
    symbol: str
    offset_bytes: int
    source: Region | bytes
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Fork:
    """Work issued to `stream` from here on waits for all work issued to `parent` so far."""

    stream: int
    parent: int


@dataclass(frozen=True, slots=True)
class Join:
    """Work issued to `parent` from here on waits for all work issued to `stream` so far."""

    stream: int
    parent: int


Step = Allocate | LibraryCall | Launch | Fill | Copy | SymbolUpload | Fork | Join
STEPS = (Allocate, LibraryCall, Launch, Fill, Copy, SymbolUpload, Fork, Join)


@dataclass(frozen=True, slots=True)
class Image:
    """Code for the device: machine code, the PTX it was made from, or both. Its name is the hash of its contents."""

    cubin: bytes | None
    ptx: str
    arch: str
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", image_hash(self.cubin, self.ptx, self.arch))


def image_hash(cubin: bytes | None, ptx: str, arch: str) -> str:
    digest = hashlib.sha256(arch.encode())
    for part in (cubin or b"", ptx.encode(errors="surrogatepass")):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor that belongs to a model: its name in the model, and where it lies."""

    name: str
    view: View


@dataclass(frozen=True)
class Program:
    """What a reference or candidate does for one workload, made with one toolchain.

    `facts` are findings for people and forecasters in plain JSON: language, library calls, folded weights, the
    autotuner's configuration. Nothing is executed by them.
    """

    workload: str
    toolchain: Mapping[str, str]
    buffers: tuple[Buffer, ...]
    inputs: tuple[View, ...]
    weights: tuple[Weight, ...]
    setup: tuple[Step, ...]
    run: tuple[Step, ...]
    outputs: tuple[View, ...]
    images: tuple[Image, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION

    def image(self, name: str) -> Image:
        """The image of that hash; KeyError if there is none."""
        for image in self.images:
            if image.hash == name:
                return image
        raise KeyError(name)

    def launches(self) -> tuple[Launch, ...]:
        """The kernel launches of `run`."""
        return tuple(step for step in self.run if isinstance(step, Launch))

    def library_calls(self) -> tuple[LibraryCall, ...]:
        """The library calls of `run`."""
        return tuple(step for step in self.run if isinstance(step, LibraryCall))


def views_in(value: Argument) -> Iterator[View]:
    """The views in a tree of arguments, in order."""
    if isinstance(value, View):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from views_in(each)


# In-place operations that do not look at what their target holds.
_OVERWRITING = frozenset({"copy_", "zero_", "fill_", "set_", "normal_", "uniform_", "random_", "exponential_"})

# Operations that only look at the shape of their first argument.
_SHAPED_LIKE = frozenset({
    "empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like",
    "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros",
})  # fmt: skip


def buffers_read(step: Step) -> set[int]:
    """Buffers whose contents the step may depend on. Of a launch these are all that it is given."""
    match step:
        case LibraryCall():
            read = {view.buffer for view in step.tensors()}
            if step.name in _OVERWRITING or step.name in _SHAPED_LIKE:
                read = {view.buffer for view in views_in(step.arguments[1:])}
            elif any(name == "out" for name, _ in step.keywords):
                read = {view.buffer for view in views_in(step.arguments)}
            return read
        case Launch():
            return _pointed_to(step)
        case Copy() | SymbolUpload():
            return {step.source.buffer} if isinstance(step.source, Region) else set()
        case _:
            return set()


def buffers_written(step: Step) -> set[int]:
    """Buffers whose contents the step may change. Of a launch these are all that it is given."""
    match step:
        case Allocate():
            return {step.buffer}
        case LibraryCall():
            return {view.buffer for view in (*step.results, *step.mutated) if view is not None}
        case Launch():
            return _pointed_to(step)
        case Fill():
            return {step.region.buffer}
        case Copy():
            return {step.target.buffer}
        case _:
            return set()


def _pointed_to(launch: Launch) -> set[int]:
    return {pointer.buffer for pointer in launch.pointers} | {each.buffer for each in launch.tensor_maps}


def buffers_of(step: Step) -> set[int]:
    """Every buffer that the step names."""
    return buffers_read(step) | buffers_written(step) | {v.buffer for v in _arguments(step)}


def _arguments(step: Step) -> Iterator[View]:
    if isinstance(step, LibraryCall):
        yield from step.tensors()
