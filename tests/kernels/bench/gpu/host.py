"""A stand-in for the GPU: the CPU as the device, and a worker in this process. No graphs, no L2, no faults."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from foretell.kernels.bench.gpu.handle import WorkerFailed
from foretell.kernels.bench.gpu.judge import Judge
from foretell.kernels.bench.gpu.session import Session
from foretell.kernels.bench.gpu.watch import Snapshot
from foretell.kernels.bench.gpu.worker import describe, obey, open_session
from foretell.kernels.device import Device
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.task import Task, Workload
from foretell.testing.host import Host, HostEvent

DEVICE = Device("stand-in", "gpu", 1, 1e9, 1e13, {"float32": 1e13}, 1 << 30, 1 << 20, 16, ("torch", "triton"), "")
# The judge's clock, unlike the stand-in's, goes on while others have the processors.
EFFORT = GpuEffort(method="worker", clock_slack_s=30.0, run_timeout_s=60.0, memory_slack_us=5000.0, most_pairs=10)


class LocalWorker:
    """Obeys the judge as the real worker does, in this process; `asked` is what it was asked to do."""

    def __init__(self, platform: Host) -> None:
        self.platform = platform
        self._session: Session | None = None
        self._snapshot = Snapshot()
        self.asked: list[str] = []
        self.starts = 0

    @property
    def alive(self) -> bool:
        return self.starts > 0

    def start(self) -> None:
        self.starts = max(self.starts, 1)

    def stop(self) -> None:
        self.starts += 1

    def await_end(self) -> None:
        pass

    def close(self) -> None:
        pass

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        self.asked.append(command["do"])
        if command["do"] == "task":
            self._session = open_session(self.platform, command, os.dup(command["memory"]))
            return {}
        if command["do"] == "close":
            return {}
        assert self._session is not None
        try:
            with torch.no_grad():
                return obey(self._session, command, self._snapshot) or {}
        except Exception as error:
            fault = describe(error)
            raise WorkerFailed(Status(fault["status"]), fault["message"]) from error


def softmax() -> Task:
    """A task of the library at sizes that a CPU interprets in a moment."""
    timed = (Workload({"rows": 6, "cols": 128}), Workload({"rows": 10, "cols": 64}))
    return replace(get("softmax", "gpu"), workloads=timed, extra=(Workload({"rows": 3, "cols": 40}),))


class GraphEvent(HostEvent):
    record_in_graph = HostEvent.record


class Graphs(Host):
    """A stand-in that can capture: a replay does everything again, or nothing, as where launches were not captured."""

    def __init__(self, whole: bool) -> None:
        super().__init__()
        self._whole = whole

    def event(self) -> GraphEvent:
        return GraphEvent()

    def capture(self, stream: Any, pool: Any, work: Callable[[int], None]) -> Callable[[], None]:
        work(0)
        return (lambda: work(0)) if self._whole else (lambda: None)


def judge_of(
    task: Task, effort: GpuEffort = EFFORT, platform: Host | None = None, device: Device = DEVICE
) -> tuple[Judge, LocalWorker]:
    """A judge with its worker, both here."""
    platform = platform or Host()
    worker = LocalWorker(platform)
    judge = Judge(task, worker, device, effort, platform=platform)
    return judge, worker
