"""Run a tool (a compiler, a disassembler) bounded in time, memory and output, with a scrubbed environment.

The limit on time is one of CPU time, so that a busy machine does not make an honest source fail; wall time is bounded
too, more generously.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from foretell.kernels.isolation import isolated, scrubbed_environment

OUTPUT_BYTES = 16 << 20
WALL_PER_CPU = 10  # how many times the CPU limit a tool may take by the clock
_DRIVERS_WORDS = "CPU time limit exceeded"


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
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(cpu_s), math.ceil(cpu_s) + 1))
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
        starved = False
        try:
            process.wait(WALL_PER_CPU * cpu_s)
        except subprocess.TimeoutExpired:
            starved = True
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(OUTPUT_BYTES).decode(errors="replace"))
    # A compiler's driver, a shell or bubblewrap reports the signal that ended its child in a way of its own.
    told_by_driver = process.returncode != 0 and _DRIVERS_WORDS in texts[1]
    timed_out = process.returncode in (-signal.SIGXCPU, 128 + signal.SIGXCPU) or told_by_driver
    return Finished(process.returncode, texts[0], texts[1], timed_out, starved)
