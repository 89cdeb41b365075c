"""Talking with a process that runs foreign code, without ever waiting longer than one wants to.

`Connection.recv_bytes` waits for the rest of a message whose length it has read; a forged length would be for ever.
`Connection.send_bytes` waits until the other side reads, which it need not.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from typing import Any

LONGEST = 64 << 20
_MARK = b"D"


class Forged(Exception):
    """What was sent is no message."""


def receive(connection: Any, timeout_s: float) -> bytes:
    """One message of `Connection.send_bytes`; TimeoutError, EOFError, or Forged where it cannot be one."""
    deadline = time.monotonic() + timeout_s
    (size,) = struct.unpack("!i", _exactly(connection.fileno(), 4, deadline))
    if not 0 <= size <= LONGEST:
        raise Forged(f"a message of {size} bytes was announced")
    return _exactly(connection.fileno(), size, deadline)


def send(connection: Any, content: bytes, timeout_s: float) -> None:
    """One message for `Connection.recv_bytes`; TimeoutError if the other side does not read it, or OSError."""
    left = memoryview(struct.pack("!i", len(content)) + content)
    deadline = time.monotonic() + timeout_s
    waiter = select.poll()
    waiter.register(connection.fileno(), select.POLLOUT)
    with socket.socket(fileno=os.dup(connection.fileno())) as channel:
        while left:
            if not waiter.poll(max(0.0, deadline - time.monotonic()) * 1e3):
                raise TimeoutError
            try:
                left = left[channel.send(left, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                continue  # it has room, but not for the least that is sent at once


def send_descriptor(connection: Any, descriptor: int) -> None:
    """Hand a descriptor to the other end; this process keeps its own."""
    with socket.socket(fileno=os.dup(connection.fileno())) as channel:
        socket.send_fds(channel, [_MARK], [descriptor])


def receive_descriptor(connection: Any, timeout_s: float) -> int:
    """One descriptor of `send_descriptor`; TimeoutError, EOFError, or Forged where something else was sent."""
    waiter = select.poll()
    waiter.register(connection.fileno(), select.POLLIN)
    if not waiter.poll(timeout_s * 1e3):
        raise TimeoutError
    with socket.socket(fileno=os.dup(connection.fileno())) as channel:
        mark, descriptors, _, _ = socket.recv_fds(channel, len(_MARK), 1, socket.MSG_CMSG_CLOEXEC)
    if not mark:
        raise EOFError
    if mark != _MARK or len(descriptors) != 1:
        raise Forged("no descriptor was sent")
    return descriptors[0]


def _exactly(descriptor: int, size: int, deadline: float) -> bytes:
    parts = []
    waiter = select.poll()
    waiter.register(descriptor, select.POLLIN)
    while size:
        if not waiter.poll(max(0.0, deadline - time.monotonic()) * 1e3):
            raise TimeoutError
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
