"""The loop of a process of the trusted bench: commands from the judge, one answer in JSON to each.

Every command carries a token that its answer repeats, so that nothing can be answered before it was asked.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import socket
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from foretell.kernels.bench.gpu.channel import receive_descriptor
from foretell.kernels.bench.gpu.worker import MESSAGE_CHARACTERS, describe
from foretell.kernels.store.locations import cache_dir

_DESCRIPTOR_TIMEOUT_S = 10.0

Obey = Callable[[dict[str, Any]], dict[str, Any] | None]


class Lent:
    """Memory that the judge has lent to this process, by name."""

    def __init__(self, platform: Any) -> None:
        self._platform = platform
        self._memories: dict[str, Any] = {}

    def borrow(self, name: str, descriptor: int, size: int) -> None:
        """Takes over the descriptor."""
        self._memories[name] = self._platform.borrow(descriptor, size).bytes

    def tensors(self, name: str, places: Any) -> list[Any]:
        """Tensors at these places of a memory."""
        return [place.within(self._memories[name]) for place in places]


def serve(channel: socket.socket, make: Callable[[Any, Lent], Obey]) -> None:
    """Answer one judge until it hangs up. `make(platform, lent)` returns what obeys commands other than `lend`."""
    connection = Connection(channel.detach())
    opening = json.loads(connection.recv_bytes())
    os.environ.update(CUDA_VISIBLE_DEVICES=opening["gpu"], TRITON_CACHE_DIR=str(cache_dir() / "triton"))
    faulthandler.disable()
    try:
        from foretell.kernels.bench.gpu.platform import named

        platform = named(opening["platform"])
        name = platform.open()
        platform.forbid_persisting_l2()
        lent = Lent(platform)
        obey = make(platform, lent)
    except Exception as error:  # whatever keeps a process from starting is the machine's fault, and must be told
        text = f"{type(error).__name__}: {error}"[:MESSAGE_CHARACTERS]
        _answer(connection, {"status": "infrastructure", "message": text, "sticky": True})
        raise
    _answer(connection, {"ready": name})
    while True:
        try:
            command: dict[str, Any] = pickle.loads(connection.recv_bytes())  # from the judge, who trusts himself
        except EOFError:
            return
        token = command.pop("token")
        try:
            if command["do"] == "lend":
                descriptor = receive_descriptor(connection, _DESCRIPTOR_TIMEOUT_S)
                lent.borrow(command["name"], descriptor, command["size"])
                answer: dict[str, Any] = {}
            else:
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
