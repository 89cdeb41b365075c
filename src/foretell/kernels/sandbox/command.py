"""Commands in the sandbox: compilers and other tools, bounded in time, memory, output and reach.

The limit on time is one of CPU time, so that a busy machine does not make an honest source fail; wall time is bounded
too, more generously.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from foretell.kernels.limits import COMPILER_LIMITS, Limits
from foretell.kernels.sandbox import cgroup
from foretell.kernels.sandbox.allowed import python_paths, system_paths
from foretell.kernels.sandbox.kinds import Kind, required
from foretell.kernels.sandbox.specification import Specification, command_line, scrubbed_environment

OUTPUT_BYTES = 16 << 20
END_TIMEOUT_S = 10.0
FAILED = 125
_REPORT_BYTES = 1 << 16
_DRIVERS_WORDS, _NO_ROOM = "CPU time limit exceeded", "No space left on device"
_NEARLY = 0.9


@dataclass(frozen=True)
class Finished:
    """How a tool ended; `stdout` and `stderr` are cut at OUTPUT_BYTES.

    `timed_out`: it used up its CPU time. `starved`: it was stopped before that, for lack of a processor. `broken`: the
    sandbox itself failed, in words; nothing was run. `cut`: `stdout` is not all that it printed. `out_of_room`: it
    failed for want of room on the disk.
    """

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool = False
    starved: bool = False
    broken: str = ""
    cut: bool = False
    out_of_room: bool = False


def run(
    command: Sequence[str],
    *,
    readable: Sequence[Path] = (),
    writable: Path | None = None,
    limits: Limits = COMPILER_LIMITS,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Run a command to its end or to a limit, with everything it started.

    Args:
        command: A tool of the system or of the allow-list, with its arguments.
        readable: Files and folders that it may read beside those of the allow-list.
        writable: The one folder that it may change; also its working and temporary folder.
        limits: What it may use.
        environment: Variables beside the few that find tools; nothing of this process's is passed on.

    Returns:
        How it ended. Raises NoSandbox if there is no sandbox and the user did not say that none is needed.
    """
    return run_in(required(), command, readable=readable, writable=writable, limits=limits, environment=environment)


def run_in(
    kind: Kind | None,
    command: Sequence[str],
    *,
    readable: Sequence[Path] = (),
    writable: Path | None = None,
    limits: Limits = COMPILER_LIMITS,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """As `run`, in a sandbox of that kind; with None, in none."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = start(command, readable, writable, limits, environment, kind=kind, stdout=out, stderr=err)
        with started as process:
            starved = False
            try:
                process.wait(limits.wall_s)
            except subprocess.TimeoutExpired:
                starved = True
        report = process.report
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(OUTPUT_BYTES).decode(errors="replace"))
        cut = out.seek(0, os.SEEK_END) > OUTPUT_BYTES
    status = int(report.get("status", process.returncode))
    if report.get("reason"):
        texts[1] += f"\nstopped: it took more {report['reason']} than it may"
    # A compiler's driver, a shell or bubblewrap reports the signal that ended its child in a way of its own.
    # Its words may be the source's own, so what they say has to be so.
    used_up = report.get("cpu_s", 0.0) >= _NEARLY * limits.cpu_s
    told_by_driver = status != 0 and _DRIVERS_WORDS in texts[1] and used_up
    timed_out = status in (-signal.SIGXCPU, 128 + signal.SIGXCPU) or told_by_driver
    no_room = status != 0 and _NO_ROOM in texts[1] and _is_full(writable, limits)
    return Finished(status, texts[0], texts[1], timed_out, starved, str(report.get("failed", "")), cut, no_room)


def _is_full(folder: Path | None, limits: Limits) -> bool:
    """Whether there is less room in a folder than a command may want."""
    try:
        found = os.statvfs(folder or "/")
    except OSError:
        return True
    return found.f_bavail * found.f_frsize < limits.file_bytes or (found.f_files > 0 and found.f_favail == 0)


class Process:
    """A sandbox that runs a command: waited for, or ended with all that it started by `end`."""

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket) -> None:
        self._process, self._channel = process, channel
        self.report: dict[str, Any] = {}

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int:
        code = self._process.returncode
        return -signal.SIGKILL if code is None else code

    def wait(self, timeout_s: float) -> int:
        """Exit status; subprocess.TimeoutExpired if it does not end in time."""
        if self._process.poll() is None and hasattr(os, "pidfd_open"):  # subprocess itself would look now and then
            handle = os.pidfd_open(self._process.pid)
            waiter = select.poll()
            waiter.register(handle, select.POLLIN)
            waiter.poll(timeout_s * 1e3)
            os.close(handle)
            timeout_s = 0.0
        return self._process.wait(timeout_s)

    def end(self) -> None:
        """Read its report if it has ended; otherwise let its supervisor end it, and make sure."""
        if self._process.poll() is not None:
            with suppress(OSError, ValueError, EOFError, TypeError):
                self._channel.settimeout(0.0)
                self.report = dict(marshal.loads(self._channel.recv(_REPORT_BYTES)))  # of the launcher, trusted code
        self._channel.close()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.wait()


@contextmanager
def start(
    command: Sequence[str],
    readable: Sequence[Path] = (),
    writable: Path | None = None,
    limits: Limits = COMPILER_LIMITS,
    environment: Mapping[str, str] | None = None,
    *,
    kind: Kind | None,
    stdout: IO[bytes] | int = subprocess.DEVNULL,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
) -> Iterator[Process]:
    """A command that runs in a sandbox of that kind until the block is left; with None, in none. As `run` otherwise."""
    ours, theirs = socket.socketpair()
    folder = os.path.realpath(writable) if writable is not None else "/"
    own = {"TMPDIR": folder} if writable is not None else {}
    memory_bytes = limits.memory_bytes + limits.scratch_bytes
    groups = cgroup.make(limits.processes, memory_bytes) if kind is not None else []
    allowed = (*system_paths(), *python_paths()) if kind is not None else ()  # within a sandbox they cannot be listed
    specification = Specification(
        limits=limits,
        readable=(*allowed, *(os.path.realpath(path) for path in readable)),
        writable=(folder,) if writable is not None else (),
        environment={**scrubbed_environment(), **own, **(environment or {})},
        command=tuple(command),
        directory=folder,
        report=theirs.fileno(),
        cgroups=tuple(map(str, groups)),
        dies_with_parent=True,
    )
    line, descriptor = command_line(specification, kind)
    try:
        process = subprocess.Popen(
            line,
            cwd="/",
            env=scrubbed_environment(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(descriptor, theirs.fileno()),
            start_new_session=True,
        )
    finally:
        os.close(descriptor)
        theirs.close()
    running = Process(process, ours)
    try:
        yield running
    finally:
        running.end()
        cgroup.remove(groups)
