"""Files that may have come from someone else: read and written without following a symbolic link out of their folder.

A folder that was received (a run, a problem, weights) may hold links to anything that the user can read or write. So
whatever lies inside one is opened as the plain file that it must be.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

MOST_BYTES = 1 << 30
MOST_JSON_BYTES = 256 << 20
_MOST_DIGITS = 300  # of a whole number: any of so many is finite as a float
_HUB_SNAPSHOTS = "snapshots"  # where a hub's download keeps links to the files of all revisions


class NotPlain(ValueError):
    """A received path that is a link, a device or otherwise not a plain file; it was neither read nor written."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} is {what}: files that may come from elsewhere are opened only if they are plain files"
        )
        self.path = path


def open_plain(path: Path, flags: int = os.O_RDONLY, mode: int = 0o644) -> int:
    """A descriptor of the plain file at `path`, for the caller to close.

    Raises NotPlain if it is a symbolic link, has a second name (for writing) or is not a regular file; OSError as
    `os.open` does otherwise.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK) and path.is_symlink():
            raise NotPlain(path, "a symbolic link") from None
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise NotPlain(path, "not a regular file")
    if flags & (os.O_WRONLY | os.O_RDWR) and status.st_nlink > 1:
        os.close(descriptor)
        raise NotPlain(path, "a file with a second name elsewhere")
    return descriptor


def read_plain(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a plain file; NotPlain as `open_plain`, ValueError if it is longer than `most_bytes`."""
    with os.fdopen(open_plain(path), "rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ValueError(f"{path} has more than {most_bytes} bytes")
    return data


def read_json(path: Path, most_bytes: int = MOST_JSON_BYTES) -> Any:
    """What the JSON in a plain file says; as `read_plain`, and ValueError if it is not JSON or nested too deeply."""
    data = read_plain(path, most_bytes)
    try:
        return parsed(data)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8") from error
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def parsed(text: str | bytes) -> Any:
    """What JSON says; ValueError if it is none, is nested too deeply or has a number that no float holds."""
    try:
        return json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"it has a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"it has the number {digits[:_MOST_DIGITS]}, which is too large")
    return value


def write_plain(path: Path, data: bytes) -> None:
    """Write a file whole: what was at `path`, a link included, is replaced and never written through."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def inside(folder: Path, name: str) -> Path:
    """The path of what a received folder names as its own; NotPlain if that lies outside of the folder."""
    path = folder / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise NotPlain(path, "outside of its folder")
    return path


def check_folder(folder: Path) -> None:
    """NotPlain if anything below `folder` is a symbolic link that leads out of it, a device, a socket or a pipe.

    The downloads of a hub (`NAME/snapshots/REVISION` with links to `NAME/blobs`) may link within NAME.
    """
    root = folder.resolve()
    home = root.parent.parent if root.parent.name == _HUB_SNAPSHOTS else root
    for parent, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(parent, name)
            if path.is_symlink() and not path.resolve().is_relative_to(home):
                raise NotPlain(path, "a symbolic link out of its folder")
            if not path.is_symlink() and not path.is_dir() and not path.is_file():
                raise NotPlain(path, "not a regular file")
