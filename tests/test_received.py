"""Received files: nothing outside of their folder is read or written by way of a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foretell.received import NotPlain, check_folder, inside, open_plain, read_plain, write_plain


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "secret"
    path.parent.mkdir()
    path.write_text("precious")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "received"
    path.mkdir()
    return path


def test_a_plain_file_is_read(folder: Path) -> None:
    (folder / "a").write_bytes(b"abc")
    assert read_plain(folder / "a") == b"abc"
    with pytest.raises(ValueError, match="more than 2 bytes"):
        read_plain(folder / "a", 2)
    with pytest.raises(FileNotFoundError):
        read_plain(folder / "absent")


def test_links_are_not_followed(folder: Path, secret: Path) -> None:
    (folder / "link").symlink_to(secret)
    (folder / "dangling").symlink_to(folder / "made")
    for name in ("link", "dangling"):
        with pytest.raises(NotPlain, match="symbolic link"):
            read_plain(folder / name)
        with pytest.raises(NotPlain, match="symbolic link"):
            open_plain(folder / name, os.O_RDWR | os.O_CREAT)
    assert not (folder / "made").exists()


def test_a_pipe_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(NotPlain, match="not a regular file"):
        read_plain(folder / "pipe")


def test_a_file_with_a_second_name_is_not_written(folder: Path, secret: Path) -> None:
    (folder / "twin").hardlink_to(secret)
    with pytest.raises(NotPlain, match="second name"):
        open_plain(folder / "twin", os.O_WRONLY)


def test_writing_replaces_a_link(folder: Path, secret: Path) -> None:
    (folder / "link").symlink_to(secret)
    write_plain(folder / "link", b"new")
    assert secret.read_text() == "precious"
    assert not (folder / "link").is_symlink() and (folder / "link").read_bytes() == b"new"
    assert [path.name for path in folder.iterdir()] == ["link"]


@pytest.mark.parametrize("name", ["../home/secret", "out/secret"])
def test_names_that_lead_out_are_refused(folder: Path, secret: Path, name: str) -> None:
    (folder / "out").symlink_to(secret.parent)
    with pytest.raises(NotPlain, match="outside"):
        inside(folder, name)
    with pytest.raises(NotPlain, match="outside"):
        inside(folder, str(secret))


def test_a_folder_of_weights_may_link_within_its_download_only(tmp_path: Path, secret: Path) -> None:
    snapshot = tmp_path / "models--a--b" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    blob = tmp_path / "models--a--b" / "blobs" / "x"
    blob.parent.mkdir()
    blob.write_text("weights")
    (snapshot / "model.safetensors").symlink_to(blob)
    check_folder(snapshot)
    (snapshot / "tokenizer.json").symlink_to(secret)
    with pytest.raises(NotPlain, match="out of its folder"):
        check_folder(snapshot)
