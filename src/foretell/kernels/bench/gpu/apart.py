"""Judging a task that is not the library's: its judge is a process behind the sandbox's walls, and this is its user.

The task's code may run there, so what comes from it is read as one reads a stranger's file: a measurement, a refusal,
or a command for the worker, which is passed on. A task's author decides what is right for it; nothing else is theirs.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, replace
from typing import Any

from foretell.kernels.bench.gpu.channel import Forged, receive, receive_descriptor, send
from foretell.kernels.bench.gpu.handle import READ_S, SEND_S, DeviceLost, Worker, WorkerFailed, opening_of
from foretell.kernels.bench.gpu.memory import MemoryFull
from foretell.kernels.bench.gpu.nvml import conditions
from foretell.kernels.bench.gpu.server import data_of, gpu_server
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.languages.diagnostics import plain
from foretell.kernels.limits import GPU_PROCESS_LIMITS
from foretell.kernels.measurement import Measurement
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.sandbox import Ending, JobFailed
from foretell.kernels.task import Task
from foretell.kernels.tasks.refusal import BadTask, Refusal

MESSAGE_CHARACTERS = 2000
_JOB = "foretell.kernels.bench.gpu.judge_job:serve"
_MOST_SILENCES = 4  # how many times its time limit a judge may take for one candidate, worker included
_COMMANDS = ("task", "close", "load", "check", "prepare", "pairs", "unload")


class JudgeApart:
    """As `Judge`, in a process of its own.

    Raises BadTask if the task's code cannot be worked with, MemoryFull if its data does not fit, DeviceLost if the
    process cannot be started, NoSandbox if foreign code cannot be walled in here.
    """

    def __init__(self, task: Task, worker: Worker, device: Device, effort: GpuEffort, platform: str) -> None:
        self._task, self._worker, self._device, self._effort = task, worker, device, effort
        self.spent_s: dict[str, float] = {}
        self._is_made = False
        try:
            self._talk = gpu_server(data_of(task)).converse(_JOB, GPU_PROCESS_LIMITS)
            send(self._talk.connection, opening_of(platform), SEND_S)
        except (JobFailed, OSError) as failure:
            raise DeviceLost(f"no judge can be started: {failure}") from failure
        try:
            self._request({"do": "make", "spec": task.spec, "device": device.to_dict(), "effort": asdict(effort)})
        except BaseException:
            self._talk.ending()
            raise
        self._is_made = True

    @property
    def alive(self) -> bool:
        return self._talk.alive

    def judge(self, candidate: Candidate, hopeless_below: float | None = None, traced: bool = True) -> Measurement:
        """Check and time one candidate; DeviceLost where no worker can be had, or the judge is gone."""
        about = {"task": candidate.task, "language": candidate.language, "source": candidate.source}
        reply = self._request({"do": "judge", **about, "hopeless_below": hopeless_below, "traced": traced})
        try:
            outcome = Measurement.from_dict(reply["measurement"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._gone("it answered in its own way") from error
        timed = outcome.conditions.get("timed")
        state = {**conditions(), **({"timed": plain(str(timed))} if timed else {})}
        words = plain(outcome.message, MESSAGE_CHARACTERS), plain(outcome.method, MESSAGE_CHARACTERS)
        return replace(outcome, message=words[0], method=words[1], device=self._device.id, conditions=state)

    def ensure_open(self) -> None:
        """A worker that knows the task."""
        self._request({"do": "open"})

    def close(self) -> None:
        """End the judge, and the worker: the task's code ran there too."""
        self._worker.stop()
        self._talk.ending()

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ask the judge for something, and pass on what it asks of the worker until it is done."""
        end = time.monotonic() + _MOST_SILENCES * self._effort.task_timeout_s
        try:
            self._say(request)
            while "worker" in (message := self._hear(end)):
                self._say(self._relayed(message))
        except BadTask:
            raise
        except (OSError, EOFError) as error:
            ending, how = self._talk.ending(by_itself=True)
            raise self._gone(how, ending is Ending.NO_SERVER) from error
        except (ValueError, TypeError, KeyError, Forged, RecursionError) as error:
            raise self._gone("it answered in its own way") from error
        spent = message.get("spent_s")
        if isinstance(spent, dict):
            self.spent_s = {str(name): float(value) for name, value in spent.items() if isinstance(value, float | int)}
        if message.get("full"):
            raise MemoryFull
        if "refused" in message:
            raise _refusal(message["refused"])
        if "broken" in message:
            raise self._gone(str(message["broken"]))
        if "lost" in message:
            raise DeviceLost(plain(str(message["lost"]), MESSAGE_CHARACTERS))
        return message

    def _say(self, message: dict[str, Any]) -> None:
        send(self._talk.connection, json.dumps(message).encode(), SEND_S)

    def _hear(self, end: float) -> dict[str, Any]:
        """The judge's next message, in time and before the end."""
        limit_s = self._effort.task_timeout_s
        deadline = min(end, time.monotonic() + limit_s)
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not self._talk.connection.poll(left_s):
            self._talk.ending()
            what = f"the code of {self._task.name} did not finish within {limit_s:g} s and was stopped"
            raise BadTask(Refusal.DOES_NOT_RUN, what, "code that ends", "use smaller sizes (--size)")
        message = json.loads(receive(self._talk.connection, max(READ_S, deadline - time.monotonic())))
        if not isinstance(message, dict):
            raise Forged("not a message")
        return message

    def _relayed(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the worker says to a command of the judge, who has none for it before there is data."""
        if not self._is_made:
            raise Forged("a command for the worker before its time")
        reply: dict[str, Any] = {}
        try:
            match message["worker"]:
                case "start":
                    self._worker.start()
                case "stop":
                    self._worker.stop()
                case "await_end":
                    self._worker.await_end()
                case "ask":
                    reply["answer"] = self._ask(message)
                case _:
                    raise Forged("no command of a worker")
        except WorkerFailed as failure:
            reply["failed"] = [failure.status, str(failure)]
        except DeviceLost as lost:
            reply["lost"] = str(lost)
        return {**reply, "starts": self._worker.starts, "alive": self._worker.alive}

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        command, timeout_s = dict(message["command"]), float(message["timeout_s"])
        if command.get("do") not in _COMMANDS or bool(message["lends"]) != (command["do"] == "task"):
            raise Forged("no command of a worker")
        timeout_s = min(timeout_s, self._effort.task_timeout_s)
        if not message["lends"]:
            return self._worker.ask(timeout_s, **command)
        memory = receive_descriptor(self._talk.connection, READ_S)
        try:
            return self._worker.ask(timeout_s, **command, memory=memory)
        finally:
            os.close(memory)

    def _gone(self, how: str, by_machine: bool = False) -> Exception:
        """The judge's process is of no more use: its task's fault, unless that was known to work."""
        self._talk.ending()
        how = plain(how, MESSAGE_CHARACTERS)
        if self._is_made or by_machine:
            return DeviceLost(f"the process that judges {self._task.name} is gone: {how}")
        return BadTask(
            Refusal.DOES_NOT_RUN, f"the code of {self._task.name} ended its process: {how}", "code that runs"
        )


def _refusal(told: Any) -> BadTask:
    try:
        reason, what, expected, do = told
        texts = [plain(str(text), MESSAGE_CHARACTERS) for text in (what, expected, do)]
        return BadTask(Refusal(reason), *texts)
    except (ValueError, TypeError):
        return BadTask(Refusal.DOES_NOT_RUN, "the code of the task answered in its own way", "code that runs")
