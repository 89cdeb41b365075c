"""The judge's end of a process of the trusted bench: started anew, lent memory, asked, and not believed."""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from foretell.kernels.bench.gpu.handle import Worker, WorkerFailed
from foretell.kernels.bench.gpu.trusted.stage import Room
from foretell.kernels.bench.gpu.trusted.verdict import is_time
from foretell.kernels.measurement import Status

JOB = "foretell.kernels.bench.gpu.trusted.commands:serve"
LIGHT_JOB = "foretell.kernels.bench.gpu.trusted.commands:serve_light"
REPLAYER, LIGHT, LIVE, SOURCE = "replayer", "light", "live", "source_job"  # roles of a process
BECOME_TIMEOUT_S = 60.0
NOT_ASKED = "answered something that it was not asked"


class ReferenceFailed(WorkerFailed):
    """The reference's process failed: not the fault of the candidate that is being judged, unless it changed inputs."""


class Process:
    """One process at a time, replaced by `renew`. Raises WorkerFailed, or DeviceLost if none can be started.

    Args:
        worker: Starts the processes and talks with them.
        role: What they are to be.
        failure: What is raised if one fails.
    """

    def __init__(self, worker: Worker, role: str, failure: type[WorkerFailed] = WorkerFailed) -> None:
        self._worker, self._role, self._failure = worker, role, failure
        self._reusable = False
        self.spent_s: dict[str, float] = defaultdict(float)

    def renew(self) -> None:
        """A process that has not been asked anything; the one before ends with all that it started."""
        started = time.perf_counter()
        self._worker.stop()
        self._worker.start()
        self.spent_s["start"] += time.perf_counter() - started
        answer = self.ask("become", BECOME_TIMEOUT_S, role=self._role)
        self._reusable = answer.get("reusable") is True

    def refresh(self) -> None:
        """A process without anything of the candidate before: with another context, or another process if need be."""
        if self._worker.alive and self._reusable:
            with suppress(WorkerFailed):  # then it is replaced
                self.ask("fresh", BECOME_TIMEOUT_S, role=self._role)
                return
        self.renew()

    @property
    def alive(self) -> bool:
        return self._worker.alive

    def stop(self) -> None:
        """End the process, which has nothing under way, without waiting for that."""
        self._worker.stop()

    def end(self) -> None:
        """End the process and wait until it is gone: a kernel of it may still be running."""
        self._worker.stop()
        self._worker.await_end()

    def close(self) -> None:
        self._worker.close()

    def lend(self, name: str, room: Room, timeout_s: float) -> None:
        """Let it map an allocation under a name."""
        self.ask("lend", timeout_s, name=name, size=room.memory.size, memory=room.descriptor)

    def ask(self, do: str, timeout_s: float, **details: Any) -> dict[str, Any]:
        """The answer to a command. A process that answers anything else is stopped."""
        token = secrets.token_hex(8)
        started = time.perf_counter()
        try:
            answer = self._worker.ask(timeout_s, do=do, token=token, **details)
        except WorkerFailed as failed:
            raise self._failure(failed.status, str(failed)) from failed
        finally:
            self.spent_s[do] += time.perf_counter() - started
        if answer.get("token") != token:
            self.stop()
            raise self._failure(Status.CHEAT, NOT_ASKED)
        return answer

    def run_us(self, timeout_s: float, workload: int, number: int, **details: Any) -> float:
        """Device time of one run, as the process claims it."""
        us = self.ask("run", timeout_s, workload=workload, set=number, **details).get("us")
        if not is_time(us):
            self.stop()
            raise self._failure(Status.CHEAT, NOT_ASKED)
        return float(us)  # type: ignore[arg-type]

    def batch_s(self, timeout_s: float, workload: int, order: list[int]) -> float:
        """Seconds by this process's clock from asking for runs back to back until they are done."""
        started = time.perf_counter()
        self.ask("batch", timeout_s, workload=workload, order=order)
        return time.perf_counter() - started


def spent_in(processes: Iterable[Process]) -> dict[str, float]:
    """Seconds that processes were waited for, by command."""
    spent: dict[str, float] = defaultdict(float)
    for process in processes:
        for name, value in list(process.spent_s.items()):
            spent[name] += value
    return spent
