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
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from foretell.kernels.limits import BUILDER_LIMITS, Limits
from foretell.kernels.sandbox import cgroup
from foretell.kernels.sandbox.allowed import gpu_devices, gpu_files, import_path, python_paths, system_paths
from foretell.kernels.sandbox.jobs import KEEP_BYTES, STATUS_TIMEOUT_S, Conversation, Ending, Job, JobFailed
from foretell.kernels.sandbox.kinds import Kind, required
from foretell.kernels.sandbox.specification import (
    Specification,
    command_line,
    gpu_environment,
    scrubbed_environment,
)
from foretell.kernels.walls.room import remove
from foretell.kernels.walls.serve import MESSAGE_BYTES

START_TIMEOUT_S = 300.0  # on a machine that is not busy it takes a tenth
_END_TIMEOUT_S = 1.0  # which one that still imports takes at the exit of its user's process
_SERVER_LIMITS = Limits()
_MOST_THREADS = 1024  # of one job, or of the server itself: a last resort


class ForkServer:
    """A fork server inside the sandbox, started when first needed and again if it is gone.

    Args:
        preload: Modules that it imports before its first job.
        readable: Folders that the server, not its jobs, may read: what jobs are `seed`ed with.
        data: Files that its jobs may read beside those that all may.
        kind: The kind of sandbox; by default the best there is.
        gpu: Whether its jobs may use the GPUs that this process may; give them GPU_LIMITS.

    Safe to use from several threads: each job is a process of its own. Raises NoSandbox where there is no sandbox and
    the user did not say that none is needed.
    """

    def __init__(
        self,
        preload: Sequence[str],
        readable: Sequence[Path] = (),
        kind: Kind | None = None,
        gpu: bool = False,
        data: Sequence[Path] = (),
    ) -> None:
        self._preload, self._readable, self._data = tuple(preload), tuple(readable), tuple(data)
        self._kind = kind or required(server=True, gpu=gpu)
        self._gpu = gpu
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False
        self._owner = os.getpid()

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
        data, status, groups = self._begin(told, limits)
        return Job(data, status, payload, limits, groups)

    def converse(self, function: str, limits: Limits) -> Conversation:
        """A job that has been started and is talked with: `module:function` gets the other end of its connection.

        Of its limits, `wall_s` is the caller's business.
        """
        told = {"function": function, "limits": asdict(limits), "keep": [], "seed": "", "conversation": True}
        return Conversation(*self._begin(told, limits))

    def _begin(self, told: Mapping[str, Any], limits: Limits) -> tuple[socket.socket, socket.socket, cgroup.Groups]:
        """Start a job: a socket to its process, one to its supervisor, and its control groups. Raises JobFailed."""
        message = json.dumps({**told, "keep_bytes": KEEP_BYTES if told["keep"] else 0}).encode()
        groups = cgroup.Groups(_MOST_THREADS, limits.memory_bytes + limits.scratch_bytes, self._kind is not None)
        data, their_data = socket.socketpair()
        status, their_status = socket.socketpair()
        try:
            with self._lock:
                control = self._started()
                self._wait_until_ready(control)
                with groups.doors() as doors:
                    socket.send_fds(control, [message], [their_data.fileno(), their_status.fileno(), *doors])
        except (OSError, JobFailed) as error:
            data.close()
            status.close()
            groups.remove()
            if isinstance(error, JobFailed):
                raise
            raise JobFailed(Ending.NO_SERVER, f"the sandbox's server is gone: {error.strerror}") from error
        finally:
            their_data.close()
            their_status.close()
        return data, status, groups

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
        self._scratch = scratch = tempfile.mkdtemp(prefix="foretell-sandbox-")
        own_files = self._kind in (Kind.BUBBLEWRAP, Kind.NAMESPACES)
        from foretell.kernels.store.locations import trusted_dir

        trusted = os.path.realpath(trusted_dir())
        groups = cgroup.make(_MOST_THREADS) if self._kind is not None else []
        files = (os.path.realpath(path) for path in self._data)
        base = scrubbed_environment() | (gpu_environment() if self._gpu else {})
        specification = Specification(
            limits=_SERVER_LIMITS,
            readable=(*system_paths(), *python_paths(), trusted, *files, *(gpu_files() if self._gpu else ())),
            gpus=gpu_devices() if self._gpu else (),
            supervised=tuple(os.path.realpath(path) for path in self._readable),
            environment=base | {"FORETELL_TRUSTED": trusted},
            control=theirs.fileno(),
            cgroups=tuple(map(str, groups)),
            server={
                "preload": self._preload,
                "path": import_path(),
                "scratch": "/tmp" if own_files else os.path.realpath(scratch),
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
        except BaseException:
            ours.close()
            remove(scratch)
            cgroup.remove(groups)
            raise
        finally:
            os.close(descriptor)
            theirs.close()
        self._control, self._ready, self._owner = ours, False, os.getpid()
        self._finalizer = weakref.finalize(self, _end, ours, self._process, scratch, groups, self._owner)

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
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STATUS_TIMEOUT_S)
            self._finalizer()
        self._process = self._control = None
        self._ready = False


def _end(
    control: socket.socket, process: subprocess.Popen[bytes], scratch: str, groups: Sequence[Path], owner: int
) -> None:
    """End a server and remove its folder and its groups, in the process that made them alone."""
    control.close()
    if os.getpid() != owner:
        return
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    remove(scratch)
    cgroup.remove(groups)
