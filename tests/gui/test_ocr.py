"""Text is read off a screen, once for each line, with weights that lie in the package."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rapidocr")
pytest.importorskip("onnxruntime")

from foretell.extras import MissingPackage
from foretell.gui import ocr as module
from foretell.gui.ocr import Ocr, OcrError, weights
from tests.gui.drawn import SUBMIT, form, middle


@pytest.fixture(scope="module")
def reader() -> Ocr:
    return Ocr()


def test_the_weights_lie_in_the_package_and_nothing_is_asked_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **named: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert weights().is_file() and weights().stat().st_size > 1_000_000
    assert Ocr(threads=1).read(form())


def test_words_and_their_places(reader: Ocr) -> None:
    words = {word.text: word for word in reader.read(form(typed="karrie"))}
    assert {"Submit", "Cancel", "Username", "karrie"} <= set(words)
    x, y, w, h = words["Submit"].box
    at = middle(SUBMIT)
    assert x < at[0] < x + w and y < at[1] < y + h
    assert all(0.5 <= word.confidence <= 1.0 for word in words.values())


def test_a_box_is_read_in_places_of_the_whole_picture(reader: Ocr) -> None:
    (word,) = reader.read(form(), (100, 380, 300, 100))
    assert word.text == "Submit"
    assert 150 < word.box[0] < 330 and 400 < word.box[1] < 460


def test_nothing_is_read_where_nothing_is(reader: Ocr) -> None:
    blank = np.full((200, 300, 3), 255, dtype=np.uint8)
    assert reader.read(blank) == []
    assert reader.read(blank, (290, 190, 500, 500)) == reader.read(blank, (-50, -50, 10, 10)) == []


def test_a_line_seen_before_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, asked = Ocr(), []
    honest = reader._recognise
    monkeypatch.setattr(reader, "_recognise", lambda strip: asked.append(1) or honest(strip))
    first = reader.read(form())
    count = len(asked)
    assert reader.read(form()) == first and len(asked) == count
    after = reader.read(form(typed="karrie"))
    assert len(asked) == count + 1
    assert {word.text for word in after} - {word.text for word in first} == {"karrie"}
    reader.forget()
    assert reader.read(form()) == first and len(asked) > count + 1


def test_missing_or_broken_weights_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rec.onnx").write_bytes(b"nothing")
    for path in (tmp_path / "rec.onnx", tmp_path / "absent.onnx"):
        with pytest.raises(OcrError, match="cannot be used"):
            Ocr(path).read(form())
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="pip install"):
        weights()
