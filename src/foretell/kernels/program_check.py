"""Refusing a Program that makes no sense, before anything of it is executed. Pure, stdlib only.

A Program that passes names only operators, images, buffers and streams that exist, reads no buffer before it is there,
stays within every buffer, and launches nothing that no device could run. It may still be wrong, slow or hang: that is
for whoever replays it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from foretell.kernels.limits import PROGRAM
from foretell.kernels.operators import family_of
from foretell.kernels.program import (
    DTYPE_BYTES,
    STEPS,
    VERSION,
    Allocate,
    Argument,
    Copy,
    Fill,
    Fork,
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
    image_hash,
)

TENSOR_MAP_BYTES, POINTER_BYTES = 128, 8
FLAGS = frozenset({"matmul_precision", "cudnn_tf32", "cudnn_benchmark", "cudnn_enabled", "deterministic",
                   "fp16_reduction", "bf16_reduction", "fp16_accumulation"})  # fmt: skip
_TAGS = {
    "dtype": frozenset(DTYPE_BYTES),
    "device": frozenset({"cuda", "cpu"}),
    "layout": frozenset({"strided"}),
    "memory_format": frozenset({"contiguous_format", "channels_last", "channels_last_3d", "preserve_format"}),
}
_OPERATOR = re.compile(r"aten::[A-Za-z_]\w*\.[A-Za-z_]\w*")
_NAME = re.compile(r"[A-Za-z_.$][\w.$]*")


class Fault(StrEnum):
    """Why a Program is invalid."""

    TRUNCATED = "truncated"
    CHECKSUM = "checksum"
    VERSION = "version"
    FORMAT = "format"
    TOO_LARGE = "too large"
    OPERATOR = "unknown operator"
    BOUNDS = "out of bounds"
    DTYPE = "dtype"
    ORDER = "used before it exists"
    LAUNCH = "impossible launch"
    POINTER = "pointer outside the arguments"
    IMAGE = "missing image"
    STREAM = "stream"
    SIGNATURE = "other inputs or outputs than the task's"


class InvalidProgram(ValueError):
    """A Program, or bytes that claim to be one, that must not be executed."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(f"{fault}: {reason}")
        self.fault, self.reason = fault, reason


def check(program: Program) -> Program:
    """The program itself; InvalidProgram if it must not be executed."""
    if program.version != VERSION:
        raise InvalidProgram(Fault.VERSION, f"version {program.version}; this Foretell reads version {VERSION}")
    _Checker(program).check()
    return program


def check_signature(
    program: Program, inputs: Sequence[tuple[str, Sequence[int]]], outputs: Sequence[tuple[str, Sequence[int]]]
) -> None:
    """InvalidProgram unless inputs and outputs have these dtypes and shapes, in order."""
    for what, views, expected in (("input", program.inputs, inputs), ("output", program.outputs, outputs)):
        if len(views) != len(expected):
            raise InvalidProgram(Fault.SIGNATURE, f"it has {len(views)} {what}s, the task {len(expected)}")
        for number, (view, (dtype, shape)) in enumerate(zip(views, expected, strict=True)):
            if (view.dtype, view.shape) != (dtype, tuple(shape)):
                found = f"{what} {number} is {view.dtype} {view.shape}, expected {dtype} {tuple(shape)}"
                raise InvalidProgram(Fault.SIGNATURE, found)


