"""One candidate in its own process: started, told what to do line by line, paused, and killed with all it started."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from foretell.kernels.bench import accounts
from foretell.kernels.bench.arena import Arena, Slot, name_fault
from foretell.kernels.contention import Watch, usable_cores
from foretell.kernels.languages.cpp import find_compiler
from foretell.kernels.measurement import Status
from foretell.kernels.sandbox import bubblewrapped, scrubbed_environment
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.task import Sizes

START_TIMEOUT_S = 10.0
BUSY_SHARE = 0.1  # of the processors' time used by others, from which on the machine counts as contended
STARVED_PATIENCE = 30  # a worker that others keep from the processors may take this many times its limit
WAIT_SHARE = 0.02  # of a run's time, spent waiting for a core, from which on the run counts as held up
_LOOK_S = 0.25
# What a shared object names if it uses the runner's threads, starts its own or finds such a function at run time.
_THREADING = re.compile(
    rb"\0(GOMP_|omp_|pthread_|thrd_|_ZNSt6thread|(clone|clone3|fork|vfork|syscall|dlsym|dlvsym|dlopen)\0)"
)
ADDRESS_BYTES = 1 << 30
ADDRESS_BYTES_PER_CORE = 160 << 20  # stacks and allocator arenas that each thread reserves

# A thread to each core: woken threads that share one for a while would be timed as waiting for each other.
# Those that wait spin, so that the next parallel region finds them; between runs the whole process is stopped.
_THREADS = {"OMP_PROC_BIND": "true", "OMP_PLACES": "threads", "OMP_WAIT_POLICY": "active"}

# What the runner says of a system call. A candidate can write such a line too, so its text is bounded.
_CALL_NAME = re.compile(r"[a-z0-9_]{1,24}( \([a-z ]{1,16}\)| for writing)?")


@dataclass(frozen=True)
class Run:
    """One call of a kernel: its time by the worker's clock and by this process's, and what held it up.

    `cpu_us` is how long the calling thread was on a core. `serial` says that the kernel has no other threads, so that
    `cpu_us` is what the call takes where nobody else wants the cores. `preempted` is True if a thread lost its core
    during the call, by the worker's count, and the kernel's accounting confirms that a thread had to wait for one. A
    process with more threads than cores holds up itself.
    """

    inner_us: float
    outer_us: float
    cpu_us: float
    preempted: bool = False
    serial: bool = False

    @property
    def overhead_us(self) -> float:
        """What the judge's clock showed beyond the worker's."""
        return self.outer_us - self.inner_us


class WorkerFault(Exception):
    """The candidate's process ended or strayed; `status` and the message say how."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


