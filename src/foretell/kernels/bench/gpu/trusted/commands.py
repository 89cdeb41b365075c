"""The loop of a process of the trusted bench: commands from the judge, one answer in JSON to each.

Every command carries a token that its answer repeats, so that nothing can be answered before it was asked. A process
makes its context and loads what every role uses before it is told its role (`become`), so that spare ones stand ready.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import socket
import time
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any

from foretell.kernels.bench.gpu.channel import receive_descriptor
from foretell.kernels.bench.gpu.worker import MESSAGE_CHARACTERS, describe
from foretell.kernels.store.locations import cache_dir

_DESCRIPTOR_TIMEOUT_S = 10.0

Obey = Callable[[dict[str, Any]], dict[str, Any] | None]
Make = Callable[[Any, "Lent"], Obey]  # of a role: what obeys its commands on a platform, over lent memory


class Lent:
    """Memory that the judge has lent to this process, by name."""

    def __init__(self, platform: Any) -> None:
        self._platform = platform
        self._memories: dict[str, Any] = {}

    def borrow(self, name: str, descriptor: int, size: int) -> None:
        """Takes over the descriptor."""
        self._memories[name] = self._platform.borrow(descriptor, size)

    def give_back(self) -> None:
        """Unmap everything."""
        self._memories.clear()

    def tensors(self, name: str, places: Any) -> list[Any]:
        """Tensors at these places of a memory."""
        memory = self._memories[name].bytes
        return [place.within(memory) for place in places]

    def addresses(self, name: str, places: Any) -> list[int]:
        """The addresses of these places in a lent allocation."""
        start = self._memories[name].address
        return [start + place.offset_bytes for place in places]


def role(name: str) -> Make:
    """`replayer`, `light`, `live` or `source_job`: the module of that name in this package has it."""
    made: Make = import_module(f"{__package__}.{name}").make
    return made


def serve(channel: socket.socket) -> None:
    """Answer one judge until it hangs up."""
    _serve(channel, _opened)


def serve_light(channel: socket.socket) -> None:
    """As `serve`, in a context without torch: for the role `light` alone."""
    _serve(channel, _opened_bare)


def _opened(name: str) -> tuple[Any, dict[str, Any]]:
    from foretell.kernels.bench.gpu.platform import named
    from foretell.kernels.bench.gpu.trusted.replayer import rehearse

    moments = [time.perf_counter()]
    platform = named(name)
    device = platform.open()
    platform.forbid_persisting_l2()
    moments.append(time.perf_counter())
    rehearse(platform)
    moments.append(time.perf_counter())
    opened_s, rehearsed_s = (later - earlier for earlier, later in pairwise(moments))
    return platform, {"ready": device, "opened_s": opened_s, "rehearsed_s": rehearsed_s}


def _opened_bare(name: str) -> tuple[Any, dict[str, Any]]:
    from foretell.kernels.bench.gpu.platform import named

    started = time.perf_counter()
    device = named(name).bare()
    ready = device.open()
    return device, {"ready": ready, "opened_s": time.perf_counter() - started}


def _serve(channel: socket.socket, opened: Callable[[str], tuple[Any, dict[str, Any]]]) -> None:
    connection = Connection(channel.detach())
    opening = json.loads(connection.recv_bytes())
    os.environ.update(CUDA_VISIBLE_DEVICES=opening["gpu"], TRITON_CACHE_DIR=str(cache_dir() / "triton"))
    faulthandler.disable()
    try:
        platform, ready = opened(opening["platform"])
        lent = Lent(platform)
    except Exception as error:  # whatever keeps a process from starting is the machine's fault, and must be told
        text = f"{type(error).__name__}: {error}"[:MESSAGE_CHARACTERS]
        _answer(connection, {"status": "infrastructure", "message": text, "sticky": True})
        raise
    _answer(connection, ready)
    obey: Obey | None = None
    while True:
        try:
            command: dict[str, Any] = pickle.loads(connection.recv_bytes())  # from the judge, who trusts himself
        except EOFError:
            return
        token = command.pop("token")
        try:
            answer: dict[str, Any] = {}
            if command["do"] == "lend":
                descriptor = receive_descriptor(connection, _DESCRIPTOR_TIMEOUT_S)
                lent.borrow(command["name"], descriptor, command["size"])
            elif command["do"] in ("become", "fresh"):
                if command["do"] == "fresh":
                    obey = None
                    lent.give_back()
                    platform.renew()
                obey = role(command["role"])(platform, lent)
                answer = {"reusable": getattr(platform, "reusable", False)}
            else:
                assert obey is not None, "a process is told its role first"
                answer = obey(command) or {}
            _answer(connection, {"token": token} | answer)
        except BaseException as error:
            fault = _fault(error, platform)
            _answer(connection, {"token": token} | fault)
            if fault["sticky"]:
                os._exit(1)


def _fault(error: BaseException, platform: Any) -> dict[str, Any]:
    from foretell.kernels.program_check import InvalidProgram
    from foretell.kernels.record.replay import ReplayError

    try:
        platform.synchronize()
    except RuntimeError as later:  # a kernel may fail after its launch has returned
        error = later
    if isinstance(error, InvalidProgram):
        return {"status": "cheat", "message": f"its Program is invalid: {error}", "sticky": False}
    if isinstance(error, ReplayError):
        return {"status": "launch_error", "message": str(error), "sticky": False}
    return describe(error)


def _answer(connection: Connection, answer: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(answer).encode())
