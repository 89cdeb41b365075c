"""One candidate in its own process, held by a keeper: stopped but for the calls it is told to make, and killed at last.

The keeper (`native/`) is ours and trusted: it starts the process, stops and continues it, and holds the clock. The
judge, here, fills and reads the shared memory only while the process is stopped, and says how long a call may take.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from foretell.kernels.bench import accounts, keeper
from foretell.kernels.bench.arena import Arena, Slot
from foretell.kernels.bench.faults import LAST_WORDS_BYTES, WorkerFault, fault, spoke_up
from foretell.kernels.bench.keeper import Threads
from foretell.kernels.bench.runs import Run, serial_run, threaded_run
from foretell.kernels.contention import Watch, usable_cores
from foretell.kernels.measurement import Status
from foretell.kernels.sandbox import bubblewrapped, scrubbed_environment
from foretell.kernels.task import Sizes

START_TIMEOUT_S = 10.0
ARRANGE_TIMEOUT_S = 2.0  # it takes some microseconds
BUSY_SHARE = 0.1  # of the processors' time used by others, from which on the machine counts as contended
# A worker that others keep from the processors may take this many times its limit, or this long if that is more.
STARVED_PATIENCE = 5
STARVED_PATIENCE_S = 10.0
START_PATIENCE = 2  # the same of a start, whose limit is long
ASLEEP_LOOKS = 2  # in a row, from which on a main thread that sleeps is not held up by others
# Of the empty calls, serial or not: others may hold up any of them, more so those on all cores, and nobody shorten one.
EMPTY_QUANTILE = {True: 0.2, False: 0.0}
ADDRESS_BYTES = 1 << 30
ADDRESS_BYTES_PER_CORE = 160 << 20  # stacks and allocator arenas that each thread reserves
_LOOK_S = 0.25
_REPLY_BYTES = 256
_EMPTY_FIRST = 16

# A thread to each core: woken threads that share one for a while would be timed as waiting for each other.
# Those that wait spin, so that the next parallel region finds them; between calls the whole process is stopped.
_THREADS = {"OMP_PROC_BIND": "true", "OMP_PLACES": "threads", "OMP_WAIT_POLICY": "active"}
_TIMES = re.compile(r"(?:t( \d{1,15}){4}|e( \d{1,15}){2})")
# Empty calls of all workers of this process by their threads: they hold no candidate, so all are alike.
_EMPTY: dict[Threads, deque[tuple[float, ...]]] = {
    each: deque(maxlen=64 if each is Threads.NONE else 512) for each in Threads
}
_ENDED = re.compile(r"([xk]) (\d{1,3})")


class Worker:
    """A process that holds one built candidate and calls it on an arena when told.

    It is stopped whenever no method runs. Every method that talks to it raises WorkerFault, with the process already
    dead, when the candidate crashes, strays, runs out of time or does what it may not.
    """

    def __init__(self, artifact: Path, arena_bytes: int) -> None:
        self.arena = Arena(arena_bytes)
        self._threads = keeper.threads_of(artifact)
        self.serial = self._threads is Threads.NONE
        # In calls so far, by the clock, less what it, its keeper and the judge waited for a core that others had.
        self.spent_s = 0.0
        self._slots: Sequence[Slot] = ()
        self._pending = b""
        self._loaded = False
        self._descent: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None
        command_read, self._commands = os.pipe()
        self._replies, reply_write = os.pipe()
        self._reports, report_write = os.pipe()
        for fd in (self._reports, report_write):  # one who floods it waits for nobody
            os.set_blocking(fd, False)
        theirs = (command_read, reply_write, report_write)
        try:
            self._start(artifact, (*theirs, self.arena.fd), arena_bytes)
        except WorkerFault:
            self.close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        try:
            self._answer("o", START_TIMEOUT_S)
            self._loaded = True
            self._descent = accounts.descent(self._process.pid) if self._process else []
            while len(_EMPTY[self._threads]) < _EMPTY_FIRST:
                self._tell("E")
                _EMPTY[self._threads].append(self._times(self._answer("e", START_TIMEOUT_S)))
        except WorkerFault:
            self.close()
            raise

    def _start(self, artifact: Path, descriptors: Sequence[int], arena_bytes: int) -> None:
        program = keeper.program()
        limit = ADDRESS_BYTES + ADDRESS_BYTES_PER_CORE * (os.cpu_count() or 1) + arena_bytes
        numbers = [*descriptors, arena_bytes, limit, int(self._threads)]
        command = [str(program), str(artifact), *map(str, numbers)]
        try:
            self._process = subprocess.Popen(
                bubblewrapped(command, (program.parent, artifact.parent)),
                env=scrubbed_environment() | _THREADS,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,
                cwd="/",
            )
        except OSError as error:
            raise WorkerFault(Status.INFRASTRUCTURE, f"the worker could not be started: {error}") from error

    def arrange(self, slots: Sequence[Slot], sizes: Sizes) -> None:
        """Tell the worker the arguments of the next calls."""
        self._slots = slots
        parts = [f"A {len(slots)}"] + [f"{s.offset} {s.bytes} {int(s.writable)}" for s in slots]
        parts += [str(len(sizes)), *(str(value) for value in sizes.values())]
        self._called(" ".join(parts), "a", ARRANGE_TIMEOUT_S)

    def call(self, timeout_s: float) -> None:
        """Call the kernel once."""
        self._called("C", "c", timeout_s)

    def timed_call(self, timeout_s: float) -> Run:
        """Push the arguments' memory out of every cache, then call the kernel once and time it."""
        before = {} if self.serial else accounts.threads(self.pid)
        wall_us, cpu_us, *empty_us = self._times(self._called("T", "t", timeout_s))
        empty = _EMPTY[self._threads]
        empty.append(tuple(empty_us))
        empty_wall_us, empty_cpu_us = np.quantile(empty, EMPTY_QUANTILE[self.serial], axis=0).tolist()
        if self.serial:
            accounted = any(on_core_us > 0 for _, on_core_us in empty)
            return serial_run(wall_us - empty_wall_us, cpu_us - empty_cpu_us if accounted else None)
        used = accounts.since(before, accounts.threads(self.pid))
        return threaded_run(wall_us, cpu_us, empty_wall_us, used, usable_cores())

    def _called(self, order: str, kind: str, timeout_s: float) -> str:
        """The keeper's reply to an order that lets the candidate's process go on; what it took counts."""
        started, waited_s, own_s = time.monotonic(), self._waited_s(), self._beside_s()
        self._tell(order)
        reply = self._answer(kind, timeout_s)
        held_up_s = self._waited_s() - waited_s - (self._beside_s() - own_s)
        self.spent_s += max(0.0, time.monotonic() - started - max(0.0, held_up_s))
        return reply

    def _waited_s(self) -> float:
        return sum(accounts.main_thread_waited_s(pid) for pid in (os.getpid(), *self._descent[-2:]))

    def _beside_s(self) -> float:
        """CPU seconds used by the candidate's threads but for its main thread: those may keep it from a core."""
        return 0.0 if self.serial else accounts.cpu_s(self.pid) - accounts.main_thread_cpu_s(self.pid)

    @property
    def pid(self) -> int:
        """The process that runs the kernel, inside whatever wraps it."""
        if self._descent or self._process is None:
            return self._descent[-1] if self._descent else 0
        return accounts.descent(self._process.pid)[-1]

    def cpu_s(self) -> float:
        """CPU seconds used so far by the candidate and its keeper."""
        return sum(accounts.cpu_s(pid) for pid in self._descent[-2:] or [self.pid])

    def close(self) -> None:
        """Kill the process and everything in its session; safe to call twice."""
        if self._process is not None:
            self._kill()
        if self._commands >= 0:
            for fd in (self._commands, self._replies, self._reports):
                os.close(fd)
            self._commands = self._replies = self._reports = -1
            self.arena.close()

    def _kill(self) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _tell(self, line: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # dead: the answer that follows says how
            os.write(self._commands, line.encode() + b"\n")

    def _answer(self, kind: str, timeout_s: float) -> str:
        """The keeper's reply, which must be of that kind; the verdict is raised if the candidate's process ended."""
        deadline = time.monotonic() + timeout_s
        before = self._used_s() if self._loaded else (0.0, 0.0)
        while b"\n" not in self._pending:
            if not self._readable(deadline - time.monotonic()) and not self._wait_longer(timeout_s, before):
                self._kill()
                raise WorkerFault(Status.TIMEOUT, f"did not finish within {timeout_s:.3g} s and was stopped")
            chunk = os.read(self._replies, _REPLY_BYTES)
            if not chunk or len(self._pending) + len(chunk) > _REPLY_BYTES:
                raise self._garbled()
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        reply = line.decode("ascii", errors="replace")
        last_words = self._last_words()
        if match := _ENDED.fullmatch(reply):
            self._kill()
            raise fault(last_words, match[1], int(match[2]), self._slots, keeper.call_names(), self._loaded)
        if last_words:
            self._kill()
            raise spoke_up()
        if not reply.startswith(kind):
            raise self._garbled()
        return reply

    def _times(self, reply: str) -> tuple[float, ...]:
        """Microseconds by the clock and on a core, of a call and of an empty one before it."""
        if not _TIMES.fullmatch(reply):
            raise self._garbled()
        return tuple(int(word) / 1e3 for word in reply.split()[1:])

    def _last_words(self) -> bytes:
        try:
            return os.read(self._reports, LAST_WORDS_BYTES)
        except BlockingIOError:
            return b""

    def _garbled(self) -> WorkerFault:
        """Our own program died or spoke nonsense: nothing is known of the candidate."""
        self._kill()
        code = self._process.returncode if self._process else None
        return WorkerFault(Status.INFRASTRUCTURE, f"the bench's keeper failed (exit status {code})")

    def _readable(self, wait_s: float) -> bool:
        return bool(select.select([self._replies], [], [], max(0.0, wait_s))[0])

    def _used_s(self) -> tuple[float, float]:
        """CPU seconds used so far by the candidate's main thread, and by all its threads for each core they may use."""
        pid = self.pid
        return accounts.main_thread_cpu_s(pid), accounts.cpu_s(pid) / (1 if self.serial else usable_cores())

    def _is_held_up(self) -> bool:
        *wrappers, pid = self._descent or accounts.descent(self._process.pid if self._process else 0)
        return accounts.is_held_up(pid, wrappers[-1] if wrappers else pid)

    def _wait_longer(self, timeout_s: float, before: tuple[float, float]) -> bool:
        """Give a worker that has taken its limit by the clock more time if other processes keep it from the processors.

        Returns True if there is something to read. False if it had its time, as CPU time since `before`, or if its main
        thread sleeps or has stopped itself, whatever its other threads do. Raises an infrastructure fault if it got no
        processor for long: that says nothing about the candidate.
        """
        watch, asleep = Watch(self.cpu_s), 0
        patience_s = longest_wait_s(timeout_s, starting=not self._loaded)
        deadline = time.monotonic() + patience_s - timeout_s
        while time.monotonic() < deadline:
            if self._readable(min(_LOOK_S, deadline - time.monotonic())):
                return True
            asleep = 0 if self._is_held_up() else asleep + 1
            had_its_time = any(now - then > timeout_s for now, then in zip(self._used_s(), before, strict=True))
            if had_its_time or asleep >= ASLEEP_LOOKS or watch.others_share() < BUSY_SHARE:
                return False
        self._kill()
        raise WorkerFault(
            Status.INFRASTRUCTURE,
            f"did not finish within {patience_s:.3g} s while other processes used "
            f"{watch.others_share():.0%} of the processors",
        )


def longest_wait_s(timeout_s: float, starting: bool) -> float:
    """Seconds by the clock after which a worker is given up, however little of the processors it got."""
    if starting:
        return START_PATIENCE * timeout_s
    return max(STARVED_PATIENCE_S, STARVED_PATIENCE * timeout_s)
