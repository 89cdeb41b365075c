"""Run a tool (a compiler, a disassembler) bounded in time, memory and output, with a scrubbed environment.

The limit on time is one of CPU time, so that a busy machine does not make an honest source fail; wall time is bounded
too, more generously.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from foretell.kernels.isolation import isolated, scrubbed_environment

OUTPUT_BYTES = 16 << 20
WALL_PER_CPU = 10  # how many times the CPU limit a tool may take by the clock
_MOST_OF_IT = 0.7  # the kernel counts by ticks when it enforces the limit, exactly when it reports


@dataclass(frozen=True)
class Finished:
    """How a tool ended; `stdout` and `stderr` are cut at OUTPUT_BYTES.

    `timed_out`: it used up its CPU time. `starved`: it was stopped before that, for lack of a processor.
    """

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool = False
    starved: bool = False

    @property
    def out_of_room(self) -> bool:
        return self.returncode != 0 and "No space left on device" in self.stderr


def _limits(cpu_s: float, memory_bytes: int, file_bytes: int) -> Callable[[], None]:
    def apply() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(cpu_s), math.ceil(cpu_s)))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return apply


def run_bounded(
    command: Sequence[str], folder: Path, cpu_s: float, memory_bytes: int, file_bytes: int = 256 << 20
) -> Finished:
    """Run to the end or kill the whole process group at the limit; output goes through files, never through a pipe
    that could fill memory."""
    environment = scrubbed_environment() | {"TMPDIR": str(folder)}
    with tempfile.TemporaryFile(dir=folder) as out, tempfile.TemporaryFile(dir=folder) as err:
        process = subprocess.Popen(
            isolated(command, writable=folder),
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            preexec_fn=_limits(cpu_s, memory_bytes, file_bytes),
        )
        starved, used_s = False, 0.0
        try:
            starved, used_s = _wait(process, WALL_PER_CPU * cpu_s)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(OUTPUT_BYTES).decode(errors="replace"))
    timed_out = process.returncode != 0 and used_s >= _MOST_OF_IT * cpu_s
    return Finished(process.returncode, texts[0], texts[1], timed_out, starved and not timed_out)


def _wait(process: subprocess.Popen[bytes], wall_s: float) -> tuple[bool, float]:
    """Wait for the end, at most `wall_s`.

    Returns whether it had to be killed, and the CPU seconds that it and its children used: `wait4` tells them for this
    process tree alone, `Popen.wait` would throw them away.
    """
    killed = threading.Event()

    def kill() -> None:
        killed.set()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(wall_s, kill)
    timer.daemon = True
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return killed.is_set(), usage.ru_utime + usage.ru_stime
