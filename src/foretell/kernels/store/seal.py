"""Marks that only this user's Foretell can make, so that a run can be told from one that came from elsewhere.

A run's first event and each of its measurements carry a keyed hash. Its key lies in the user's cache folder and leaves
it never. What does not carry a valid mark was received, or was changed: its results stay out of the catalogue, and its
language models are asked only if the user names them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from foretell.kernels.store.locations import cache_dir
from foretell.received import NotPlain, open_plain, read_plain

SECRET_NAME = "secret"
_SECRET_BYTES = 32


def seal(content: Mapping[str, Any]) -> str:
    """The mark of a JSON-like value; empty if no key can be kept here, so that nothing passes for one's own."""
    key = _secret()
    if key is None:
        return ""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def is_sealed(content: Mapping[str, Any], mark: str) -> bool:
    """Whether `mark` is this user's mark of that value."""
    return bool(mark) and hmac.compare_digest(seal(content).encode(), mark.encode())


def _secret() -> bytes | None:
    """The key, made on first use; None where it cannot be written or belongs to someone else."""
    try:
        return _kept(cache_dir() / SECRET_NAME)
    except (OSError, NotPlain):
        return None


@lru_cache(maxsize=4)
def _kept(path: Path) -> bytes | None:
    return _read(path) or _made(path)


def _read(path: Path) -> bytes | None:
    try:
        found = read_plain(path, _SECRET_BYTES)
    except FileNotFoundError:
        return None
    if len(found) != _SECRET_BYTES or path.stat().st_uid != os.getuid() or path.stat().st_mode & 0o077:
        raise NotPlain(path, "not a key that only this user can read")
    return found


def _made(path: Path) -> bytes | None:
    """A new key, written whole before it has its name; of two processes the first one's is used by both."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = open_plain(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
        with suppress(FileExistsError):
            os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return _read(path)
