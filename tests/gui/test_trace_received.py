"""Traces from elsewhere: nothing outside of their folder is read or written, and pictures are PNG of bounded size."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from foretell.gui import trace
from foretell.gui.dataset import DatasetError, load_image
from foretell.gui.trace import FILE, TraceError, TraceWriter
from foretell.received import NotPlain

PRIVATE = b'{"event": "start", "words": "private"}\nthe last line has no end'


@pytest.fixture
def private(tmp_path: Path) -> Path:
    file = tmp_path / "private.jsonl"
    file.write_bytes(PRIVATE)
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "trace").mkdir()
    return tmp_path / "trace"


def blank_png(width: int, height: int) -> bytes:
    """A white PNG of one bit per pixel, small however large the picture is."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = (b"\0" + b"\xff" * -(-width // 8)) * height
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    framed = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


def test_a_linked_trace_is_not_read(folder: Path, private: Path) -> None:
    (folder / FILE).symlink_to(private)
    with pytest.raises(TraceError, match="symbolic link"):
        trace.read(folder)


def test_nothing_is_written_through_a_linked_trace(folder: Path, private: Path) -> None:
    (folder / FILE).symlink_to(private)
    with pytest.raises(NotPlain, match="symbolic link"):
        TraceWriter(folder)
    (folder / FILE).unlink()
    (folder / FILE).hardlink_to(private)
    with pytest.raises(NotPlain, match="second name"):
        TraceWriter(folder)
    assert private.read_bytes() == PRIVATE


def test_nothing_is_written_through_a_linked_folder_of_pictures(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder / "images").symlink_to(tmp_path / "elsewhere")
    with TraceWriter(folder) as writer, pytest.raises(NotPlain, match="outside"):
        writer.append("start", {}, {"before": np.zeros((2, 2, 3), np.uint8)})
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_trace_too_long_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / FILE).write_bytes(b'{"event": "start"}\n')
    monkeypatch.setattr(trace, "MOST_JSON_BYTES", 4)
    with pytest.raises(TraceError, match="more than 4 bytes"):
        trace.read(folder)


def test_a_torn_line_is_cut_off_before_writing_on(folder: Path) -> None:
    (folder / FILE).write_bytes(PRIVATE)
    with TraceWriter(folder) as writer:
        writer.append("start", {})
    first, second = (folder / FILE).read_bytes().splitlines()
    assert first == PRIVATE.splitlines()[0] and second.startswith(b'{"event": "start"')


def test_another_format_is_not_opened(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PIL reads PostScript by starting Ghostscript; a program of that name on the PATH must not run."""
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    postscript = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n%%EOF\n"
    (folder / "a.png").write_text(postscript)
    with pytest.raises(TraceError, match=r"a\.png cannot be read"):
        trace.Trace(folder, ()).picture("a.png")
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("side", [9000, 20000])
def test_a_picture_of_very_many_pixels_is_not_decoded(folder: Path, side: int) -> None:
    (folder / "a.png").write_bytes(blank_png(side, side))
    with pytest.raises(DatasetError, match=r"a\.png cannot be read"):
        load_image(folder / "a.png")
    (folder / "a.png").write_bytes(blank_png(90, 20))
    assert load_image(folder / "a.png").shape == (20, 90, 3)


def test_a_linked_picture_is_not_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(blank_png(9, 9))
    (folder / "a.png").symlink_to(tmp_path / "b.png")
    with pytest.raises(DatasetError, match="symbolic link"):
        load_image(folder / "a.png")
