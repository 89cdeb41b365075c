"""Programs: bytes and back, what is refused, and that no damage leads to anything but a refusal."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.operators import family_of
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
    Tag,
    View,
    Weight,
    buffers_read,
    buffers_written,
)
from foretell.kernels.program_check import Fault, InvalidProgram, check, check_signature
from foretell.kernels.program_codec import Budget, from_bytes, to_bytes
from tests.kernels.programs import mutated_document, opened, random_program, sealed


@given(st.integers(0, 10**9))
def test_bytes_and_back(seed: int) -> None:
    program = random_program(random.Random(seed))
    assert check(program) is program
    again = from_bytes(to_bytes(program))
    assert again == program
    assert to_bytes(again) == to_bytes(program)


def test_numbers_that_json_does_not_have_survive() -> None:
    program = random_program(random.Random(1))
    x = program.inputs[0]
    call = LibraryCall(
        "aten::masked_fill.Scalar", (x, x, float("-inf")), (), (replace(x, buffer=len(program.buffers)),)
    )
    changed = replace(program, run=(*program.run, call), buffers=(*program.buffers, Buffer(1 << 20, Role.TEMPORARY)))
    again = from_bytes(to_bytes(check(changed)))
    assert again.run[-1] == call
    assert isinstance(again.run[-1], LibraryCall) and again.run[-1].arguments[2] == float("-inf")


def _small() -> Program:
    view = View(0, 0, "float32", (4, 4), (4, 1))
    out = replace(view, buffer=1)
    image = Image(b"cubin", "", "sm_90")
    launch = Launch(image.hash, "scale", (1, 1, 1), (32, 1, 1), 0, bytes(16), (Pointer(0, 0, 0), Pointer(8, 1, 0)))
    buffers = (Buffer(64, Role.INPUT), Buffer(64, Role.TEMPORARY))
    return Program("", {}, buffers, (view,), (), (), (Allocate(1), launch), (out,), (image,))


def _run(program: Program, *steps: Any) -> Program:
    return replace(program, run=(*program.run, *steps))


def _launch(**changes: Any) -> Callable[[Program], Program]:
    def change(program: Program) -> Program:
        step = program.run[1]
        assert isinstance(step, Launch)
        return replace(program, run=(program.run[0], replace(step, **changes)))

    return change


_X = View(0, 0, "float32", (4, 4), (4, 1))
BAD: dict[str, tuple[Fault, Callable[[Program], Program]]] = {
    "operator": (Fault.OPERATOR, lambda p: _run(p, LibraryCall("aten::from_file.default", ("x",), (), ()))),
    "namespace": (Fault.OPERATOR, lambda p: _run(p, LibraryCall("mine::mm.default", (_X,), (), ()))),
    "operator text": (Fault.OPERATOR, lambda p: _run(p, LibraryCall("aten::mm.default; x", (_X,), (), ()))),
    "random": (Fault.OPERATOR, lambda p: _run(p, LibraryCall("aten::uniform_.default", (_X,), (), (_X,), (_X,)))),
    "view past the end": (Fault.BOUNDS, lambda p: replace(p, outputs=(replace(_X, shape=(4, 5)),))),
    "view with an offset": (Fault.BOUNDS, lambda p: replace(p, outputs=(replace(_X, offset_bytes=4),))),
    "huge view": (Fault.BOUNDS, lambda p: replace(p, outputs=(replace(_X, shape=(1 << 40, 4)),))),
    "no such buffer": (Fault.BOUNDS, lambda p: replace(p, outputs=(replace(_X, buffer=7),))),
    "dtype": (Fault.DTYPE, lambda p: replace(p, outputs=(replace(_X, dtype="float31"),))),
    "misaligned": (Fault.DTYPE, lambda p: replace(p, outputs=(replace(_X, offset_bytes=2, shape=(1, 1)),))),
    "steps": (Fault.TOO_LARGE, lambda p: replace(p, run=(Allocate(1),) * 10**6)),
    "buffer size": (Fault.TOO_LARGE, lambda p: replace(p, buffers=(Buffer(1 << 50, Role.INPUT), p.buffers[1]))),
    "used before": (Fault.ORDER, lambda p: replace(p, run=p.run[1:])),
    "made twice": (Fault.ORDER, lambda p: _run(p, Allocate(1))),
    "input made": (Fault.ORDER, lambda p: _run(p, Allocate(0))),
    "grid": (Fault.LAUNCH, _launch(grid=(1 << 31, 1, 1))),
    "grid y": (Fault.LAUNCH, _launch(grid=(1, 65536, 1))),
    "empty grid": (Fault.LAUNCH, _launch(grid=(1, 0, 1))),
    "absurd grid": (Fault.LAUNCH, _launch(grid=((1 << 31) - 1, 65535, 65535))),
    "block": (Fault.LAUNCH, _launch(block=(1024, 2, 1))),
    "block z": (Fault.LAUNCH, _launch(block=(1, 1, 65))),
    "shared": (Fault.LAUNCH, _launch(shared_bytes=1 << 20)),
    "arguments": (Fault.LAUNCH, _launch(arguments=bytes(40000))),
    "cluster": (Fault.LAUNCH, _launch(attributes=(("cluster", (32, 1, 1)),))),
    "attribute": (Fault.FORMAT, _launch(attributes=(("priority", True),))),
    "pointer outside": (Fault.POINTER, _launch(pointers=(Pointer(16, 0, 0),))),
    "pointers overlap": (Fault.POINTER, _launch(pointers=(Pointer(0, 0, 0), Pointer(0, 1, 0)))),
    "pointer past the buffer": (Fault.BOUNDS, _launch(pointers=(Pointer(0, 0, 65),))),
    "image": (Fault.IMAGE, lambda p: replace(p, images=())),
    "stream": (Fault.STREAM, _launch(stream=3)),
    "not joined": (Fault.STREAM, lambda p: _run(p, Fork(1, 0))),
    "joined to itself": (Fault.STREAM, lambda p: _run(p, Fork(1, 0), Join(1, 1))),
    "fill pattern": (Fault.FORMAT, lambda p: _run(p, Fill(Region(1, 0, 64), b"abc"))),
    "fill past": (Fault.BOUNDS, lambda p: _run(p, Fill(Region(1, 32, 64), b"a"))),
    "copy sizes": (Fault.BOUNDS, lambda p: _run(p, Copy(Region(1, 0, 8), b"abc"))),
    "tag": (Fault.FORMAT, lambda p: _run(p, LibraryCall("aten::mm.default", (_X, Tag("device", "cuda:1")), (), ()))),
    "literal": (
        Fault.BOUNDS,
        lambda p: _run(p, LibraryCall("aten::mm.default", (Literal("int8", (9,), b""),), (), ())),
    ),
    "flag": (Fault.FORMAT, lambda p: _run(p, LibraryCall("aten::mm.default", (_X, _X), (), (), (), (("x", True),)))),
    "version": (Fault.VERSION, lambda p: replace(p, version=99)),
    "no outputs": (Fault.FORMAT, lambda p: replace(p, outputs=())),
    "weight in an input": (Fault.FORMAT, lambda p: replace(p, weights=(Weight("w", _X),))),
}


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_sense_is_refused(name: str) -> None:
    fault, change = BAD[name]
    check(_small())
    with pytest.raises(InvalidProgram) as caught:
        check(change(_small()))
    assert caught.value.fault is fault
    assert len(str(caught.value)) < 300


def test_a_signature_names_what_differs() -> None:
    program = _small()
    check_signature(program, [("float32", (4, 4))], [("float32", (4, 4))])
    for inputs, outputs in (([("float16", (4, 4))], [("float32", (4, 4))]), ([("float32", (4, 4))], [])):
        with pytest.raises(InvalidProgram) as caught:
            check_signature(program, inputs, outputs)
        assert caught.value.fault is Fault.SIGNATURE


def test_truncated_forged_and_foreign_bytes_are_refused() -> None:
    data = to_bytes(random_program(random.Random(3)))
    for cut in (0, 7, 20, 51, 52, len(data) - 1):
        with pytest.raises(InvalidProgram) as caught:
            from_bytes(data[:cut])
        assert caught.value.fault in (Fault.TRUNCATED, Fault.FORMAT)
    flipped = bytearray(data)
    flipped[-1] ^= 1
    with pytest.raises(InvalidProgram) as caught:
        from_bytes(bytes(flipped))
    assert caught.value.fault is Fault.CHECKSUM
    document, blobs = opened(data)
    assert from_bytes(sealed(document, blobs)) == from_bytes(data)
    for version, fault in ((1, None), (2, Fault.VERSION)):
        if fault is not None:
            with pytest.raises(InvalidProgram) as caught:
                from_bytes(sealed(document, blobs, version))
            assert caught.value.fault is fault
    with pytest.raises(InvalidProgram):
        from_bytes(b"\x80\x04" + bytes(100))


def test_numbers_that_cannot_be_written_again_are_refused() -> None:
    """JSON reads 1e999 as infinity, on which whoever keeps the Program would fail."""
    document, blobs = opened(to_bytes(random_program(random.Random(3))))
    document["facts"] = {"a": "MARK"}
    data = sealed(document, blobs, as_text=lambda text: text.replace('"MARK"', "1e999"))
    with pytest.raises(InvalidProgram) as caught:
        from_bytes(data)
    assert caught.value.fault is Fault.FORMAT


def test_a_bomb_is_not_inflated() -> None:
    document, blobs = opened(to_bytes(random_program(random.Random(4))))
    with pytest.raises(InvalidProgram) as caught:
        from_bytes(sealed(document, [*blobs, bytes(1 << 20)]), Budget(bytes=1 << 16))
    assert caught.value.fault is Fault.TOO_LARGE


def _attacked(seed: int) -> str:
    """What becomes of one damaged Program: the fault that it is refused for, or nothing if it is still valid."""
    rng = random.Random(seed)
    data = to_bytes(random_program(rng))
    if rng.random() < 0.2:
        raw = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        damaged = bytes(raw[: rng.randint(1, len(raw))] if rng.random() < 0.3 else raw)
    else:
        document, blobs = opened(data)
        damaged = sealed(mutated_document(document, rng), blobs)
    try:
        again = check(from_bytes(damaged))
        assert from_bytes(to_bytes(again)) == again or "nan" in json.dumps(again.facts)
    except InvalidProgram as refused:
        return refused.fault
    return ""


@pytest.mark.parametrize("start", [0, *(pytest.param(500 * n, marks=pytest.mark.full) for n in range(1, 20))])
def test_damage_leads_to_a_refusal_or_to_another_valid_program(start: int) -> None:
    faults = [_attacked(seed) for seed in range(start, start + 500)]
    refused = [fault for fault in faults if fault]
    assert len(refused) > 300, "most damage is noticed"
    assert len(set(refused)) > 5


def test_steps_tell_what_they_read_and_write() -> None:
    x, y = View(0, 0, "float32", (2,), (1,)), View(1, 0, "float32", (2,), (1,))
    add = LibraryCall("aten::add_.Tensor", (x, y), (), (x,), (x,))
    copy = LibraryCall("aten::copy_.default", (x, y), (), (x,), (x,))
    out = LibraryCall("aten::mul.out", (y, y), (("out", x),), (x,), (x,))
    assert (buffers_read(add), buffers_written(add)) == ({0, 1}, {0})
    assert (buffers_read(copy), buffers_written(copy)) == ({1}, {0})
    assert (buffers_read(out), buffers_written(out)) == ({1}, {0})


def test_in_place_forms_belong_to_their_plain_ones() -> None:
    assert family_of("aten::relu_.default") == family_of("aten::relu.default") == "elementwise"
    assert family_of("aten::mm.default") == "matmul"
    assert family_of("aten::__and__.Tensor") == "elementwise"
    for unknown in ("aten::from_file.default", "aten::_print", "prims::add", "aten::set_.source_Storage", "", "_"):
        assert family_of(unknown) is None
