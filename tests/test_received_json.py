"""JSON and packed files from strangers: refused in words, whatever they hold."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from foretell.kernels.replay import spaces
from foretell.lm.adapter import CARD_NAME, PEFT_CONFIG, Calibration, Card, alike, check_adapter
from foretell.lm.names import BadModelName, make_model
from foretell.received import BadFile, BadJson, NotPlain, TooLarge, parsed, read_json, read_json_lines

NESTED = "[" * 100_000


def test_json_is_read_from_plain_files_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"a": 1}')
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert read_json(tmp_path / "a") == {"a": 1}
    with pytest.raises(NotPlain):
        read_json(tmp_path / "link")
    for content in (NESTED.encode(), b"\xff", b"{", b""):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(ValueError, match=r"nested|UTF-8|Expect"):
            read_json(tmp_path / "a")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"1" + b"0" * 400, "64 bits"), (b"-9223372036854775809", "64 bits"), (b"18446744073709551616", "64 bits"),
        (b"1e999", "finite"), (b"[-1e999]", "finite"), (b"NaN", "NaN"), (b"[-Infinity]", "Infinity"),
        (b'"\\ud800"', "UTF-8"), (b'{"\\uDC00": 1}', "UTF-8"), (b'"\xff"', "UTF-8"), (NESTED.encode(), "nested"),
        (b"[" * 66 + b"]" * 66, "nested"), (b'{"a":' * 66 + b"1" + b"}" * 66, "nested"), (b"", "not JSON"),
        (b"[1] 2", "not JSON"), (b'"a\nb"', "not JSON"),
    ],
)  # fmt: skip
def test_what_no_file_of_ours_holds_is_refused(tmp_path: Path, text: bytes, what: str) -> None:
    (tmp_path / "a").write_bytes(text)
    with pytest.raises(BadJson, match=what) as refused:
        read_json(tmp_path / "a")
    assert str(refused.value).startswith(f"{tmp_path / 'a'}: ")
    with pytest.raises(BadJson, match=what):
        parsed(text.decode("utf-8", "surrogateescape"))


@pytest.mark.parametrize(
    "value", [2**64 - 1, -(2**63), 1.7e308, "\U0001f600 \\ud800", json.loads("[" * 64 + "]" * 64), {"a": [[], {}] * 99}]
)
def test_what_files_may_hold_is_read(value: object) -> None:
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)
        assert parsed(text) == parsed(text.encode()) == value


def test_lines_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"a": 1}\n\n[]\n{')
    lines = read_json_lines(tmp_path / "a")
    assert [next(lines), next(lines)] == [(1, {"a": 1}), (3, [])]
    with pytest.raises(BadJson, match="line 4"):
        next(lines)
    with pytest.raises(TooLarge):
        next(read_json_lines(tmp_path / "a", 2))


def test_words_for_numbers_are_read_where_that_is_asked_for() -> None:
    found = parsed("[NaN, -Infinity]", nan=True)
    assert all(value != value for value in found)


@pytest.mark.parametrize(
    "text",
    [NESTED, "5", '{"cache": 5}',
     json.dumps({"tune_params_keys": ["a"], "tune_params": {"a": [[1]]}, "cache": {"1": 5}}),
     json.dumps({"tune_params_keys": ["a"], "tune_params": {"a": [[1], {}]}, "kernel_name": "k", "device_name": "d",
                 "cache": {"1": {"a": [1], "time": 1.0}}})],
    ids=["nested", "number", "no parameters", "no record", "lists as values"],
)  # fmt: skip
def test_a_cache_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "cache.json").write_text(text)
    with pytest.raises(spaces.BadSpace):
        spaces.read_cache(tmp_path / "cache.json")


def test_a_packed_file_is_unpacked_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "MOST_BYTES", 1 << 16)
    (tmp_path / "cache.json.gz").write_bytes(gzip.compress(bytes(1 << 20)))
    with pytest.raises(spaces.BadSpace, match="more than 65536 bytes"):
        spaces.read_cache(tmp_path / "cache.json.gz")
    (tmp_path / "cache.json.gz").write_bytes(b"not packed")
    with pytest.raises(spaces.BadSpace):
        spaces.read_cache(tmp_path / "cache.json.gz")


@pytest.mark.parametrize("text", [NESTED, "[]", '{"base_model_name_or_path": [1]}', "\x1b"])
def test_settings_of_an_adapter_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    (tmp_path / PEFT_CONFIG).write_text(text)
    with pytest.raises(BadModelName):
        make_model(f"local:{tmp_path}")
    with pytest.raises(ValueError):
        check_adapter(tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"calibration": {"temperature": 10**400, "biases": []}}, {"calibration": {"temperature": 0, "biases": []}},
     {"calibration": [1]}, {"choices": 5}, {"choices": [{}]}, {"base_mark": None}, {"style": [1]}],
)  # fmt: skip
def test_a_card_of_an_adapter_that_is_none_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    Card("base", "0-0", "style", ("A",), Calibration(), {}).write(tmp_path)
    assert Card.read(tmp_path) is not None
    card = json.loads((tmp_path / CARD_NAME).read_text())
    (tmp_path / CARD_NAME).write_text(json.dumps(card | change))
    with pytest.raises(BadFile, match=CARD_NAME):
        Card.read(tmp_path)


def test_a_mark_that_is_none_is_of_no_base() -> None:
    assert alike("a-ff", "a-ff") and not alike("a-zz", "a-ff")
