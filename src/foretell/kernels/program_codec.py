"""Programs as bytes and back: versioned, checksummed, capped in size. Nothing in the bytes is ever executed.

Layout: magic, version (u32), sha256 of the payload, payload. The payload is deflated and holds a JSON document and the
binary parts that it refers to by number.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from foretell.kernels.limits import PROGRAM
from foretell.kernels.program import (
    DTYPE_BYTES,
    VERSION,
    Allocate,
    Argument,
    Buffer,
    Copy,
    Fill,
    Fork,
    Image,
    Join,
    Launch,
    LibraryCall,
    Literal,
    Pointer,
    Program,
    Region,
    Role,
    Step,
    SymbolUpload,
    Tag,
    TensorMap,
    View,
    Weight,
)
from foretell.kernels.program_check import Fault, InvalidProgram
from foretell.received import parsed, values_in

MAGIC = b"FORETELL"
_HEAD = struct.Struct("<8sI32sQ")
_SIZES = struct.Struct("<QQ")
_NONFINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass
class Budget:
    """How much may still be read of one answer: what its Programs inflate to and images are made of, and values.

    Reading takes from it, so that what was read before counts.
    """

    bytes: int = PROGRAM.decoded_bytes
    values: int = PROGRAM.values


def to_bytes(program: Program) -> bytes:
    """The program's bytes. What `from_bytes` reads back is equal to it."""
    writer = _Writer()
    document = writer.program(program)
    text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    blobs = b"".join(_SIZES.pack(len(blob), 0) + blob for blob in writer.blobs)
    payload = zlib.compress(_SIZES.pack(len(text), len(writer.blobs)) + text + blobs, level=1)
    return _HEAD.pack(MAGIC, program.version, hashlib.sha256(payload).digest(), len(payload)) + payload


def from_bytes(data: bytes, budget: Budget | None = None) -> Program:
    """The program that `to_bytes` wrote; InvalidProgram if these bytes are not one, or beyond what the budget has left.

    It is not checked further.
    """
    budget = budget or Budget()
    payload = _payload(data, budget.bytes)
    budget.bytes -= len(payload)
    try:
        length, count = _SIZES.unpack_from(payload)
        if length > PROGRAM.document_bytes:
            raise InvalidProgram(Fault.TOO_LARGE, f"its description has {length} bytes")
        text = payload[_SIZES.size : _SIZES.size + length]
        budget.values -= values_in(text)
        if budget.values < 0:
            raise InvalidProgram(Fault.TOO_LARGE, f"more than {PROGRAM.values:,} values describe it")
        document = parsed(text)
    except InvalidProgram:
        raise
    except (ValueError, struct.error) as error:
        raise InvalidProgram(Fault.FORMAT, f"its description cannot be read: {type(error).__name__}") from error
    return _Reader(payload, _blobs(payload, _SIZES.size + length, count), budget).program(document)


def _payload(data: bytes, most_bytes: int) -> bytes:
    if len(data) > PROGRAM.encoded_bytes:
        raise InvalidProgram(Fault.TOO_LARGE, f"{len(data)} bytes; at most {PROGRAM.encoded_bytes} are accepted")
    if len(data) < _HEAD.size:
        raise InvalidProgram(Fault.TRUNCATED, "the bytes end within the header")
    magic, version, digest, length = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise InvalidProgram(Fault.FORMAT, "the bytes are not a Program")
    if version != VERSION:
        raise InvalidProgram(Fault.VERSION, f"version {version}; this Foretell reads version {VERSION}")
    if len(data) != _HEAD.size + length:
        raise InvalidProgram(
            Fault.TRUNCATED, f"{len(data) - _HEAD.size} bytes follow the header, which announces {length}"
        )
    packed = memoryview(data)[_HEAD.size :]
    if hashlib.sha256(packed).digest() != digest:
        raise InvalidProgram(Fault.CHECKSUM, "the checksum does not match")
    inflater = zlib.decompressobj()
    try:
        payload = inflater.decompress(packed, most_bytes)
    except zlib.error as error:
        raise InvalidProgram(Fault.FORMAT, "its contents cannot be inflated") from error
    if inflater.unconsumed_tail:
        raise InvalidProgram(Fault.TOO_LARGE, f"its contents inflate to more than {most_bytes} bytes")
    return payload


