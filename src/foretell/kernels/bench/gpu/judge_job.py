"""A judge behind the sandbox's walls: for tasks that are not the library's, whose own code makes what it judges by.

It asks its worker through the process that it was started by (`apart`), since it can start none itself, and hands over
the descriptor of the memory that it lends. Messages are JSON both ways.
"""

from __future__ import annotations

import faulthandler
import json
import os
import socket
from multiprocessing.connection import Connection
from typing import Any

from foretell.kernels.bench.gpu.channel import send_descriptor
from foretell.kernels.bench.gpu.handle import DeviceLost, WorkerFailed
from foretell.kernels.bench.gpu.judge import Judge
from foretell.kernels.bench.gpu.memory import is_out_of_memory
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Status
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.tasks import BadTask, from_spec


def serve(channel: socket.socket) -> None:
    """Judge candidates of one task until the bench hangs up; the first two messages say where, and of what task."""
    connection = Connection(channel.detach())
    opening = json.loads(connection.recv_bytes())
    os.environ.update(CUDA_VISIBLE_DEVICES=opening["gpu"], TRITON_CACHE_DIR=str(cache_dir() / "triton"))
    faulthandler.disable()
    judge: Judge | None = None
    while True:
        try:
            request = json.loads(connection.recv_bytes())
        except EOFError:
            return
        try:
            if request["do"] == "make":
                judge = _made(request, opening["platform"], RelayedWorker(connection))
                reply: dict[str, Any] = {"done": True}
            else:
                assert judge is not None
                reply = _judged(judge, request)
        except BadTask as refused:
            reply = {"refused": [refused.reason, refused.what, refused.expected, refused.do]}
            reply["full"] = is_out_of_memory(refused.__cause__)
        except DeviceLost as lost:
            reply = {"lost": str(lost)}
        except Exception as error:
            reply = {"full": True} if is_out_of_memory(error) else {"broken": f"{type(error).__name__}: {error}"}
        reply["spent_s"] = {} if judge is None else dict(judge.spent_s)
        _say(connection, reply)


def _made(request: dict[str, Any], platform_name: str, worker: RelayedWorker) -> Judge:
    from foretell.kernels.bench.gpu.platform import named

    task, device = from_spec(request["spec"]), Device.from_dict(request["device"])
    return Judge(task, worker, device, GpuEffort(**request["effort"]), named(platform_name))


def _judged(judge: Judge, request: dict[str, Any]) -> dict[str, Any]:
    if request["do"] == "open":
        judge.ensure_open()
        return {"done": True}
    candidate = Candidate(request["task"], request["language"], request["source"])
    outcome = judge.judge(candidate, request["hopeless_below"], request["traced"])
    return {"done": True, "measurement": outcome.to_dict()}


class RelayedWorker:
    """The bench's worker, asked through the bench."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.starts = 0
        self.alive = False

    def start(self) -> None:
        self._relay({"worker": "start"})

    def stop(self) -> None:
        self._relay({"worker": "stop"})

    def await_end(self) -> None:
        self._relay({"worker": "await_end"})

    def close(self) -> None:
        """The worker is the bench's to close."""

    def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        memory = command.pop("memory", None)
        message = {"worker": "ask", "timeout_s": timeout_s, "command": command, "lends": memory is not None}
        answer: dict[str, Any] = self._relay(message, memory)["answer"]
        return answer

    def _relay(self, message: dict[str, Any], memory: int | None = None) -> dict[str, Any]:
        _say(self._connection, message)
        if memory is not None:
            send_descriptor(self._connection, memory)
        reply: dict[str, Any] = json.loads(self._connection.recv_bytes())
        self.starts, self.alive = reply["starts"], reply["alive"]
        if "failed" in reply:
            status, words = reply["failed"]
            raise WorkerFailed(Status(status), words)
        if "lost" in reply:
            raise DeviceLost(reply["lost"])
        return reply


def _say(connection: Connection, message: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(message).encode())
