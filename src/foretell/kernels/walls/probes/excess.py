"""Code that takes more than it may, until it is stopped: jobs for the sandbox's server."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from multiprocessing.connection import Connection

_CHUNK_BYTES = 1 << 20


def hoard(_: bytes) -> bytes:
    kept = []
    while True:
        kept.append(b"x" * (16 * _CHUNK_BYTES))


def multiply(_: bytes) -> bytes:
    """One after the other and asleep: the machine must not be slowed down by looking at its walls."""
    for __ in range(2000):
        if os.fork() == 0:
            time.sleep(3600)
        time.sleep(0.002)
    return b"no limit"


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


def run(payload: bytes) -> bytes:
    """Execute the payload as Python; what it calls `answer` is the answer. For tests of the server."""
    names: dict[str, str] = {}
    exec(compile(payload, "payload.py", "exec"), names)
    return names["answer"].encode()


def converse(channel: socket.socket) -> None:
    """Execute a first message as Python, which is given the `connection`. For tests of conversations."""
    connection = Connection(channel.detach())
    exec(compile(connection.recv_bytes(), "message.py", "exec"), {"connection": connection})
