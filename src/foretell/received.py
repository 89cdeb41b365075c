"""Files that may have come from someone else: read and written without following a symbolic link out of their folder.

A folder that was received (a run, a problem, weights) may hold links to anything that the user can read or write. So
whatever lies inside one is opened as the plain file that it must be.

JSON that is read here has MOST_VALUES values at most and is nested MOST_DEPTH deep at most, its whole numbers fit into
64 bits, its other numbers are finite, and its texts can be written as UTF-8. So no later sum, conversion, recursion or
file fails because of what JSON can say.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 30
MOST_JSON_BYTES = 256 << 20
MOST_WIDE_BYTES = 64 << 20  # of JSON with letters that Python keeps as four bytes each, as it then does all others
MOST_DEPTH = 64
MOST_VALUES = 4_000_000  # about 1 GB as Python objects
MOST_ANSWER_VALUES = 100_000  # of a process that ran foreign code
_DIGITS = 20  # of the longest number in 64 bits, with its sign
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_WIDE = re.compile(rb"[\xf0-\xf4]")  # what such a letter begins with in UTF-8
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPED = re.compile(_SURROGATE.pattern.encode())
_HUB_SNAPSHOTS = "snapshots"  # where a hub's download keeps links to the files of all revisions


class BadFile(ValueError):
    """A received file that is not used, for what it is or holds; the message names it."""


class NotText(BadFile):
    """A text with half a character (a lone surrogate) in it, which no file in UTF-8 can hold."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} holds half a character, which cannot be written as UTF-8")


class TooLarge(BadFile):
    """A received file that is longer than any of its kind; no more of it was read."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        super().__init__(f"{path} has more than {most_bytes} bytes")


class NotPlain(BadFile):
    """A received path that is a link, a device or otherwise not a plain file; it was neither read nor written."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} is {what}: files that may come from elsewhere are opened only if they are plain files"
        )
        self.path = path


class BadJson(BadFile):
    """A text that is not JSON, or holds what no file of ours does; the message names the file where there is one."""

    def __init__(self, what: str, name: object = "") -> None:
        super().__init__(f"{name}: {what}" if name else what)


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
    """The content of a plain file; NotPlain as `open_plain`, TooLarge if it is longer than `most_bytes`."""
    with os.fdopen(open_plain(path), "rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise TooLarge(path, most_bytes)
    return data


def _has_wide_letters(text: str | bytes) -> bool:
    """Whether a text has letters beyond U+FFFF, as they are or escaped."""
    if isinstance(text, str):
        return _SURROGATE.search(text) is not None or (not text.isascii() and _ASTRAL.search(text) is not None)
    return _ESCAPED.search(text) is not None or (not text.isascii() and _WIDE.search(text) is not None)


def parsed(
    text: str | bytes,
    name: object = "",
    *,
    strict: bool = True,
    nan: bool = False,
    halves: bool = False,
    most_values: int = MOST_VALUES,
) -> Any:
    """The value of a JSON text; BadJson, which begins with `name`, if there is none or it is beyond the bounds.

    Without `strict`, control characters may stand in texts. With `nan`, NaN and Infinity are read as nan. With
    `halves`, escapes may name half a character (a surrogate), which UTF-8 has no bytes for.
    """
    try:
        if len(text) > MOST_WIDE_BYTES and _has_wide_letters(text):
            raise BadJson(f"it has letters beyond U+FFFF in more than {MOST_WIDE_BYTES >> 20} MiB")
        plain = text if isinstance(text, str) else str(text, "utf-8")
        if plain is text and not plain.isascii():
            plain.encode("utf-8")
        if values_in(plain) > most_values:
            raise BadJson(f"it has more than {most_values:,} values")
        value = _decoder(strict, nan).decode(plain.removeprefix("\ufeff"))
        if plain.count("[") + plain.count("{") > MOST_DEPTH:
            _check_depth(value)
        if not halves and _SURROGATE.search(plain):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise BadJson("it is nested too deeply", name) from None
    except UnicodeError:
        raise BadJson("it is not text in UTF-8", name) from None
    except BadJson as error:
        raise BadJson(str(error), name) from None
    except ValueError as error:
        raise BadJson(f"it is not JSON: {error}", name) from None
    return value


def check_text(value: Any, what: str) -> None:
    """Raises NotText, which begins with `what`, unless all texts in plain data can be written as UTF-8."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str, skipkeys=True)
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        raise NotText(what) from None


def name_as_text(name: str) -> str:
    """The name of a file as a text that can be written: of one that is not UTF-8, what is not a character is a `?`."""
    return name.encode(errors="replace").decode()


def values_in(text: str | bytes) -> int:
    """No fewer values than a JSON text has: commas and brackets, those within its texts included."""
    if isinstance(text, bytes):
        return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")
    return 1 + text.count(",") + text.count("[") + text.count("{")


def read_json(path: Path, most_bytes: int = MOST_JSON_BYTES) -> Any:
    """What the JSON in a plain file says; BadFile or OSError as `read_plain`, BadJson as `parsed`."""
    return parsed(read_plain(path, most_bytes), path)


def read_json_lines(path: Path, most_bytes: int = MOST_JSON_BYTES) -> Iterator[tuple[int, Any]]:
    """The number and value of each line of a plain file that is not blank; as `read_json`, naming the line."""
    with os.fdopen(open_plain(path), "rb") as file:
        if os.fstat(file.fileno()).st_size > most_bytes:
            raise TooLarge(path, most_bytes)
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, parsed(line, f"{path}, line {number}")


def write_plain(path: Path, data: bytes) -> None:
    """Write a file whole: what was at `path`, a link included, is replaced and never written through."""
    with replacing(path) as partial:
        partial.write_bytes(data)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new, empty file beside `path` to be written, which takes its place, a link's included, once all went well."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        yield partial
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


@cache
def _umask() -> int:
    """What this process takes away from the mode of new files; Linux tells, elsewhere one has to set it."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    except OSError:
        pass
    return 0o022


def inside(folder: Path, name: str) -> Path:
    """The path of what a received folder names as its own; NotPlain if that lies outside of the folder."""
    path = folder / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise NotPlain(path, "outside of its folder")
    return path


def listed(folder: Path, pattern: str) -> list[Path]:
    """The files of a received folder whose names match, sorted; NotPlain if one is a link out of it."""
    return [inside(folder, path.name) for path in sorted(folder.glob(pattern))]


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


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [child for members in inner for child in members if isinstance(child, dict | list)]
        if not level:
            return
    raise BadJson("it is nested too deeply")


def whole(digits: str) -> int:
    """A whole number as JSON writes it; BadJson beyond 64 bits."""
    value = int(digits) if len(digits) <= _DIGITS else _MOST + 1
    if not _LEAST <= value <= _MOST:
        raise BadJson("it holds a whole number beyond 64 bits")
    return value


def real(digits: str) -> float:
    """Any other number as JSON writes it; BadJson if it is not finite."""
    value = float(digits)
    if not math.isfinite(value):
        raise BadJson("it holds a number that is not finite")
    return value


def _nan(name: str) -> float:
    return math.nan


def _no_constant(name: str) -> None:
    raise BadJson(f"it holds {name}, which is no number")


@cache
def _decoder(strict: bool, nan: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_int=whole, parse_float=real, parse_constant=_nan if nan else _no_constant, strict=strict
    )
