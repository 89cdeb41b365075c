"""Run a tool (a compiler, a disassembler) bounded in time, memory and output, with a scrubbed environment."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Finished:
    """How a tool ended; `stdout` and `stderr` are cut at OUTPUT_BYTES."""

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def out_of_room(self) -> bool:
        return self.returncode != 0 and "No space left on device" in self.stderr


def _limits(memory_bytes: int, file_bytes: int) -> Callable[[], None]:
    def apply() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return apply


def run_bounded(
    command: Sequence[str], folder: Path, timeout_s: float, memory_bytes: int, file_bytes: int = 256 << 20
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
            preexec_fn=_limits(memory_bytes, file_bytes),
        )
        timed_out = False
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(OUTPUT_BYTES).decode(errors="replace"))
    return Finished(process.returncode, texts[0], texts[1], timed_out)
