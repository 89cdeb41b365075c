"""Programs drawn at random, all of them valid, and ways to damage them."""

from __future__ import annotations

import hashlib
import json
import random
import zlib
from collections.abc import Callable
from typing import Any

from foretell.kernels.program import (
    Allocate,
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
from foretell.kernels.program_codec import _HEAD, _SIZES, MAGIC

PTX = ".visible .entry scale(.param .u64 scale_param_0, .param .u64 scale_param_1, .param .u32 scale_param_2)\n{ ret; }"


def random_program(rng: random.Random) -> Program:
    """A valid Program with every kind of step."""
    rows, cols = rng.randint(1, 64), rng.randint(1, 64)
    size = rows * cols * 4
    image = Image(rng.randbytes(rng.randint(1, 60)), PTX, "sm_90a")
    buffers = [Buffer(size, Role.INPUT), Buffer(cols * cols * 4, Role.WEIGHT)]

    def add(size: int, role: Role) -> int:
        buffers.append(Buffer(size, role))
        return len(buffers) - 1

    def matrix(buffer: int, height: int = rows, width: int = cols) -> View:
        return View(buffer, 0, "float32", (height, width), (width, 1))

    folded = add(cols * cols * 4, Role.STATE)
    weight = matrix(1, cols, cols)
    transposed = View(1, 0, "float32", (cols, cols), (1, cols))
    clone = LibraryCall(
        "aten::clone.default",
        (transposed,),
        (("memory_format", Tag("memory_format", "contiguous_format")),),
        (matrix(folded, cols, cols),),
    )
    product, out = add(size, Role.TEMPORARY), add(size, Role.TEMPORARY)
    flags = (("matmul_precision", "high"),) if rng.random() < 0.5 else ()
    mm = LibraryCall("aten::mm.default", (matrix(0), matrix(folded, cols, cols)), (), (matrix(product),), (), flags)
    run: list[Step] = [mm, Allocate(out), Fill(Region(out, 0, size), b"\0")]
    run.append(
        LibraryCall(
            "aten::add_.Tensor", (matrix(product), 1.5), (("alpha", 2),), (matrix(product),), (matrix(product),)
        )
    )
    run.append(
        LibraryCall(
            "aten::mul_.Tensor",
            (matrix(product), Literal("float32", (), b"\0\0\x80\x3f")),
            (),
            (matrix(product),),
            (matrix(product),),
        )
    )
    if rng.random() < 0.5:
        run.append(Fork(1, 0))
    stream = 1 if isinstance(run[-1], Fork) else 0
    pointers = (Pointer(0, product, 0), Pointer(8, out, 0))
    maps = (TensorMap(128, product, 0, 7, (cols * 4, rows), (cols * 4,), (cols, 1)),) if rng.random() < 0.3 else ()
    block = bytes(16) + rng.randbytes(4) + (bytes(108) + bytes(128) if maps else b"")
    attributes = (("cluster", (2, 1, 1)), ("cooperative", True)) if rng.random() < 0.3 else ()
    grid = (2 * rng.randint(1, 99), 1, 1)
    run.append(
        Launch(image.hash, "scale", grid, (rng.randint(1, 1024), 1, 1), 64, block, pointers, maps, stream, attributes)
    )
    run.append(SymbolUpload(image.hash, "table", 0, b"1234", stream))
    if stream:
        run.append(Join(1, 0))
    run.append(Copy(Region(out, 0, 4), Region(product, 0, 4)))
    run.append(Copy(Region(out, 0, 4), b"abcd"))
    toolchain = {"torch": "2.13.0", "triton": "3.9.0"}
    facts = {"language": "torch", "numbers": [1, 2.5, None, True]}
    outputs = (matrix(out), View(out, 0, "int32", (rows,), (cols,)))
    return Program(
        f"rows={rows} cols={cols}", toolchain, tuple(buffers), (matrix(0),), (Weight("linear.weight", weight),),
        (clone,), tuple(run), outputs, (image,), facts,
    )  # fmt: skip


def sealed(document: Any, blobs: list[bytes], version: int = 1, as_text: Callable[[str], str] = str) -> bytes:
    """Bytes with a right checksum for any document, whose JSON may be changed."""
    text = as_text(json.dumps(document)).encode()
    parts = b"".join(_SIZES.pack(len(blob), 0) + blob for blob in blobs)
    payload = zlib.compress(_SIZES.pack(len(text), len(blobs)) + text + parts, level=1)
    return _HEAD.pack(MAGIC, version, hashlib.sha256(payload).digest(), len(payload)) + payload


def opened(data: bytes) -> tuple[Any, list[bytes]]:
    """The document and binary parts of encoded bytes."""
    payload = zlib.decompress(data[_HEAD.size :])
    length, count = _SIZES.unpack_from(payload)
    at = _SIZES.size + length
    document = json.loads(payload[_SIZES.size : at])
    blobs = []
    for _ in range(count):
        size, _zero = _SIZES.unpack_from(payload, at)
        at += _SIZES.size
        blobs.append(payload[at : at + size])
        at += size
    return document, blobs


JUNK: list[Any] = [
    None, True, False, 0, 1, 2, 3, -1, 7, 255, 65536, 2**31, 2**40, 2**62, 2**63, 2**64, 10**400, -(2**70), 0.5,
    1e308, "", "x",
    "aten::mm.default", "aten::from_file.default", "prim::print.default", "aten::rand.default", "float32", "float99",
    "cuda", "\ud800",
    "../../etc/passwd", "a" * 9000, [], {}, [[]], [1, 2, 3], {"view": [0, 0, "float32", [1], [1]]}, {"tag": ["dtype",
    "x"]},
    {"literal": ["float32", [2**40], 0]}, {"number": "nan"}, ["allocate", 0], ["launch"], ["fork", 1, 1], [0] * 50,
]  # fmt: skip


def mutated_document(document: Any, rng: random.Random) -> Any:
    """The document with one value anywhere replaced, removed, repeated or nudged."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            places.append((node, key))
            walk(value)

    walk(document)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        node, key = rng.choice(places)
        kind = rng.random()
        try:
            if kind < 0.55:
                node[key] = rng.choice(JUNK)
            elif kind < 0.75 and isinstance(node[key], int):
                node[key] = node[key] + rng.choice((-1, 1, 4, 8, 1000, 10**9))
            elif kind < 0.85 and isinstance(node, list):
                node.insert(key, node[key])
            elif kind < 0.95:
                del node[key]
            else:
                other, its_key = rng.choice(places)
                node[key], other[its_key] = other[its_key], node[key]
        except (IndexError, KeyError, TypeError):
            continue  # an earlier mutation took the place away
    return document
