"""Device code as the compiler embeds it."""

from __future__ import annotations

import struct

import pytest

from foretell.kernels.languages.extension.images import Image, NotAFatbin, read_fatbin

PTX = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry scale(
    .param .u64 .ptr .align 1 scale_param_0,
    .param .u8 scale_param_1,
    .param .f32 scale_param_2,
    .param .align 8 .b8 scale_param_3[24],
    .param .u16 scale_param_4
)
.maxntid 128, 2, 1
{
    ret;
}
.visible .entry none()
{
    ret;
}
"""


def _entry(kind: int, body: bytes, flags: int = 0x11) -> bytes:
    padded = body + bytes(-len(body) % 8)
    head = struct.pack("<HHIQIIHHI8xQ", kind, 0x101, 64, len(padded), 0, 0, 0, 9, 90, flags)
    return head + bytes(64 - len(head)) + padded


def _fatbin(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_machine_code_and_ptx_are_found() -> None:
    image = read_fatbin(_fatbin(_entry(2, b"\x7fELF code"), _entry(1, PTX.encode())))
    assert image.cubin.startswith(b"\x7fELF code") and image.ptx == PTX and image.arch == "sm_90a"
    assert len(image.hash) == 64 and image.hash != Image(b"", PTX, "sm_90a").hash


def test_parameters_are_laid_out_as_the_kernel_reads_them() -> None:
    image = Image(b"", PTX, "sm_90a")
    assert image.parameters("scale") == ((0, 8), (8, 1), (12, 4), (16, 24), (40, 2))
    assert image.parameters("none") == ()
    assert image.most_threads("scale") == 256 and image.most_threads("none") is None
    with pytest.raises(NotAFatbin):
        image.parameters("scal")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x7fELF",
        _fatbin(),
        _fatbin(_entry(1, PTX.encode())),
        _fatbin(_entry(2, b"code", flags=0x2011)),
        _fatbin(_entry(2, b"code"))[:20],
    ],
    ids=["nothing", "another file", "no entries", "no machine code", "compressed", "cut"],
)
def test_what_is_not_device_code_is_refused(data: bytes) -> None:
    with pytest.raises(NotAFatbin):
        read_fatbin(data)