@cache
def _runner() -> Path:
    """The runner program, built once per compiler and source."""
    source = Path(__file__).with_name("runner.cpp")
    compiler = find_compiler()
    key = hashlib.sha256((source.read_text() + compiler.version + str(os.uname().machine)).encode()).hexdigest()[:16]
    program = cache_dir() / "runner" / key / "runner"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
            built = Path(scratch) / "runner"
            command = [compiler.path, "-O2", "-fopenmp", "-std=c++20", "-o", str(built), str(source), "-ldl"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise WorkerFault(
                    Status.INFRASTRUCTURE, f"the bench's runner does not build here:\n{done.stderr[:2000]}"
                )
            built.replace(program)
    return program


def is_serial(artifact: Path) -> bool:
    """Whether a built kernel cannot have work done by other threads: it names nothing that would start or reach one."""
    return _THREADING.search(artifact.read_bytes()) is None


class Worker:
    """A process that holds one built candidate and calls it on an arena when told.

    Every method that talks to the process raises WorkerFault, with the process already dead, when the candidate
    crashes, strays, runs out of time or does what it may not.
    """

    def __init__(self, artifact: Path, arena_bytes: int) -> None:
        self.arena = Arena(arena_bytes)
        self.confinement = "none"
        self._slots: Sequence[Slot] = ()
        self._pending = b""
        self._paused = False
        self._pid: int | None = None
        self._serial = is_serial(artifact)
        command_read, self._commands = os.pipe()
        self._replies, reply_write = os.pipe()
        program = _runner()
        limit = ADDRESS_BYTES + ADDRESS_BYTES_PER_CORE * (os.cpu_count() or 1) + arena_bytes
        arguments = [str(program), str(artifact), str(command_read), str(reply_write), str(self.arena.fd)]
        command = bubblewrapped([*arguments, str(arena_bytes), str(limit)], (program.parent, artifact.parent))
        try:
            self._process = subprocess.Popen(
                command,
                env=scrubbed_environment() | _THREADS,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(command_read, reply_write, self.arena.fd),
                start_new_session=True,
                cwd="/",
            )
        except OSError as error:
            for fd in (self._commands, self._replies):
                os.close(fd)
            self.arena.close()
            raise WorkerFault(Status.INFRASTRUCTURE, f"the worker could not be started: {error}") from error
        finally:
            os.close(command_read)
            os.close(reply_write)
        try:
            self.confinement = self._answer("o", START_TIMEOUT_S)[0]
            self._pid = accounts.innermost(self._process.pid)
        except WorkerFault:
            self.close()
            raise

    def arrange(self, slots: Sequence[Slot], sizes: Sizes) -> None:
        """Tell the worker the arguments of the next runs."""
        self._slots = slots
        parts = [f"L {len(slots)}"] + [f"{s.offset} {s.bytes} {int(s.writable)}" for s in slots]
        parts += [str(len(sizes)), *(str(value) for value in sizes.values())]
        self._tell(" ".join(parts))
        self._answer("l", START_TIMEOUT_S)

    def flush(self) -> None:
        """Push the arguments' memory out of every cache."""
        self._tell("F")
        self._answer("f", START_TIMEOUT_S)

    def run(self, timeout_s: float) -> Run:
        """Call the kernel once."""
        before_us = accounts.waits_us(self.pid)
        started = time.perf_counter()
        self._tell("R")
        words = self._answer("r", timeout_s)
        outer_us = (time.perf_counter() - started) * 1e6
        inner_ns, cpu_ns, preemptions = (int(w) if w.lstrip("-").isdecimal() else 0 for w in (*words, "0", "0")[:3])
        # A kernel that writes over its caller's stack can spoil the clock, never beyond what was waited.
        inner_us = min(max(inner_ns / 1e3, 0.001), outer_us)
        cpu_us = min(max(cpu_ns / 1e3, 0.001), inner_us)
        after_us = accounts.waits_us(self.pid)
        preempted = preemptions > 0 and self._had_to_wait(before_us, after_us, inner_us)
        serial = self._serial and len(after_us) <= usable_cores()
        return Run(inner_us, outer_us, cpu_us, preempted, serial)

    @staticmethod
    def _had_to_wait(before_us: dict[str, float], after_us: dict[str, float], inner_us: float) -> bool:
        if len(after_us) > usable_cores():
            return False
        waited_us = max((after - before_us.get(thread, 0.0) for thread, after in after_us.items()), default=0.0)
        return not after_us or waited_us > WAIT_SHARE * inner_us

    @property
    def pid(self) -> int:
        """The process that runs the kernel, inside whatever wraps it."""
        return self._pid or accounts.innermost(self._process.pid)

    def cpu_s(self) -> float:
        """CPU seconds used so far."""
        return accounts.cpu_s(self.pid)

    def pause(self) -> None:
        """Stop every thread of the candidate, so that nothing of it runs while another is timed or its output read."""
        if not self._paused:
            self._signal(signal.SIGSTOP)
            self._paused = True

    def resume(self) -> None:
        if self._paused:
            self._signal(signal.SIGCONT)
            self._paused = False

    def close(self) -> None:
        """Kill the process and everything in its session; safe to call twice."""
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)
        self._process.wait()
        if self._commands >= 0:
            os.close(self._commands)
            os.close(self._replies)
            self._commands = self._replies = -1
            self.arena.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # already gone: the next answer says how
            os.killpg(self._process.pid, number)

    def _tell(self, line: str) -> None:
        self.resume()
        with contextlib.suppress(BrokenPipeError):  # dead: the answer that follows says how
            os.write(self._commands, line.encode() + b"\n")

    def _answer(self, kind: str, timeout_s: float) -> list[str]:
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            if not self._readable(deadline - time.monotonic()) and not self._wait_longer(timeout_s):
                self._signal(signal.SIGKILL)
                self._process.wait()
                raise WorkerFault(Status.TIMEOUT, f"did not finish within {timeout_s:.3g} s and was stopped")
            chunk = os.read(self._replies, 4096)
            if not chunk:
                raise self._death()
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        words = line.decode(errors="replace").split()
        if words and words[0] == kind:
            return words[1:] or [""]
        self._signal(signal.SIGKILL)
        raise self._fault(words)

    def _readable(self, wait_s: float) -> bool:
        return bool(select.select([self._replies], [], [], max(0.0, wait_s))[0])

    def _wait_longer(self, timeout_s: float) -> bool:
        """Give a worker that has used up its limit more time if other processes keep it from the processors.

        Returns True if there is something to read, False if it had its time. Raises an infrastructure fault if it got
        no processor for long: that says nothing about the candidate.
        """
        watch, used_s = Watch(self.cpu_s), accounts.main_thread_cpu_s(self.pid)
        deadline = time.monotonic() + (STARVED_PATIENCE - 1) * timeout_s
        while time.monotonic() < deadline:
            if self._readable(min(_LOOK_S, deadline - time.monotonic())):
                return True
            had_its_time = accounts.main_thread_cpu_s(self.pid) - used_s > timeout_s
            if had_its_time or watch.others_share() < BUSY_SHARE or not accounts.is_runnable(self.pid):
                return False
        self._signal(signal.SIGKILL)
        self._process.wait()
        raise WorkerFault(
            Status.INFRASTRUCTURE,
            f"did not finish within {STARVED_PATIENCE * timeout_s:.3g} s while other processes used "
            f"{watch.others_share():.0%} of the processors",
        )

    def _fault(self, words: list[str]) -> WorkerFault:
        """The verdict on a last line; a line that the runner does not write came from the candidate."""
        self._process.wait()
        match words:
            case ["s", number, *rest] if number.isdecimal():
                name = " ".join(rest)
                call = name if _CALL_NAME.fullmatch(name) else f"number {number[:6]}"
                return WorkerFault(Status.CHEAT, f"tried a forbidden system call: {call}")
            case ["g", offset, *_] if offset.isdecimal():
                message, to_input = name_fault(self._slots, int(offset))
                return WorkerFault(Status.CHEAT if to_input else Status.CRASH, message)
            case ["v", address, number] if number.isdecimal():
                return WorkerFault(Status.CRASH, f"{_signal_name(int(number))} at address {address}")
            case ["e", *rest]:
                return WorkerFault(Status.LAUNCH_ERROR, f"could not be loaded: {' '.join(rest)}")
            case _:
                return WorkerFault(Status.CHEAT, "wrote to the bench's own channel")

    def _death(self) -> WorkerFault:
        code = self._process.wait()
        # bubblewrap reports a child's signal as 128 + number
        number = -code if code < 0 else code - 128
        if number > 0:
            return WorkerFault(Status.CRASH, f"died of {_signal_name(number)}")
        return WorkerFault(Status.CRASH, f"left the process with exit code {code} instead of returning")


def _signal_name(number: int) -> str:
    known = {int(each): each.name for each in signal.Signals}
    return known.get(number, f"signal {number}")
