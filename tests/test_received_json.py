"""JSON and packed files from strangers: refused in words, whatever they hold."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from foretell.kernels.replay import spaces
from foretell.lm.adapter import PEFT_CONFIG, check_adapter
from foretell.lm.names import BadModelName, make_model
from foretell.received import NotPlain, read_json

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
