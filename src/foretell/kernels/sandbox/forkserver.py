"""Python work in the sandbox: a server that has imported what the work needs, and one confined fork of it per job.

    server = ForkServer(("foretell.kernels.bench.gpu.preload",))
    answer = server.call("package.module:function", payload, limits)

Payload and answer are bytes. The answer comes from a process in which foreign code may have run, so it may say
anything: read it as one reads a file from a stranger.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from foretell.kernels.profiles import BUILDER_LIMITS, Limits
from foretell.kernels.sandbox import cgroup
from foretell.kernels.sandbox.allowed import gpu_devices, gpu_files, import_path, python_paths, system_paths
from foretell.kernels.sandbox.kinds import Kind, required
from foretell.kernels.sandbox.specification import (
    Specification,
    command_line,
    gpu_environment,
    scrubbed_environment,
)
from foretell.kernels.walls.serve import ANSWER, MESSAGE_BYTES, SIZE

START_TIMEOUT_S = 300.0  # on a machine that is not busy it takes a tenth
STATUS_TIMEOUT_S = 10.0
_SERVER_LIMITS = Limits()
_MOST_PROCESSES = 2048  # of all its jobs together, threads counted: a last resort
_HEAD_BYTES = 4 << 20


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


class ForkServer:
    """A fork server inside the sandbox, started when first needed and again if it is gone.

    Args:
        preload: Modules that it imports before its first job.
        readable: Folders that the server, not its jobs, may read: what jobs are `seed`ed with.
        kind: The kind of sandbox; by default the best there is.
        gpu: Whether its jobs may use the GPUs that this process may; give them GPU_LIMITS.

    Safe to use from several threads: each job is a process of its own. Raises NoSandbox where there is no sandbox and
    the user did not say that none is needed.
    """

    def __init__(
        self, preload: Sequence[str], readable: Sequence[Path] = (), kind: Kind | None = None, gpu: bool = False
    ) -> None:
        self._preload, self._readable = tuple(preload), tuple(readable)
        self._kind = kind or required(server=True, gpu=gpu)
        self._gpu = gpu
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._ready = False
        self._owner = os.getpid()
        self._groups: list[Path] = []

    def start(self) -> None:
        """Start the server and return at once: it imports while the caller goes on."""
        with self._lock:
            self._started()

    def call(self, function: str, payload: bytes, limits: Limits = BUILDER_LIMITS) -> bytes:
        """What `module:function` returns for the payload, in a process of its own. Raises JobFailed."""
        return self.submit(function, payload, limits).result().answer

    def submit(
        self,
        function: str,
        payload: bytes,
        limits: Limits = BUILDER_LIMITS,
        keep: Sequence[str] = (),
        seed: Path | None = None,
    ) -> Job:
        """A job that has been started.

        Args:
            function: As `module:function`, from bytes to bytes.
            payload: Its argument.
            limits: What it may use.
            keep: Folders below its cache folder whose files come back with the result.
            seed: A folder that its cache folder starts as a copy of.
        """
        told = {"function": function, "limits": asdict(limits), "keep": list(keep), "seed": str(seed or "")}
        message = json.dumps(told).encode()
        data, their_data = socket.socketpair()
        status, their_status = socket.socketpair()
        try:
            with self._lock:
                control = self._started()
                self._wait_until_ready(control)
                socket.send_fds(control, [message], [their_data.fileno(), their_status.fileno()])
        except OSError as error:
            data.close()
            status.close()
            raise JobFailed(Ending.NO_SERVER, f"the sandbox's server is gone: {error.strerror}") from error
        finally:
            their_data.close()
            their_status.close()
        return Job(data, status, payload, limits)

    def close(self) -> None:
        """End the server and every job of it."""
        with self._lock:
            self._stop()

    def _started(self) -> socket.socket:
        if self._process is not None and (self._process.poll() is not None or self._owner != os.getpid()):
            self._stop()
        if self._control is None:
            self._launch()
        assert self._control is not None
        return self._control

    def _launch(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._scratch = tempfile.TemporaryDirectory(prefix="foretell-sandbox-", ignore_cleanup_errors=True)
        own_files = self._kind in (Kind.BUBBLEWRAP, Kind.NAMESPACES)
        from foretell.kernels.store.locations import trusted_dir

        trusted = os.path.realpath(trusted_dir())
        self._groups = cgroup.make(_MOST_PROCESSES) if self._kind is not None else []
        base = scrubbed_environment() | (gpu_environment() if self._gpu else {})
        specification = Specification(
            limits=_SERVER_LIMITS,
            readable=(*system_paths(), *python_paths(), trusted, *(gpu_files() if self._gpu else ())),
            gpus=gpu_devices() if self._gpu else (),
            supervised=tuple(os.path.realpath(path) for path in self._readable),
            environment=base | {"FORETELL_TRUSTED": trusted},
            control=theirs.fileno(),
            cgroups=tuple(map(str, self._groups)),
            server={
                "preload": self._preload,
                "path": import_path(),
                "scratch": "/tmp" if own_files else os.path.realpath(self._scratch.name),
            },
        )
        line, descriptor = command_line(specification, self._kind)
        try:
            self._process = subprocess.Popen(
                line,
                cwd="/",
                env=base,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(descriptor, theirs.fileno()),
                start_new_session=True,
            )
        finally:
            os.close(descriptor)
            theirs.close()
        self._control, self._ready, self._owner = ours, False, os.getpid()

    def _wait_until_ready(self, control: socket.socket) -> None:
        if self._ready:
            return
        control.settimeout(START_TIMEOUT_S)
        try:
            told: dict[str, Any] = json.loads(control.recv(MESSAGE_BYTES) or b"{}")
        except (OSError, ValueError) as error:
            self._stop()
            raise JobFailed(Ending.NO_SERVER, f"the sandbox's server did not start: {error}") from error
        control.settimeout(None)
        if not told.get("ready"):
            self._stop()
            raise JobFailed(Ending.NO_SERVER, f"the sandbox's server did not start: {told.get('failed', 'no reason')}")
        self._ready = True

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None and self._owner == os.getpid():
            try:
                self._process.wait(STATUS_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        if self._scratch is not None and self._owner == os.getpid():
            self._scratch.cleanup()
            cgroup.remove(self._groups)
        self._process = self._control = self._scratch = None
        self._ready = False


class Job:
    """A job under way. `result` waits for it, once; `cancel` ends it from another thread."""

    def __init__(self, data: socket.socket, status: socket.socket, payload: bytes, limits: Limits) -> None:
        self._data, self._status, self._payload, self._limits = data, status, payload, limits
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
            status, files = self._ended()
        except TimeoutError as late:
            raise JobFailed(Ending.TIMED_OUT, f"did not finish within {self._limits.wall_s:g} s") from late
        finally:
            self._data.close()
            self._status.close()
        if self._cancelled:
            raise JobFailed(Ending.CANCELLED, "cancelled")
        if kind is None or status.get("reason"):
            raise JobFailed(*_why(status))
        if kind != ANSWER:
            raise JobFailed(Ending.RAISED, answer.decode(errors="replace"))
        return Result(answer, files, float(status.get("cpu_s", 0.0)))

    def _exchange(self) -> tuple[bytes | None, bytes]:
        """What the worker sent: its kind and content; None where it ended without a word."""
        try:
            self._data.settimeout(max(0.01, self._deadline - time.monotonic()))
            self._data.sendall(SIZE.pack(ANSWER, len(self._payload)) + self._payload)
            kind, size = SIZE.unpack(_exactly(self._data, SIZE.size, self._deadline))
            if size > self._limits.answer_bytes:
                raise JobFailed(Ending.FORGED, f"an answer of {size} bytes was announced")
            return kind, _exactly(self._data, size, self._deadline)
        except TimeoutError:
            raise
        except (EOFError, OSError):
            return None, b""

    def _ended(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What the supervisor says of the job's end, and the files that it found."""
        deadline = time.monotonic() + STATUS_TIMEOUT_S
        try:
            kind, size = SIZE.unpack(_exactly(self._status, SIZE.size, deadline))
            head = json.loads(_exactly(self._status, min(size, _HEAD_BYTES), deadline)) if kind == ANSWER else {}
            files: dict[str, bytes] = {}
            left = self._limits.scratch_bytes
            for name, length in head.get("files", ()):
                left -= length
                if left < 0:
                    break
                files[str(name)] = _exactly(self._status, int(length), deadline)
            return dict(head), files
        except (EOFError, OSError, ValueError, TypeError, struct.error):
            return {}, {}


def _why(status: Mapping[str, Any]) -> tuple[Ending, str]:
    reason, code = status.get("reason"), status.get("status")
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
