"""What is kept of a candidate's build, whatever its builder left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foretell.kernels.languages import built


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept(cache: Path) -> dict[str, bytes]:
    files = (path for path in (cache / built.FOLDER).rglob("*") if path.is_file())
    return {path.name: path.read_bytes() for path in files}


def test_names_that_lead_out_are_left_out(cache: Path) -> None:
    names = ("triton/one", "../two", "triton/../../three", "/triton/four", "other/five", "triton/a\0b")
    built.keep("source", dict.fromkeys(names, b"x"))
    assert kept(cache) == {"one": b"x"}


def test_a_list_of_files_that_cannot_be_read_is_kept_as_it_is(cache: Path) -> None:
    nested = b'{"child_paths":' + b"[" * 100_000
    built.keep("source", {"triton/__grp__kernel.json": nested})
    assert kept(cache) == {"__grp__kernel.json": nested}


def test_paths_that_are_too_long_leave_nothing(cache: Path) -> None:
    name = "triton/" + "/".join(["d" * 200] * 20) + "/file"
    built.keep("source", {"triton/short": b"x", name: b"x"})
    assert kept(cache) == {} and not any((cache / built.FOLDER).rglob("*.*"))


def test_folders_without_end_and_long_lists(cache: Path) -> None:
    """Copying the former would exceed Python's depth; lists longer than Triton's are not read."""
    long = json.dumps({"child_paths": {f"{i}.ptx": f"/x/{i}.ptx" for i in range(10_000)}}).encode()
    files = {"triton/a/__grp__k.json": long, "triton/a/k.ptx": b"ptx", "cuda/" + "d/" * 700 + "x": b"x"}
    built.keep("source", files)
    assert kept(cache) == {"__grp__k.json": long, "k.ptx": b"ptx"}
