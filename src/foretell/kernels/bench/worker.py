"""One candidate in its own process, held by a keeper: stopped but for the calls it is told to make, and killed at last.

The keeper (`native/`) is ours and trusted: it starts the process, stops and continues it, and holds the clock. The
judge, here, fills and reads the shared memory only while the process is stopped, and says how long a call may take.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from foretell.kernels.bench import accounts, keeper
from foretell.kernels.bench.accounts import Account
from foretell.kernels.bench.arena import Arena, Slot
from foretell.kernels.bench.faults import LAST_WORDS_BYTES, Starved, WorkerFault, fault, spoke_up
from foretell.kernels.bench.keeper import Threads
from foretell.kernels.bench.runs import Run, empty_us_of, serial_run, threaded_run
from foretell.kernels.contention import usable_cores
from foretell.kernels.measurement import Status
from foretell.kernels.sandbox import bubblewrapped, scrubbed_environment
from foretell.kernels.sandbox.cgroup import Groups
from foretell.kernels.task import Sizes

START_TIMEOUT_S = 10.0
ARRANGE_TIMEOUT_S = 2.0  # it takes some microseconds
BUSY_SHARE = 0.1  # of the processors' time used by others, from which on the machine counts as contended
# A worker that others keep from the processors may take this many times its limit, or this long if that is more; beyond
# their limits all its calls together may take so long.
STARVED_PATIENCE = 5
STARVED_PATIENCE_S = 10.0
START_PATIENCE = 2  # the same of a start, whose limit is long
MOST_EXCUSED_S = 60.0
MOST_THREADS, MOST_THREADS_PER_CORE = 256, 8
# Of the empty calls, serial or not: others may hold up any of them, more so those on all cores, and nobody shorten one.
EMPTY_QUANTILE = {True: 0.2, False: 0.0}
ADDRESS_BYTES = 1 << 30
ADDRESS_BYTES_PER_CORE = 160 << 20  # stacks and allocator arenas that each thread reserves
_LOOK_S = (0.05, 0.25)  # at a call that takes long, drawn
_REPLY_BYTES = 256
_EMPTY_FIRST = 16

# A thread to each core: woken threads that share one for a while would be timed as waiting for each other.
# Those that wait spin, so that the next parallel region finds them; between calls the whole process is stopped.
_THREADS = {"OMP_PROC_BIND": "true", "OMP_PLACES": "threads", "OMP_WAIT_POLICY": "active"}
_TIMES = re.compile(r"(?:t( \d{1,15}){6}|e( \d{1,15}){4})")
# Empty calls of all workers of this process by their threads, and without OpenMP's pool: they hold no candidate, so all
# are alike.
_EMPTY: dict[Threads, deque[tuple[float, ...]]] = {
    each: deque(maxlen=64 if each is Threads.NONE else 512) for each in Threads
}
_ENDED = re.compile(r"([xk]) (\d{1,3})")
_ENDING_S = 1.0  # for a process that said why it dies


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
        self._excused_s = 0.0
        self._most_threads = max(MOST_THREADS, MOST_THREADS_PER_CORE * usable_cores())
        self._slots: Sequence[Slot] = ()
        self._pending = b""
        self._loaded = False
        self._descent: list[int] = []
        self._pool = 1  # threads of a process that has what this one had before its candidate was loaded
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
            beside = accounts.children(self._descent[-2])[:-1] if len(self._descent) > 1 else []
            self._pool = max(map(accounts.count_threads, beside), default=1)
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
        # One more than a kernel may have is there to be seen; then no more can be started, where there are such groups.
        self._groups = Groups(2 * self._most_threads)
        try:
            with self._groups.doors() as doors:
                self._process = subprocess.Popen(
                    bubblewrapped([*command, *map(str, doors)], (program.parent, artifact.parent)),
                    env=scrubbed_environment() | _THREADS,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(*descriptors, *doors),
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
        wall_us, cpu_us, *empty_now = self._times(self._called("T", "t", timeout_s))
        empty = _EMPTY[self._threads]
        empty.append(tuple(empty_now))
        quantiles = np.quantile(empty, EMPTY_QUANTILE[self.serial], axis=0).tolist()
        empty_wall_us, empty_cpu_us, alone_wall_us, _ = quantiles
        if self.serial:
            accounted = any(on_core_us > 0 for _, on_core_us, *_ in empty)
            return serial_run(wall_us - empty_wall_us, cpu_us - empty_cpu_us if accounted else None)
        after = accounts.threads(self.pid)
        empty_us = empty_us_of(min(len(before), len(after)), self._pool, empty_wall_us, alone_wall_us)
        used = accounts.since(before, after)
        return threaded_run(wall_us, cpu_us, empty_us, used, usable_cores())

    def _called(self, order: str, kind: str, timeout_s: float) -> str:
        """The keeper's reply to an order that lets the candidate's process go on; what it took counts."""
        started, waited_s, own_s = time.monotonic(), self._waited_s(), self._beside_s()
        self._tell(order)
        reply = self._answer(kind, timeout_s)
        held_up_s = self._waited_s() - waited_s - (self._beside_s() - own_s)
        self.spent_s += max(0.0, time.monotonic() - started - max(0.0, held_up_s))
        self._bound_threads()
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
        self._groups.remove()

    def _tell(self, line: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # dead: the answer that follows says how
            os.write(self._commands, line.encode() + b"\n")

    def _answer(self, kind: str, timeout_s: float) -> str:
        """The keeper's reply, which must be of that kind; the verdict is raised if the candidate's process ended."""
        started, before = time.monotonic(), self._look()
        while b"\n" not in self._pending:
            self._await(started, timeout_s, before)
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
            ended = self._ends()
            self._kill()
            if ended is None:
                raise spoke_up()
            raise fault(last_words, ended[1], int(ended[2]), self._slots, keeper.call_names(), self._loaded)
        if not reply.startswith(kind):
            raise self._garbled()
        return reply

    def _ends(self) -> re.Match[str] | None:
        """How a process ends that spoke beside a reply; None for one that lives on.

        A thread that dies between two calls says why, and is stopped with the others before it has died; the keeper
        hears of its end with the next order.
        """
        self._tell("A 0 0")
        said = b""
        while b"\n" not in said and len(said) < _REPLY_BYTES and self._readable(_ENDING_S):
            said += os.read(self._replies, _REPLY_BYTES) or b"\n"
        return _ENDED.fullmatch(said.decode("ascii", errors="replace").strip("\n"))

    def _times(self, reply: str) -> tuple[float, ...]:
        """Microseconds by the clock and on a core, of a call and of the empty ones before it."""
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

    def _bound_threads(self) -> None:
        """Raises WorkerFault if the candidate has more threads than a kernel may have."""
        if self.serial:
            return
        count = accounts.count_threads(self.pid)
        if count > self._most_threads:
            self._kill()
            what = (
                f"has {count} threads; a kernel may have {self._most_threads}: start about as many as there are cores"
            )
            raise WorkerFault(Status.CRASH, what)

    def _look(self) -> _Look:
        """What the accounts say of the candidate's process so far, and of those that start and hold it."""
        if not self._loaded:  # they are all new
            return _Look()
        return self._look_now(self._descent)

    def _look_now(self, descent: Sequence[int]) -> _Look:
        *wrappers, pid = descent
        beside = accounts.children(wrappers[-1])[:-1] if wrappers else []
        waited_s = sum(map(accounts.main_thread_waited_s, (*wrappers, *beside)))
        return _Look(accounts.threads(pid), accounts.cpu_s(pid), waited_s)

    def _held_up_s(self, before: _Look) -> float:
        """Seconds since that look for which others kept the candidate, or those that hold it, from the processors."""
        descent = self._descent or accounts.descent(self._process.pid if self._process else 0)
        now = self._look_now(descent)
        threads = now.threads
        if not self._loaded:  # loading waits for no thread of the candidate's
            threads = {name: account for name, account in threads.items() if name == str(descent[-1])}
        cores = 1 if self.serial else usable_cores()
        held_up_s = accounts.held_up_s(before.threads, threads, now.cpu_s - before.cpu_s, cores)
        return held_up_s + now.waited_s - before.waited_s

    def _await(self, started: float, timeout_s: float, before: _Look) -> None:
        """Return once there is something to read.

        What others kept from the processors gets more time: all that counts is how long the kernel waited for a core
        over the whole call, not what it does when it is looked at. Raises WorkerFault if it had its time, running or
        asleep; Starved if it got no processor for as long as may be waited.
        """
        patience_s = min(longest_wait_s(timeout_s, not self._loaded), timeout_s + MOST_EXCUSED_S - self._excused_s)
        while True:
            left_s = timeout_s - (time.monotonic() - started)
            look_s = random.uniform(*_LOOK_S)
            if self._readable(left_s if self.serial and left_s > 0 else min(look_s, left_s) if left_s > 0 else look_s):
                self._excused_s += max(0.0, time.monotonic() - started - timeout_s)
                return
            self._bound_threads()
            taken_s = time.monotonic() - started
            if taken_s < timeout_s:
                continue
            held_up_s = self._held_up_s(before)
            if self._readable(0.0):  # while it was looked at
                continue
            if taken_s - held_up_s > timeout_s:
                self._kill()
                raise WorkerFault(Status.TIMEOUT, f"did not finish within {timeout_s:.3g} s and was stopped")
            if taken_s >= patience_s:
                self._kill()
                what = f"did not finish within {taken_s:.3g} s, of which it waited {held_up_s:.3g} s for a processor"
                raise Starved(what)


@dataclass(frozen=True)
class _Look:
    """Accounts of a candidate's threads, its CPU seconds, and what those that hold it waited for a core."""

    threads: Mapping[str, Account] = field(default_factory=dict)
    cpu_s: float = 0.0
    waited_s: float = 0.0


def longest_wait_s(timeout_s: float, starting: bool) -> float:
    """Seconds by the clock after which a worker is given up, however little of the processors it got."""
    if starting:
        return START_PATIENCE * timeout_s
    return max(STARVED_PATIENCE_S, STARVED_PATIENCE * timeout_s)
