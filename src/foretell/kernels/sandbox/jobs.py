"""Jobs of the sandbox's server as their users see them: one that answers once, and one that is talked with."""

from __future__ import annotations

import json
import select
import signal
import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection
from typing import Any

from foretell.kernels.limits import Limits
from foretell.kernels.sandbox.cgroup import Groups
from foretell.kernels.walls.serve import ANSWER, RAISED, SIZE, TEXT_BYTES

STATUS_TIMEOUT_S = 10.0
DEATH_S = 2.0  # from closing its descriptors to its end a process takes milliseconds
_HEAD_BYTES = 4 << 20
KEEP_BYTES = 64 << 20  # of the files that come back from a job; what honest builds leave takes a few megabytes


class Ending(StrEnum):
    """Why a job has no answer. Exhaustive."""

    RAISED = "raised"  # its function raised; the message is its words
    TIMED_OUT = "timed_out"
    MEMORY = "memory"
    PROCESSES = "processes"
    ROOM = "room"  # its files took more room than they may
    DIED = "died"  # of a signal, or it left without an answer
    FORGED = "forged"  # what it sent is not an answer
    CANCELLED = "cancelled"
    NO_SERVER = "no_server"  # the sandbox itself failed


class JobFailed(Exception):
    """A job without an answer: how it ended and in which words."""

    def __init__(self, ending: Ending, message: str) -> None:
        super().__init__(message)
        self.ending = ending


@dataclass(frozen=True)
class Result:
    """A job's answer, and the files it left in the folders that were asked for, by name relative to its cache."""

    answer: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    cpu_s: float = 0.0


class Job:
    """A job under way. `result` waits for it, once; `cancel` ends it from another thread."""

    def __init__(
        self, data: socket.socket, status: socket.socket, payload: bytes, limits: Limits, groups: Groups
    ) -> None:
        self._data, self._status, self._payload, self._limits, self._groups = data, status, payload, limits, groups
        self._deadline = time.monotonic() + limits.wall_s
        self._cancelled = False

    def cancel(self) -> None:
        """End the job; `result` then raises JobFailed."""
        self._cancelled = True
        for channel in (self._status, self._data):
            with suppress(OSError):
                channel.shutdown(socket.SHUT_RDWR)

    def result(self) -> Result:
        """The answer and the files asked for. Raises JobFailed; whatever the job started is gone by then."""
        try:
            kind, answer = self._exchange()
            status, files = _report(self._status, KEEP_BYTES, STATUS_TIMEOUT_S)
        except TimeoutError as late:
            raise JobFailed(Ending.TIMED_OUT, f"did not finish within {self._limits.wall_s:g} s") from late
        finally:
            self._data.close()
            self._status.close()
            out_of_memory = self._groups.ran_out_of_memory()
            self._groups.remove()
        if self._cancelled:
            raise JobFailed(Ending.CANCELLED, "cancelled")
        if kind is None or status.get("reason") or out_of_memory:  # the kernel may have ended only a child of it
            raise JobFailed(*_why(status, out_of_memory))
        if kind == RAISED:
            raise JobFailed(Ending.RAISED, answer.decode(errors="replace"))
        return Result(answer, files, float(status.get("cpu_s", 0.0)))

    def _exchange(self) -> tuple[bytes | None, bytes]:
        """What the worker sent: its kind and content; None where it ended without a word."""
        try:
            self._data.settimeout(max(0.01, self._deadline - time.monotonic()))
            self._data.sendall(SIZE.pack(ANSWER, len(self._payload)) + self._payload)
            kind, size = SIZE.unpack(_exactly(self._data, SIZE.size, self._deadline))
            if size > {ANSWER: self._limits.answer_bytes, RAISED: TEXT_BYTES}.get(kind, -1):
                raise JobFailed(Ending.FORGED, f"{size} bytes were announced that no job says")
            return kind, _exactly(self._data, size, self._deadline)
        except TimeoutError:
            raise
        except (EOFError, OSError):
            return None, b""


class Conversation:
    """A job that is talked with over `connection` until it ends or is hung up on; then all that it started is ended.

    Foreign code may run in it: what it says is read as one reads a stranger's file, and never as a pickle.
    """

    def __init__(self, data: socket.socket, status: socket.socket, groups: Groups) -> None:
        self.connection = Connection(data.detach())
        self._status, self._groups = status, groups
        self._ending: tuple[Ending, str] | None = None
        self._hung_up = False

    @property
    def alive(self) -> bool:
        """Whether it can still be talked with."""
        return not self._hung_up and not self.ended

    @property
    def ended(self) -> bool:
        """Whether it is gone with all that it started."""
        return self._ending is not None or bool(select.select([self._status], [], [], 0)[0])

    def hang_up(self) -> None:
        """Have it ended, without waiting for that."""
        if not self._hung_up:
            self._hung_up = True
            self.connection.close()
            with suppress(OSError):
                self._status.shutdown(socket.SHUT_WR)

    def ending(self, by_itself: bool = False) -> tuple[Ending, str]:
        """Hang up and say how it ended, once it has.

        If it ends `by_itself`, as one whose connection is closed does, it is given the time to.
        """
        if by_itself and not self._hung_up and self._ending is None:
            select.select([self._status], [], [], DEATH_S)
        self.hang_up()
        if self._ending is None:
            status = _report(self._status, 0, STATUS_TIMEOUT_S)[0]
            self._ending = _why(status, self._groups.ran_out_of_memory())
            self._status.close()
            self._groups.remove()
        return self._ending


def _report(channel: socket.socket, most_bytes: int, timeout_s: float) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What a supervisor says of its job's end, and the files that it found; nothing if it says nothing."""
    deadline = time.monotonic() + timeout_s
    try:
        kind, size = SIZE.unpack(_exactly(channel, SIZE.size, deadline))
        head = json.loads(_exactly(channel, min(size, _HEAD_BYTES), deadline)) if kind == ANSWER else {}
        files: dict[str, bytes] = {}
        left = most_bytes
        for name, length in head.get("files", ()):
            left -= length
            if left < 0:
                break
            files[str(name)] = _exactly(channel, int(length), deadline)
        return dict(head), files
    except (EOFError, OSError, ValueError, TypeError, struct.error):
        return {}, {}


def _why(status: Mapping[str, Any], out_of_memory: bool = False) -> tuple[Ending, str]:
    reason, code = status.get("reason") or ("memory" if out_of_memory else ""), status.get("status")
    match reason:
        case "memory":
            return Ending.MEMORY, "took more memory than it may"
        case "processes":
            return Ending.PROCESSES, "started more processes than it may"
        case "room":
            return Ending.ROOM, "wrote more files than it may"
        case "abandoned":
            return Ending.CANCELLED, "cancelled"
    if not isinstance(code, int):
        return Ending.NO_SERVER, "the job could not be started in the sandbox"
    if code < 0:
        names = {int(each): each.name for each in signal.Signals}
        return Ending.DIED, f"died of {names.get(-code, f'signal {-code}')}"
    return Ending.DIED, f"left with exit code {code} instead of returning"


def _exactly(channel: socket.socket, size: int, deadline: float) -> bytes:
    parts = []
    while size:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        channel.settimeout(left)
        part = channel.recv(min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
