"""Code that takes more than it may, until it is stopped: jobs for the sandbox's server."""

from __future__ import annotations

import os
import tempfile
import time

_CHUNK_BYTES = 1 << 20


def hoard(_: bytes) -> bytes:
    kept = []
    while True:
        kept.append(b"x" * (16 * _CHUNK_BYTES))


def multiply(_: bytes) -> bytes:
    while True:
        if os.fork() == 0:
            os.nice(1)


def spin(_: bytes) -> bytes:
    while True:
        pass


def sleep(_: bytes) -> bytes:
    time.sleep(3600)
    return b""


def talk(_: bytes) -> bytes:
    return bytes(64 * _CHUNK_BYTES)


def write(_: bytes) -> bytes:
    with tempfile.TemporaryFile() as file:
        while True:
            file.write(bytes(_CHUNK_BYTES))