class _Checker:
    """One pass over a program, with the buffers and streams that exist so far."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._images = {image.hash for image in program.images}
        self._defined: set[int] = set()
        self._streams = {0}
        self._joined: set[int] = set()

    def check(self) -> None:
        program = self._program
        self._sizes()
        for image in program.images:
            _require(
                image.hash == image_hash(image.cubin, image.ptx, image.arch), Fault.IMAGE, "an image has another's name"
            )
            _require(bool(image.cubin) or bool(image.ptx), Fault.IMAGE, "an image is empty")
        given = [*program.inputs, *(weight.view for weight in program.weights)]
        names = [weight.name for weight in program.weights]
        _require(len(set(names)) == len(names), Fault.FORMAT, "two weights have the same name")
        roles = [Role.INPUT] * len(program.inputs) + [Role.WEIGHT] * len(program.weights)
        for view, role in zip(given, roles, strict=True):
            _require(view.buffer < len(program.buffers), Fault.BOUNDS, f"there is no buffer {view.buffer}")
            found = program.buffers[view.buffer].role
            _require(found is role, Fault.FORMAT, f"an {role} lies in a buffer of role {found}")
            self._defined.add(view.buffer)
        self._view_all(given)
        for steps, made in ((program.setup, Role.STATE), (program.run, Role.TEMPORARY)):
            for step in steps:
                self._step(step, made)
            open_streams = self._streams - {0} - self._joined
            _require(not open_streams, Fault.STREAM, f"stream {min(open_streams, default=0)} is never joined")
            self._streams, self._joined = {0}, set()
        self._view_all(program.outputs)

    def _sizes(self) -> None:
        program = self._program
        counts = (
            ("steps", len(program.setup) + len(program.run), PROGRAM.steps),
            ("buffers", len(program.buffers), PROGRAM.buffers),
            ("images", len(program.images), PROGRAM.images),
            ("bytes of images", sum(len(i.cubin or b"") + len(i.ptx) for i in program.images), PROGRAM.image_bytes),
            ("bytes in a buffer", max((b.bytes for b in program.buffers), default=0), PROGRAM.buffer_bytes),
            ("inputs", len(program.inputs), PROGRAM.buffers),
            ("weights", len(program.weights), PROGRAM.buffers),
            ("outputs", len(program.outputs), PROGRAM.buffers),
        )
        for what, count, most in counts:
            _require(count <= most, Fault.TOO_LARGE, f"{count} {what}; at most {most} are accepted")
        _require(all(b.bytes >= 0 for b in program.buffers), Fault.BOUNDS, "a buffer has less than no bytes")
        _require(bool(program.outputs), Fault.FORMAT, "it has no outputs")

    def _step(self, step: Step, made: Role) -> None:
        _require(isinstance(step, STEPS), Fault.FORMAT, f"{type(step).__name__} is not a step")
        if isinstance(step, Fork | Join):
            self._stream_step(step)
            return
        if isinstance(step, Allocate):
            self._define(step.buffer, made)
            return
        _require(step.stream in self._streams, Fault.STREAM, f"stream {step.stream} was never forked")
        self._joined.discard(step.stream)
        match step:
            case LibraryCall():
                self._call(step, made)
            case Launch():
                self._launch(step)
            case Fill():
                self._region(step.region)
                width = len(step.pattern)
                _require(width in (1, 2, 4), Fault.FORMAT, f"a fill has a pattern of {width} bytes")
                aligned = step.region.offset_bytes % width == 0 and step.region.bytes % width == 0
                _require(aligned, Fault.BOUNDS, "a fill does not cover whole patterns")
            case Copy():
                self._region(step.target)
                self._source(step.source, step.target.bytes)
            case SymbolUpload():
                self._image(step.image)
                _require(bool(_NAME.fullmatch(step.symbol)), Fault.FORMAT, "a symbol's name is not one")
                self._source(step.source, None)

    def _define(self, buffer: int, made: Role) -> None:
        _require(buffer < len(self._program.buffers), Fault.BOUNDS, f"there is no buffer {buffer}")
        _require(buffer not in self._defined, Fault.ORDER, f"buffer {buffer} comes into being twice")
        role = self._program.buffers[buffer].role
        _require(role is made, Fault.FORMAT, f"buffer {buffer} of role {role} is made where {made} buffers are")
        self._defined.add(buffer)

    def _stream_step(self, step: Fork | Join) -> None:
        _require(step.stream != step.parent, Fault.STREAM, "a stream waits for itself")
        _require(step.parent in self._streams, Fault.STREAM, f"stream {step.parent} was never forked")
        if isinstance(step, Fork):
            self._streams.add(step.stream)
            self._joined.discard(step.stream)
            _require(len(self._streams) <= PROGRAM.streams, Fault.TOO_LARGE, "too many streams")
            return
        _require(step.stream in self._streams, Fault.STREAM, f"stream {step.stream} was never forked")
        self._joined.add(step.stream)
        self._joined.discard(step.parent)

    def _call(self, call: LibraryCall, made: Role) -> None:
        family = family_of(call.operator) if _OPERATOR.fullmatch(call.operator) else None
        _require(family is not None, Fault.OPERATOR, call.operator[:80])
        allowed = family != "random" or made is Role.STATE or _is_certain(call)
        _require(allowed, Fault.OPERATOR, f"{call.operator} is random, which a run must not be")
        for name, value in call.flags:
            _require(name in FLAGS and isinstance(value, str | bool), Fault.FORMAT, f"there is no flag {name[:40]!r}")
        for value in (*call.arguments, *(value for _, value in call.keywords)):
            self._argument(value, 0)
        _require(all(_NAME.fullmatch(name) for name, _ in call.keywords), Fault.FORMAT, "a keyword is not a name")
        for view in call.results:
            if view is not None:
                if view.buffer not in self._defined:
                    self._define(view.buffer, made)
                self._view(view)
        self._view_all(call.mutated)
        arguments = {view.buffer for view in call.tensors()}
        _require(all(v.buffer in arguments for v in call.mutated), Fault.ORDER, "a call writes what it is not given")

    def _argument(self, value: Argument, depth: int) -> None:
        _require(depth <= PROGRAM.argument_depth, Fault.FORMAT, "arguments are nested too deeply")
        match value:
            case View():
                self._view(value)
            case Tag():
                known = value.kind in _TAGS and value.value in _TAGS[value.kind]
                _require(known, Fault.FORMAT, f"there is no {value.kind[:20]} {value.value[:40]!r}")
            case Literal():
                size = _elements(value.shape, PROGRAM.literal_bytes) * DTYPE_BYTES[value.dtype]
                _require(
                    size == len(value.data), Fault.BOUNDS, "a literal tensor has more or fewer bytes than elements"
                )
                _require(size <= PROGRAM.literal_bytes, Fault.TOO_LARGE, "a literal tensor is too large")
            case tuple():
                for each in value:
                    self._argument(each, depth + 1)
            case int() if not isinstance(value, bool):
                _require(-(1 << 63) <= value < 1 << 64, Fault.BOUNDS, "a number has more than 64 bits")
            case None | bool() | float() | str():
                pass
            case _:
                raise InvalidProgram(Fault.FORMAT, f"a library call is given a {type(value).__name__}")

    def _launch(self, launch: Launch) -> None:
        self._image(launch.image)
        _require(bool(_NAME.fullmatch(launch.entry)), Fault.FORMAT, "an entry's name is not one")
        sides = [*zip(launch.grid, PROGRAM.grid, strict=True), *zip(launch.block, PROGRAM.block, strict=True)]
        _require(
            all(1 <= side <= most for side, most in sides), Fault.LAUNCH, f"grid {launch.grid}, block {launch.block}"
        )
        _require(launch.threads <= PROGRAM.block_threads, Fault.LAUNCH, f"{launch.threads} threads per block")
        _require(launch.blocks <= PROGRAM.launch_blocks, Fault.LAUNCH, f"{launch.blocks} blocks would not end")
        fits = 0 <= launch.shared_bytes <= PROGRAM.shared_bytes
        _require(fits, Fault.LAUNCH, f"{launch.shared_bytes} bytes of shared memory per block")
        size = len(launch.arguments)
        _require(size <= PROGRAM.launch_argument_bytes, Fault.LAUNCH, f"{size} bytes of arguments")
        covered: list[tuple[int, int]] = []
        for pointer in launch.pointers:
            self._place(pointer.buffer, pointer.offset_bytes)
            covered.append((pointer.position, POINTER_BYTES))
        for each in launch.tensor_maps:
            self._place(each.buffer, each.offset_bytes)
            lists = (len(each.shape), len(each.strides_bytes) + 1, len(each.box))
            _require(len(set(lists)) == 1 and 1 <= lists[0] <= 5, Fault.LAUNCH, "a tensor map has no shape")
            span = each.shape[0] * 1 + sum((n - 1) * s for n, s in zip(each.shape[1:], each.strides_bytes, strict=True))
            fits = min(each.shape) > 0 and each.offset_bytes + span <= self._program.buffers[each.buffer].bytes
            _require(fits, Fault.BOUNDS, "a tensor map reaches past its buffer")
            covered.append((each.position, TENSOR_MAP_BYTES))
        end = 0
        for position, length in sorted(covered):
            apart = position % POINTER_BYTES == 0 and end <= position and position + length <= size
            _require(apart, Fault.POINTER, f"byte {position} of {size}")
            end = position + length
        for name, value in launch.attributes:
            _attribute(name, value)

    def _image(self, name: str) -> None:
        _require(name in self._images, Fault.IMAGE, name[:80])

    def _place(self, buffer: int, offset_bytes: int) -> None:
        """A pointer may point just past a buffer, as C has it."""
        self._exists(buffer)
        inside = 0 <= offset_bytes <= self._program.buffers[buffer].bytes
        _require(inside, Fault.BOUNDS, f"byte {offset_bytes} of buffer {buffer}")

    def _exists(self, buffer: int) -> None:
        _require(buffer < len(self._program.buffers), Fault.BOUNDS, f"there is no buffer {buffer}")
        _require(buffer in self._defined, Fault.ORDER, f"buffer {buffer}")

    def _region(self, region: Region) -> None:
        self._exists(region.buffer)
        inside = min(region.offset_bytes, region.bytes) >= 0
        inside = inside and region.offset_bytes + region.bytes <= self._program.buffers[region.buffer].bytes
        _require(
            inside, Fault.BOUNDS, f"bytes {region.offset_bytes} to {region.offset_bytes + region.bytes} of a buffer"
        )

    def _source(self, source: Region | bytes, size: int | None) -> None:
        if isinstance(source, Region):
            self._region(source)
        length = source.bytes if isinstance(source, Region) else len(source)
        _require(size is None or length == size, Fault.BOUNDS, "a copy has a source of another size")

    def _view_all(self, views: Iterable[View]) -> None:
        for view in views:
            self._view(view)

    def _view(self, view: View) -> None:
        self._exists(view.buffer)
        _require(view.dtype in DTYPE_BYTES, Fault.DTYPE, f"there is no dtype {view.dtype[:40]!r}")
        shaped = len(view.shape) == len(view.strides) <= PROGRAM.rank
        _require(shaped and min((0, *view.shape, *view.strides)) >= 0, Fault.FORMAT, "a view has no shape")
        aligned = view.offset_bytes >= 0 and view.offset_bytes % view.item_bytes == 0
        _require(aligned, Fault.DTYPE, f"{view.dtype} elements at byte {view.offset_bytes}")
        inside = view.end_bytes <= self._program.buffers[view.buffer].bytes
        _require(inside, Fault.BOUNDS, f"a view of shape {view.shape} reaches past buffer {view.buffer}")
        most = PROGRAM.buffer_bytes
        _require(_elements(view.shape, most) <= most, Fault.TOO_LARGE, f"a view of shape {view.shape[:4]}...")


def _is_certain(call: LibraryCall) -> bool:
    """A dropout that drops nothing."""
    return "dropout" in call.name and (0.0 in call.arguments[1:2] or call.arguments[2:3] == (False,))


def _attribute(name: str, value: object) -> None:
    if name == "cluster" and isinstance(value, tuple) and len(value) == 3:
        blocks = value[0] * value[1] * value[2]
        _require(1 <= blocks <= PROGRAM.cluster_blocks, Fault.LAUNCH, f"{blocks} blocks per cluster")
        return
    known = name in ("cooperative", "dependent") and isinstance(value, bool)
    _require(known, Fault.FORMAT, f"there is no launch attribute {name[:40]!r}")


def _elements(shape: Sequence[int], most: int) -> int:
    count = 1
    for side in shape:
        count = min(count * side, most + 1)
    return count


def _require(holds: bool, fault: Fault, reason: str) -> None:
    if not holds:
        raise InvalidProgram(fault, reason)
