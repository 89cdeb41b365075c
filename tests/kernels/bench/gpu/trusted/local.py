"""Processes of the trusted bench on the CPU: in this process, or as forks of it without walls."""

from __future__ import annotations

import multiprocessing
import os
import socket
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any

import torch

from foretell.kernels.bench.gpu import settings
from foretell.kernels.bench.gpu.channel import send
from foretell.kernels.bench.gpu.handle import WorkerFailed, WorkerHandle, opening_of
from foretell.kernels.bench.gpu.platform import name_of
from foretell.kernels.bench.gpu.trusted import commands
from foretell.kernels.bench.gpu.trusted.commands import Lent, _fault
from foretell.kernels.bench.gpu.trusted.judge import ReplayJudge
from foretell.kernels.bench.gpu.trusted.pool import LightPool
from foretell.kernels.bench.gpu.trusted.process import Process
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.devices import described
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.record import record
from foretell.kernels.record.refusal import Recording
from foretell.kernels.sandbox.jobs import Ending
from foretell.kernels.task import Task, Workload
from foretell.kernels.tasks import from_spec
from foretell.testing.host import Host
from tests.kernels.bench.gpu.host import DEVICE

# The judge's clock, unlike the stand-in's, goes on while others have the processors.
EFFORT = GpuEffort(
    method="replay", clock_slack_s=30.0, replay_clock_slack_us=3e7, memory_slack_us=1e7, run_timeout_s=60.0,
    load_timeout_s=120.0, most_pairs=6, replay_sets=2, replay_batches=1, physics_margin=1e9,
)  # fmt: skip


class LocalProcess:
    """A role of the trusted bench in this process. `asked` is what it was asked; `starts` counts fresh ones."""

    def __init__(self, role: str, platform: Host) -> None:
        self.platform, self.role = platform, role
        self.starts, self.asked = 0, []  # type: ignore[var-annotated]
        self._obey: Any = None
        self._lent: Any = None

    @property
    def alive(self) -> bool:
        return self._obey is not None

    def start(self) -> None:
        if not self.alive:
            self.starts += 1
            device: Any = self.platform.bare() if self.role == "light" else self.platform
            self._lent = Lent(device)
            with self._apart():
                self._obey = commands.role(self.role)(device, self._lent)

    def _apart(self) -> Any:
        """A process of its own would keep what it sets to itself; a light one sets nothing, and runs in threads."""
        return nullcontext() if self.role == "light" else settings.under(settings.current())

    def stop(self) -> None:
        self._obey = self._lent = None

    await_end = close = stop

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        token, memory = command.pop("token"), command.pop("memory", None)
        if command["do"] in ("become", "fresh"):
            self.asked.append(command["do"])
            assert command["role"] == self.role
            if command["do"] == "fresh":
                self.stop()
                self.start()
            return {"token": token, "reusable": self.role == "light"}
        self.asked.append(command["do"])
        if command["do"] == "lend":
            self._lent.borrow(command["name"], os.dup(memory), command["size"])
            return {"token": token}
        try:
            with self._apart():
                return {"token": token} | (self._obey(command) or {})
        except Exception as error:
            fault = _fault(error, self.platform)
            raise WorkerFailed(Status(fault["status"]), fault["message"]) from error


class _Talk:
    """A fork that serves a job, with the interface of a sandbox's conversation."""

    def __init__(self, job: Callable[[socket.socket], None]) -> None:
        ours, theirs = socket.socketpair()

        def child() -> None:
            ours.close()
            torch.set_num_threads(1)  # the threads of this process's OpenMP are not in a fork of it
            job(theirs)

        self._process = multiprocessing.get_context("fork").Process(target=child, daemon=True)
        self._process.start()
        theirs.close()
        self.connection = Connection(ours.detach())
        self._hung_up = False

    @property
    def alive(self) -> bool:
        return not self._hung_up and not self.ended

    @property
    def ended(self) -> bool:
        return not self._process.is_alive()

    def hang_up(self) -> None:
        if not self._hung_up:
            self._hung_up = True
            self.connection.close()
            self._process.kill()

    def ending(self, by_itself: bool = False) -> tuple[Ending, str]:
        if by_itself:
            self._process.join(5)
        self.hang_up()
        self._process.join()
        return Ending.DIED, f"died with exit code {self._process.exitcode}"


class _Forks:
    """Forks of this process that serve a job, with the interface of `Spares`."""

    def __init__(self, job: Callable[[socket.socket], None], platform: Host) -> None:
        self._job, self._opening = job, opening_of(name_of(platform))

    def take(self) -> _Talk:
        talk = _Talk(self._job)
        with suppress(OSError):
            send(talk.connection, self._opening, 10.0)
        return talk

    def fill(self) -> None:
        pass


def forked(job: str | Callable[[socket.socket], None], platform: Host) -> WorkerHandle:
    """A worker without walls: processes for a role, or a function of this process, which may be hostile."""
    served = commands.serve_light if job == "light" else commands.serve
    spares: Any = _Forks(served if isinstance(job, str) else job, platform)
    return WorkerHandle(spares=spares)


@lru_cache(maxsize=64)
def _recorded(spec: str, number: int, source: str | None, language: str) -> Recording:
    import json

    task = from_spec(json.loads(spec))
    return record(task, [*task.workloads, *task.extra][number], source, language, described("h200"))


def recorded(task: Task, workload: Workload, source: str | None, language: str, device: Device) -> Recording:
    """A recording made in this process, once."""
    import json

    number = [*task.workloads, *task.extra].index(workload)
    return _recorded(json.dumps(task.spec), number, source, language)


class Judging(ReplayJudge):
    """A judge that closes its pool, which nobody else has."""

    def close(self) -> None:
        super().close()
        self._pool.close()


def judge_of(
    task: Task, platform: Host | None = None, start: Any = None, record: Any = recorded, **changes: Any
) -> tuple[ReplayJudge, dict[str, list[Any]]]:
    """A judge with its processes, by job in the order in which they were made."""
    platform = platform or Host()
    workers: dict[str, list[Any]] = {}

    def started(role: str) -> Any:
        worker = (start or LocalProcess)(role, platform)
        workers.setdefault(role, []).append(worker)
        return worker

    def record_all(task: Task, source: str | None, language: str, device: Device) -> list[Recording]:
        return [record(task, workload, source, language, device) for workload in (*task.workloads, *task.extra)]

    effort = replace(EFFORT, **changes)
    pool = LightPool([Process(started("light"), "light") for _ in range(effort.replay_light)])
    judge = Judging(task, DEVICE, effort, platform, started, record_all, pool)
    return judge, workers


def judged(task: Task, source: str, **details: Any) -> Measurement:
    judge, _ = judge_of(task, **details)
    try:
        return judge.judge(Candidate(task.key, "torch", source))
    finally:
        judge.close()
