"""The judge's end of a worker: starts it, asks, waits with a limit, and replaces it when it is gone."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import signal
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from foretell.kernels.bench.children import ForkServerContext
from foretell.kernels.bench.gpu.channel import Forged, receive
from foretell.kernels.bench.gpu.device import visible_gpus
from foretell.kernels.measurement import Status
from foretell.kernels.store.locations import cache_dir

START_TIMEOUT_S = 60.0
READ_S = 0.5  # an answer that has begun is here by then
MEMORY_LOOK_S = 0.1
HOST_MEMORY_BYTES = 32 << 30


class WorkerFailed(Exception):
    """The candidate failed in the worker; the worker may be gone."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class DeviceLost(Exception):
    """No worker can be started on the device: the machine's fault."""


def fork_server() -> Any:
    """A context whose processes start with torch and Triton already imported, but no CUDA context."""
    context = ForkServerContext()
    context.set_forkserver_preload(["foretell.kernels.bench.gpu.preload"])
    return context


class Worker(Protocol):
    """What the judge asks to run candidates. `starts` grows with every new process: what it was told before is gone."""

    starts: int

    @property
    def alive(self) -> bool: ...

    def start(self) -> None: ...

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]: ...

    def stop(self) -> None: ...

    def await_end(self) -> None: ...

    def close(self) -> None: ...


class WorkerHandle:
    """One worker process on one GPU, and a spare one that has its context ready for when the first breaks."""

    def __init__(self) -> None:
        self._gpu = visible_gpus()[0]
        self._process: Any = None
        self._connection: Any = None
        self._spare: tuple[Any, Any] | None = None
        self._gone: list[Any] = []
        self._scratch = tempfile.TemporaryDirectory(prefix="foretell-worker-", ignore_cleanup_errors=True)
        self.starts = 0

    def start(self) -> None:
        """Start the worker if it is not running; DeviceLost if it does not come up."""
        if self.alive:
            return
        self.stop()
        self._process, self._connection = self._spare or self._launch()
        self._spare = None
        self.starts += 1
        try:
            self._receive(START_TIMEOUT_S)
        except WorkerFailed as failure:
            raise DeviceLost(f"no worker starts on GPU {self._gpu}: {failure}") from failure
        self._spare = self._launch()
        self._gone = [process for process in self._gone if process.is_alive()]

    def _launch(self) -> tuple[Any, Any]:
        from foretell.kernels.bench.gpu import worker

        context = fork_server()
        ours, theirs = context.Pipe()
        arguments = (theirs, self._gpu, str(cache_dir()), self._scratch.name)
        process = context.Process(target=worker.main, args=arguments, daemon=True)
        process.start()
        theirs.close()
        return process, ours

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        """Send a command and return the answer; WorkerFailed with the candidate's status otherwise."""
        try:
            self._connection.send_bytes(pickle.dumps(command))
        except (BrokenPipeError, OSError) as error:
            self.stop()
            raise WorkerFailed(Status.CRASH, "the worker is gone") from error
        return self._receive(timeout_s)

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        self._wait(deadline, timeout_s)
        try:
            answer = json.loads(receive(self._connection, max(READ_S, deadline - time.monotonic())))
        except (EOFError, ConnectionError) as error:
            self._process.join(5)
            code = self._process.exitcode
            self.stop()
            how = f"died of {signal.Signals(-code).name}" if code and code < 0 else f"left with exit code {code}"
            raise WorkerFailed(Status.CRASH, how) from error
        except (ValueError, Forged, TimeoutError) as error:
            self.stop()
            raise WorkerFailed(Status.CHEAT, "wrote to the bench's own channel") from error
        if not isinstance(answer, dict):
            self.stop()
            raise WorkerFailed(Status.CHEAT, "wrote to the bench's own channel")
        if "status" in answer:
            if answer.get("sticky"):
                self.stop()
            raise WorkerFailed(Status(answer["status"]), str(answer.get("message", "")))
        return answer

    def _wait(self, deadline: float, timeout_s: float) -> None:
        """Until there is an answer; a worker that takes too long, or all the machine's memory, is stopped."""
        while not self._connection.poll(min(MEMORY_LOOK_S, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                self.stop()
                raise WorkerFailed(Status.TIMEOUT, f"did not finish within {timeout_s:g} s and was stopped")
            if resident_bytes(self._process.pid) > HOST_MEMORY_BYTES:
                self.stop()
                raise WorkerFailed(Status.CRASH, f"took more than {HOST_MEMORY_BYTES >> 30} GiB of host memory")

    @property
    def alive(self) -> bool:
        return self._process is not None and bool(self._process.is_alive())

    def stop(self) -> None:
        """Kill the worker and its session; a context with a kernel that never ends may take a while to go."""
        if self._process is None:
            return
        kill_session(self._process)
        self._connection.close()
        self._gone.append(self._process)
        self._process = None

    def await_end(self) -> None:
        """Until stopped workers are gone, and their device memory with them; not for ever."""
        for process in self._gone:
            process.join(10)

    def close(self) -> None:
        """Stop the worker and the spare one, and wait for both."""
        self.stop()
        if self._spare is not None:
            kill_session(self._spare[0])
            self._spare[1].close()
            self._gone.append(self._spare[0])
            self._spare = None
        self.await_end()
        self._scratch.cleanup()


def kill_session(process: Any) -> None:
    """Kill a process that leads a session, with everything it started there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def resident_bytes(pid: int) -> int:
    """Host memory that a process has in use; 0 where that cannot be read."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0