def _blobs(payload: bytes, at: int, count: int) -> list[slice]:
    """Where each binary part lies."""
    blobs = []
    if count > PROGRAM.steps:
        raise InvalidProgram(Fault.TOO_LARGE, f"{count} binary parts")
    for _ in range(count):
        if at + _SIZES.size > len(payload):
            raise InvalidProgram(Fault.TRUNCATED, "a binary part is missing")
        size, zero = _SIZES.unpack_from(payload, at)
        at += _SIZES.size
        if zero or at + size > len(payload):
            raise InvalidProgram(Fault.TRUNCATED, "a binary part is cut short")
        blobs.append(slice(at, at + size))
        at += size
    if at != len(payload):
        raise InvalidProgram(Fault.FORMAT, "bytes follow the last binary part")
    return blobs


class _Writer:
    """Values as JSON, with bytes put aside; equal bytes are stored once."""

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self._places: dict[bytes, int] = {}

    def blob(self, data: bytes) -> int:
        if data not in self._places:
            self._places[data] = len(self.blobs)
            self.blobs.append(data)
        return self._places[data]

    def program(self, program: Program) -> dict[str, Any]:
        return {
            "workload": program.workload,
            "toolchain": dict(program.toolchain),
            "buffers": [[buffer.bytes, str(buffer.role)] for buffer in program.buffers],
            "inputs": [_view(view) for view in program.inputs],
            "weights": [[weight.name, _view(weight.view)] for weight in program.weights],
            "setup": [self.step(step) for step in program.setup],
            "run": [self.step(step) for step in program.run],
            "outputs": [_view(view) for view in program.outputs],
            "images": [
                [None if image.cubin is None else self.blob(image.cubin), self.blob(image.ptx.encode()), image.arch]
                for image in program.images
            ],
            "facts": dict(program.facts),
        }

    def step(self, step: Step) -> list[Any]:
        match step:
            case Allocate():
                return ["allocate", step.buffer]
            case LibraryCall():
                arguments = [self.argument(value) for value in step.arguments]
                keywords = [[name, self.argument(value)] for name, value in step.keywords]
                results = [None if view is None else _view(view) for view in step.results]
                mutated = [_view(view) for view in step.mutated]
                flags = [list(flag) for flag in step.flags]
                return ["call", step.operator, arguments, keywords, results, mutated, flags, step.stream]
            case Launch():
                pointers = [[p.position, p.buffer, p.offset_bytes] for p in step.pointers]
                maps = [_tensor_map(each) for each in step.tensor_maps]
                attributes = [[name, list(v) if isinstance(v, tuple) else v] for name, v in step.attributes]
                shape = [list(step.grid), list(step.block), step.shared_bytes]
                rest = [self.blob(step.arguments), pointers, maps, step.stream, attributes]
                return ["launch", step.image, step.entry, *shape, *rest]
            case Fill():
                return ["fill", _region(step.region), self.blob(step.pattern), step.stream]
            case Copy():
                return ["copy", _region(step.target), self.source(step.source), step.stream]
            case SymbolUpload():
                source = self.source(step.source)
                return ["symbol", step.image, step.symbol, step.offset_bytes, source, step.stream]
            case Fork():
                return ["fork", step.stream, step.parent]
            case Join():
                return ["join", step.stream, step.parent]

    def source(self, source: Region | bytes) -> Any:
        return _region(source) if isinstance(source, Region) else self.blob(source)

    def argument(self, value: Argument) -> Any:
        match value:
            case View():
                return {"view": _view(value)}
            case Tag():
                return {"tag": [value.kind, value.value]}
            case Literal():
                return {"literal": [value.dtype, list(value.shape), self.blob(value.data)]}
            case tuple():
                return [self.argument(each) for each in value]
            case float() if not math.isfinite(value):
                return {"number": str(value)}
            case None | bool() | int() | float() | str():
                return value
        raise TypeError(f"a library call cannot take {type(value).__name__}")


def _view(view: View) -> list[Any]:
    return [view.buffer, view.offset_bytes, view.dtype, list(view.shape), list(view.strides)]


def _region(region: Region) -> list[int]:
    return [region.buffer, region.offset_bytes, region.bytes]


def _tensor_map(each: TensorMap) -> list[Any]:
    lists = [list(each.shape), list(each.strides_bytes), list(each.box)]
    codes = [each.interleave, each.swizzle, each.promotion, each.fill]
    return [each.position, each.buffer, each.offset_bytes, each.element, *lists, *codes]


def _wrong(what: str) -> InvalidProgram:
    return InvalidProgram(Fault.FORMAT, what)


