"""The judge's end of a worker: starts it, asks, waits with a limit, and replaces it when it is gone."""

from __future__ import annotations

import json
import pickle
import threading
import time
from pathlib import Path
from typing import Any, Protocol

from foretell.kernels.bench.gpu.channel import Forged, receive, send, send_descriptor
from foretell.kernels.bench.gpu.device import visible_gpus
from foretell.kernels.bench.gpu.server import gpu_server
from foretell.kernels.languages import built
from foretell.kernels.languages.diagnostics import plain
from foretell.kernels.limits import GPU_PROCESS_LIMITS
from foretell.kernels.measurement import Status
from foretell.kernels.sandbox import Conversation, JobFailed
from foretell.received import MOST_ANSWER_VALUES, parsed

START_TIMEOUT_S = 60.0
WITHOUT_WALLS = (
    "if `foretell doctor` says that CUDA does not work in the sandbox, code that you trust can be measured without it: "
    "FORETELL_SANDBOX=none and --unsafe"
)
SEND_S = 10.0  # for what may be much, to those that may be busy
READ_S = 0.5  # an answer that has begun is here by then
CUDA = "foretell.kernels.bench.gpu.platform:Cuda"
WORKER_JOB = "foretell.kernels.bench.gpu.worker:serve"
_FAILURES = tuple(status for status in Status if status is not Status.OK)


class WorkerFailed(Exception):
    """The candidate failed in the worker; the worker may be gone."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class DeviceLost(Exception):
    """No worker can be started on the device: the machine's fault."""


class Worker(Protocol):
    """What the judge asks to run candidates. `starts` grows with every new process: what it was told before is gone.

    A command with `memory` hands over that descriptor, which stays the caller's to close.
    """

    starts: int

    @property
    def alive(self) -> bool: ...

    def start(self) -> None: ...

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]: ...

    def stop(self) -> None: ...

    def await_end(self) -> None: ...

    def close(self) -> None: ...


class Spares:
    """Processes of one job that stand ready behind the sandbox's walls: what they need is imported, and a context made.
    Threads may share it.

    Raises NoSandbox if foreign code cannot be walled in here.

    Args:
        platform: The name of the platform that each process makes for itself.
        job: The function that serves in it.
        count: How many are kept.
        data: Files that they may read beside those that all may.
    """

    def __init__(
        self, platform: str = CUDA, job: str = WORKER_JOB, count: int = 1, data: tuple[Path, ...] = ()
    ) -> None:
        self._server = gpu_server(data)
        self._job, self._count, self._opening = job, count, opening_of(platform)
        self._waiting: list[Conversation] = []
        self._lock = threading.RLock()

    def take(self) -> Conversation:
        """A process that nobody else has, one that is ready if there is any. Raises DeviceLost if none can be had."""
        with self._lock:
            self._waiting = [talk for talk in self._waiting if talk.alive]
            ready = [talk for talk in self._waiting if talk.connection.poll(0)]
            talk = (ready or self._waiting or [self._launch()])[0]
            self._waiting = [other for other in self._waiting if other is not talk]
            return talk

    def fill(self) -> None:
        """Start what is missing, without waiting for it. Raises DeviceLost if none can be started."""
        with self._lock:
            while len(self._waiting) < self._count:
                self._waiting.append(self._launch())

    def close(self) -> list[Conversation]:
        """Hang up on all that wait, and return them: they end in a while."""
        with self._lock:
            gone, self._waiting = self._waiting, []
        for talk in gone:
            talk.hang_up()
        return gone

    def _launch(self) -> Conversation:
        try:
            talk = self._server.converse(self._job, GPU_PROCESS_LIMITS)
            send(talk.connection, self._opening, START_TIMEOUT_S)
        except (JobFailed, OSError) as failure:
            raise DeviceLost(f"no worker can be started: {failure}") from failure
        return talk


class WorkerHandle:
    """One worker process on one GPU at a time, taken from spare ones when it is replaced.

    Args:
        platform: The name of the platform that the process makes for itself.
        spares: Where processes are taken from, for others too; by default it has one spare process of its own.
    """

    def __init__(self, platform: str = CUDA, spares: Spares | None = None) -> None:
        self._spares, self._shares = spares or Spares(platform), spares is not None
        self._talk: Conversation | None = None
        self._gone: list[Conversation] = []
        self._problem = ""
        self.starts = 0

    def start(self) -> None:
        """Start the worker if it is not running; DeviceLost if it does not come up."""
        if self.alive:
            return
        self.stop()
        self._talk = self._spares.take()
        self._spares.fill()
        self.starts += 1
        try:
            self._receive(START_TIMEOUT_S)
        except WorkerFailed as failure:
            raise DeviceLost(f"no worker starts: {failure}; {WITHOUT_WALLS}") from failure
        self._gone = [talk for talk in self._gone if not talk.ended]

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        """Send a command and return the answer; WorkerFailed with the candidate's status otherwise."""
        memory = command.pop("memory", None)
        if command["do"] == "load":
            command["files"] = built.files_of(command["source"], self._problem)
        elif command["do"] == "task":
            self._problem = built.problem_of(command["spec"])
        if self._talk is None:
            raise WorkerFailed(Status.CRASH, "the worker is gone")
        try:
            send(self._talk.connection, pickle.dumps(command), max(SEND_S, timeout_s))
            if memory is not None:
                send_descriptor(self._talk.connection, memory)
        except OSError as error:
            self.stop()
            raise WorkerFailed(Status.CRASH, "the worker is gone") from error
        return self._receive(timeout_s)

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        assert self._talk is not None
        connection, deadline = self._talk.connection, time.monotonic() + timeout_s
        try:
            if not connection.poll(timeout_s):
                self.stop()
                raise WorkerFailed(Status.TIMEOUT, f"did not finish within {timeout_s:g} s and was stopped")
            text = receive(connection, max(READ_S, deadline - time.monotonic()))
            answer = parsed(text, nan=True, most_values=MOST_ANSWER_VALUES)
        except (EOFError, ConnectionError) as error:
            _, how = self._talk.ending(by_itself=True)
            self.stop()
            raise WorkerFailed(Status.CRASH, how) from error
        except (ValueError, Forged, TimeoutError, RecursionError) as error:
            self.stop()
            raise WorkerFailed(Status.CHEAT, "wrote to the bench's own channel") from error
        if not isinstance(answer, dict) or answer.get("status", Status.CRASH) not in _FAILURES:
            self.stop()
            raise WorkerFailed(Status.CHEAT, "wrote to the bench's own channel")
        if "status" in answer:
            if answer.get("sticky"):
                self.stop()
            raise WorkerFailed(Status(answer["status"]), plain(str(answer.get("message", ""))))
        return answer

    @property
    def alive(self) -> bool:
        return self._talk is not None and self._talk.alive

    def stop(self) -> None:
        """End the worker and all it started; a context with a kernel that never ends may take a while to go."""
        if self._talk is not None:
            self._talk.hang_up()
            self._gone.append(self._talk)
            self._talk = None

    def await_end(self) -> None:
        """Until stopped workers are gone, and their device memory with them; not for ever."""
        for talk in self._gone:
            talk.ending()
        self._gone.clear()

    def close(self) -> None:
        """Stop the worker and its own spare ones, and wait for them."""
        self.stop()
        if not self._shares:
            self._gone += self._spares.close()
        self.await_end()


def opening_of(platform: str) -> bytes:
    """The first message to a process of the bench: which platform it is to use, and which GPU."""
    return json.dumps({"platform": platform, "gpu": next(iter(visible_gpus()), "")}).encode()
