"""Reading what a process that runs foreign code sends, without ever waiting longer than one wants to.

`Connection.recv_bytes` waits for the rest of a message whose length it has read; a forged length would be for ever.
"""

from __future__ import annotations

import os
import select
import struct
import time
from typing import Any

LONGEST = 64 << 20
_MOST_DESCRIPTORS = (1 << 31) - 1


class Forged(Exception):
    """What was sent is no message."""


def close_all_but(kept: int) -> None:
    """Close every descriptor but the standard ones and `kept`: a forked process must not hold its server's channels."""
    os.closerange(3, kept)
    os.closerange(kept + 1, _MOST_DESCRIPTORS)


def receive(connection: Any, timeout_s: float) -> bytes:
    """One message of `Connection.send_bytes`; TimeoutError, EOFError, or Forged where it cannot be one."""
    deadline = time.monotonic() + timeout_s
    (size,) = struct.unpack("!i", _exactly(connection.fileno(), 4, deadline))
    if not 0 <= size <= LONGEST:
        raise Forged(f"a message of {size} bytes was announced")
    return _exactly(connection.fileno(), size, deadline)


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