class _Reader:
    """The reverse of `_Writer`; every value is checked for its type before it is used.

    A binary part is copied once, when it is first named.
    """

    def __init__(self, payload: bytes, blobs: list[slice], budget: Budget) -> None:
        self._payload, self._places, self._budget = payload, blobs, budget
        self._blobs: dict[int, bytes] = {}
        self._image_bytes = 0

    def program(self, data: Any) -> Program:
        names = ("workload", "toolchain", "buffers", "inputs", "weights", "setup", "run", "outputs", "images", "facts")
        if not isinstance(data, dict) or set(data) != set(names):
            raise _wrong("its description does not have the parts of a Program")
        toolchain, facts = data["toolchain"], data["facts"]
        if not isinstance(toolchain, dict) or not all(isinstance(value, str) for value in toolchain.values()):
            raise _wrong("its toolchain is not a list of names and versions")
        if not isinstance(facts, dict):
            raise _wrong("its facts are not named values")
        if len(json.dumps(facts, ensure_ascii=False)) > PROGRAM.facts_characters:
            raise InvalidProgram(Fault.TOO_LARGE, f"its facts take more than {PROGRAM.facts_characters:,} characters")
        limits = (
            ("buffers", PROGRAM.buffers),
            ("setup", PROGRAM.steps),
            ("run", PROGRAM.steps),
            ("images", PROGRAM.images),
        )
        for name, most in limits:
            if isinstance(data[name], list) and len(data[name]) > most:
                raise InvalidProgram(Fault.TOO_LARGE, f"{len(data[name])} {name}; at most {most} are accepted")
        return Program(
            workload=_text(data["workload"]),
            toolchain=toolchain,
            buffers=_each(data["buffers"], _buffer),
            inputs=_each(data["inputs"], _read_view),
            weights=_each(data["weights"], self._weight),
            setup=_each(data["setup"], self._step),
            run=_each(data["run"], self._step),
            outputs=_each(data["outputs"], _read_view),
            images=_each(data["images"], self._image),
            facts=facts,
        )

    def _place(self, number: Any) -> int:
        place = _natural(number)
        if place >= len(self._places):
            raise _wrong(f"there is no binary part {place}")
        return place

    def _blob(self, number: Any) -> bytes:
        place = self._place(number)
        if place not in self._blobs:
            self._blobs[place] = self._payload[self._places[place]]
        return self._blobs[place]

    def _weight(self, data: Any) -> Weight:
        name, view = _parts(data, 2)
        return Weight(_text(name), _read_view(view))

    def _image(self, data: Any) -> Image:
        cubin, ptx, arch = _parts(data, 3)
        for number in (cubin, ptx):
            if number is not None:
                self._count_image(self._place(number))
        try:
            text = self._blob(ptx).decode("ascii")  # as PTX is; other texts take up to four times their bytes
        except UnicodeDecodeError as error:
            raise _wrong("the PTX of an image is not ASCII text") from error
        return Image(None if cubin is None else self._blob(cubin), text, _text(arch))

    def _count_image(self, place: int) -> None:
        """Count a part of an image before anything is made of it; InvalidProgram if that is too much."""
        part = self._places[place]
        size = part.stop - part.start
        self._image_bytes += size
        self._budget.bytes -= size if place in self._blobs else 0
        if self._image_bytes > PROGRAM.image_bytes or self._budget.bytes < 0:
            what = f"its images are made of more than {PROGRAM.image_bytes} bytes, or than are left of its answer's"
            raise InvalidProgram(Fault.TOO_LARGE, what)

    def _step(self, data: Any) -> Step:
        if not isinstance(data, list) or not data or not isinstance(data[0], str):
            raise _wrong("a step has no kind")
        kind, rest = data[0], data[1:]
        match kind:
            case "allocate":
                (buffer,) = _parts(rest, 1)
                return Allocate(_natural(buffer))
            case "call":
                return self._call(rest)
            case "launch":
                return self._launch(rest)
            case "fill":
                region, pattern, stream = _parts(rest, 3)
                return Fill(_read_region(region), self._blob(pattern), _natural(stream))
            case "copy":
                target, source, stream = _parts(rest, 3)
                return Copy(_read_region(target), self._source(source), _natural(stream))
            case "symbol":
                image, symbol, offset, source, stream = _parts(rest, 5)
                moved = self._source(source)
                return SymbolUpload(_text(image), _text(symbol), _natural(offset), moved, _natural(stream))
            case "fork" | "join":
                stream, parent = (_natural(each) for each in _parts(rest, 2))
                return Fork(stream, parent) if kind == "fork" else Join(stream, parent)
        raise _wrong(f"there is no step {kind[:40]!r}")

    def _source(self, data: Any) -> Region | bytes:
        return _read_region(data) if isinstance(data, list) else self._blob(data)

    def _call(self, data: Any) -> LibraryCall:
        operator, arguments, keywords, results, mutated, flags, stream = _parts(data, 7)
        return LibraryCall(
            _text(operator),
            _each(arguments, lambda value: self._argument(value, 0)),
            _each(keywords, self._keyword),
            _each(results, lambda view: None if view is None else _read_view(view)),
            _each(mutated, _read_view),
            _each(flags, _flag),
            _natural(stream),
        )

    def _keyword(self, data: Any) -> tuple[str, Argument]:
        name, value = _parts(data, 2)
        return _text(name), self._argument(value, 0)

    def _argument(self, data: Any, depth: int) -> Argument:
        if depth > PROGRAM.argument_depth:
            raise _wrong("arguments of a library call are nested too deeply")
        if isinstance(data, list):
            return tuple(self._argument(each, depth + 1) for each in data)
        if not isinstance(data, dict):
            return data  # what JSON has besides lists and objects
        if len(data) != 1:
            raise _wrong("an argument of a library call has more than one kind")
        ((kind, value),) = data.items()
        match kind:
            case "view":
                return _read_view(value)
            case "tag":
                name, text = _parts(value, 2)
                return Tag(_text(name), _text(text))
            case "literal":
                dtype, shape, blob = _parts(value, 3)
                return Literal(_dtype(dtype), _naturals(shape), self._blob(blob))
            case "number" if isinstance(value, str) and value in _NONFINITE:
                return _NONFINITE[value]
        raise _wrong(f"there is no argument {str(kind)[:40]!r}")

    def _launch(self, data: Any) -> Launch:
        image, entry, grid, block, shared, arguments, pointers, maps, stream, attributes = _parts(data, 10)
        return Launch(
            _text(image), _text(entry), _three(grid), _three(block), _natural(shared), self._blob(arguments),
            _each(pointers, lambda pointer: Pointer(*(_natural(each) for each in _parts(pointer, 3)))),
            _each(maps, _read_tensor_map), _natural(stream), _each(attributes, _attribute),
        )  # fmt: skip


