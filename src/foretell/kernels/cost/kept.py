"""Files of the user's cache that are kept by content: written whole or not at all, and named by what they depend on."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

from foretell.kernels.cost.settings import RECORDED


def keep(path: Path, data: bytes) -> None:
    """Write a file that is not too large to be kept; readers never see a part of it."""
    if len(data) > RECORDED.kept_bytes:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(partial).replace(path)


def read_kept(path: Path) -> bytes | None:
    """The content of a file that was kept; None if there is none."""
    return path.read_bytes() if path.is_file() else None


def sources_hash(root: Path, names: Iterable[str], ignored: Collection[str] = ("__pycache__",)) -> str:
    """Hash of modules and folders below a root, and of what they are called; `ignored` are names of folders."""
    digest = hashlib.sha256()
    for name in names:
        place = root / name
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            part = file.relative_to(root)
            if file.is_file() and not set(ignored).intersection(part.parts):
                digest.update(f"{part.as_posix()}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()
