"""The judge's end of a worker: starts it, asks, waits with a limit, and replaces it when it is gone."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import signal
from typing import Any

from foretell.kernels.measurement import Status
from foretell.kernels.store.locations import cache_dir

START_TIMEOUT_S = 60.0


class WorkerFailed(Exception):
    """The candidate failed in the worker; the worker may be gone."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class DeviceLost(Exception):
    """No worker can be started on the device: the machine's fault."""


def fork_server() -> Any:
    """A context whose processes start with torch and Triton already imported, but no CUDA context."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["foretell.kernels.bench.gpu.preload"])
    return context


class WorkerHandle:
    """One worker process on one GPU."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._process: Any = None
        self._connection: Any = None
        self.starts = 0

    def start(self) -> None:
        """Start the worker if it is not running; DeviceLost if it does not come up."""
        if self._process is not None and self._process.is_alive():
            return
        self.stop()
        from foretell.kernels.bench.gpu import worker

        context = fork_server()
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=worker.main, args=(theirs, self._index, str(cache_dir())), daemon=True)
        self._process.start()
        theirs.close()
        self.starts += 1
        try:
            self._receive(START_TIMEOUT_S)
        except WorkerFailed as failure:
            raise DeviceLost(f"no worker starts on GPU {self._index}: {failure}") from failure

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        """Send a command and return the answer; WorkerFailed with the candidate's status otherwise."""
        try:
            self._connection.send_bytes(pickle.dumps(command))
        except (BrokenPipeError, OSError) as error:
            self.stop()
            raise WorkerFailed(Status.CRASH, "the worker is gone") from error
        return self._receive(timeout_s)

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        if not self._connection.poll(timeout_s):
            self.stop()
            raise WorkerFailed(Status.TIMEOUT, f"did not finish within {timeout_s:g} s and was stopped")
        try:
            answer = json.loads(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            self._process.join(5)
            code = self._process.exitcode
            self.stop()
            how = f"died of {signal.Signals(-code).name}" if code and code < 0 else f"left with exit code {code}"
            raise WorkerFailed(Status.CRASH, how) from error
        except ValueError as error:
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

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.is_alive()

    def stop(self) -> None:
        """Kill the worker and its session."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join(10)
        self._connection.close()
        self._process = None