def _parts(data: Any, count: int) -> list[Any]:
    if not isinstance(data, list) or len(data) != count:
        raise _wrong(f"expected a list of {count}")
    return data


def _each(data: Any, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise _wrong("expected a list")
    return tuple(read(value) for value in data)


def _natural(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise _wrong("expected a whole number from 0")
    return value


def _naturals(value: Any) -> tuple[int, ...]:
    return _each(value, _natural)


def _three(value: Any) -> tuple[int, int, int]:
    x, y, z = (_natural(each) for each in _parts(value, 3))
    return x, y, z


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > PROGRAM.name_characters:
        raise _wrong("expected a short text")
    return value


def _dtype(value: Any) -> str:
    if not isinstance(value, str) or value not in DTYPE_BYTES:
        raise InvalidProgram(Fault.DTYPE, f"there is no dtype {str(value)[:40]!r}")
    return value


def _buffer(data: Any) -> Buffer:
    size, role = _parts(data, 2)
    if role not in tuple(Role):
        raise _wrong("a buffer has no role")
    return Buffer(_natural(size), Role(role))


def _read_view(data: Any) -> View:
    buffer, offset, dtype, shape, strides = _parts(data, 5)
    sides, steps = _naturals(shape), _naturals(strides)
    if len(sides) != len(steps):
        raise _wrong("a view has more sides than strides or fewer")
    return View(_natural(buffer), _natural(offset), _dtype(dtype), sides, steps)


def _read_region(data: Any) -> Region:
    buffer, offset, size = (_natural(each) for each in _parts(data, 3))
    return Region(buffer, offset, size)


def _read_tensor_map(data: Any) -> TensorMap:
    position, buffer, offset, element, shape, strides, box, *codes = _parts(data, 11)
    place, source, start, kind = (_natural(each) for each in (position, buffer, offset, element))
    interleave, swizzle, promotion, fill = (_natural(each) for each in codes)
    lists = (_naturals(shape), _naturals(strides), _naturals(box))
    return TensorMap(place, source, start, kind, *lists, interleave, swizzle, promotion, fill)


def _flag(data: Any) -> tuple[str, str | bool]:
    name, value = _parts(data, 2)
    if not isinstance(value, str | bool):
        raise _wrong("a backend flag is neither text nor a truth value")
    return _text(name), value


def _attribute(data: Any) -> tuple[str, Any]:
    name, value = _parts(data, 2)
    return _text(name), value if isinstance(value, bool) else _three(value)
