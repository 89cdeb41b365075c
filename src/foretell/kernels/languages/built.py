"""What building a candidate left for later: kept under the content of all code that had a part in it, written by us.

A builder runs foreign code, so what it leaves may be forged. It is therefore kept in a folder that is named by the
candidate's text and, if the task brings code of its own, by the task: one that leaves lies deceives itself alone.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from foretell.kernels.sandbox.jobs import KEEP_BYTES
from foretell.kernels.store.locations import cache_dir
from foretell.received import parsed

FOLDER = "built"
KEPT = ("triton", "cuda", "extensions")  # folders below a builder's cache
MOST_BYTES = KEEP_BYTES
_KEY_CHARACTERS = 40
_GROUP = "__grp__"
_MOST_GROUP_BYTES = 1 << 14  # Triton keeps about ten files of a kernel
_MOST_DEPTH = 32  # of folders


def problem_of(spec: Mapping[str, Any]) -> str:
    """A name for the foreign code of a task with that `spec`; empty for a task of the library, which has none."""
    if spec["kind"] == "library":
        return ""
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()


def built_dir(source: str, base: Path | None = None, problem: str = "") -> Path:
    """The folder of a candidate's text below a cache folder, by default the user's; it need not exist.

    `problem` is what `problem_of` says of the task that it was built for.
    """
    key = hashlib.sha256(json.dumps([problem, source]).encode()).hexdigest()[:_KEY_CHARACTERS]
    return (base or cache_dir()) / FOLDER / key[:2] / key


def use(source: str | None, base: Path) -> None:
    """Have this process's caches be the candidate's own from now on, or with None those in `base` again."""
    folder = base if source is None else built_dir(source, base)
    os.environ.update(FORETELL_CACHE=str(folder), TRITON_CACHE_DIR=str(folder / "triton"))


def keep(source: str, files: Mapping[str, bytes], problem: str = "") -> None:
    """Put files, by their names relative to a builder's cache, into the candidate's folder; whole, or not at all.

    Names that lead out of it or far down, or cannot be printed, are left out; so is everything if one of them is longer
    than a path may be, or all of it is more than MOST_BYTES.
    """
    if sum(map(len, files.values())) > MOST_BYTES:
        return
    target = built_dir(source, problem=problem)
    partial = target.with_name(f"{target.name}.{os.getpid()}.{id(files)}")
    try:
        for name, content in files.items():
            _put(name, content, partial, target)
        if partial.exists():
            shutil.rmtree(target, ignore_errors=True)
            with suppress(OSError):  # another process was first, with the same content
                partial.replace(target)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _put(name: str, content: bytes, partial: Path, target: Path) -> None:
    """Write one file into a folder that will become `target`."""
    parts = PurePosixPath(name).parts
    if not parts or parts[0] not in KEPT or ".." in parts or not name.isprintable() or len(parts) > _MOST_DEPTH:
        return
    path = partial.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_moved(content, target.joinpath(*parts).parent) if path.name.startswith(_GROUP) else content)


def files_of(source: str, problem: str = "") -> dict[str, bytes]:
    """What is kept of a candidate, as `keep` takes it; nothing if that is more than MOST_BYTES."""
    folder = built_dir(source, problem=problem)
    files, left = {}, MOST_BYTES
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.is_file() and not path.is_symlink():
            left -= path.stat().st_size
            if left < 0:
                return {}
            files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


def settle(folder: Path) -> None:
    """Make a copy of a candidate's folder usable where it is: Triton's lists name files by whole paths."""
    for path in (folder / "triton").rglob(f"{_GROUP}*"):
        path.write_bytes(_moved(path.read_bytes(), path.parent))


def _moved(content: bytes, folder: Path) -> bytes:
    """Triton's list of the files of one kernel, which names them by whole paths, as it is in another folder.

    A longer list than Triton writes is left as it is.
    """
    if len(content) > _MOST_GROUP_BYTES:
        return content
    try:
        paths: dict[str, Any] = parsed(content)["child_paths"]
        return json.dumps({"child_paths": {name: str(folder / Path(name).name) for name in paths}}).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return content
