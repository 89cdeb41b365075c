"""The worker's loop: takes commands from the judge, runs candidates on the device, answers in JSON.

A job of the sandbox's server for GPUs, which has torch and Triton imported but no CUDA context, so that a new worker
after a broken one is ready in well under a second. Answers are JSON and never pickles: the judge reads nothing
executable from here. Its files are those of its own scratch folder; what a builder made comes with the candidate.
"""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import json
import os
import pickle
import shutil
import socket
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from foretell.kernels.bench.gpu.channel import receive_descriptor
from foretell.kernels.languages import built
from foretell.kernels.languages.diagnostics import diagnostics, plain
from foretell.kernels.store.locations import cache_dir

MESSAGE_CHARACTERS = 2000
OUT_OF_MEMORY = "out of device memory"
_DESCRIPTOR_TIMEOUT_S = 10.0


def serve(channel: socket.socket) -> None:
    """Serve one judge until it hangs up, beginning with a message that says on which GPU and platform."""
    connection = Connection(channel.detach())
    opening = json.loads(connection.recv_bytes())
    base = cache_dir()
    os.environ.update(
        CUDA_VISIBLE_DEVICES=opening["gpu"],
        TRITON_CACHE_DIR=str(base / "triton"),
        TORCHINDUCTOR_CACHE_DIR=str(base / "inductor"),
    )
    faulthandler.disable()
    _serve(connection, opening["platform"], base)


def _serve(connection: Connection, platform_name: str, base: Path) -> None:
    import gc

    try:
        platform, snapshot, name = _ready(platform_name)
    except Exception as error:  # whatever keeps a worker from starting is the machine's fault, and must be told
        text = f"{type(error).__name__}: {error}"[:MESSAGE_CHARACTERS]
        _answer(connection, {"status": "infrastructure", "message": text, "sticky": True})
        raise
    gc.freeze()
    session: Any = None
    source: str | None = None
    _answer(connection, {"ready": name})
    while True:
        try:
            raw = connection.recv_bytes()
        except EOFError:
            return
        command: dict[str, Any] = pickle.loads(raw)  # from the judge, who trusts himself
        memory = receive_descriptor(connection, _DESCRIPTOR_TIMEOUT_S) if command["do"] == "task" else None
        try:
            if command["do"] in ("task", "close"):
                if session is not None:
                    session.close()
                session = None
                gc.collect()
                platform.let_go()
                if memory is not None:
                    session = open_session(platform, command, memory)
                _answer(connection, {"ok": True})
                continue
            assert session is not None
            if command["do"] in ("load", "unload"):
                _settle(source, command, base)
                source = command.get("source")
            _answer(connection, {"ok": True} | (obey(session, command, snapshot) or {}))
        except BaseException as error:
            fault = describe(_first_fatal(error, platform), source)
            _answer(connection, fault)
            if fault["sticky"]:
                os._exit(1)


def _settle(before: str | None, command: dict[str, Any], base: Path) -> None:
    """Have the caches hold what was built for the candidate that comes, and nothing of the one before."""
    built.use(None, base)
    if before is not None:
        shutil.rmtree(built.built_dir(before, base), ignore_errors=True)
    if command["do"] == "load":
        built.keep(command["source"], command.get("files", {}))
        built.use(command["source"], base)


def _ready(platform_name: str) -> tuple[Any, Any, str]:
    """The platform, ready; the state of the process before any candidate has run; the device's name.

    What the fork server could not import is imported here, before any candidate's clock runs.
    """
    import torch

    import foretell.kernels.bench.gpu.preload
    import foretell.kernels.bench.gpu.session  # noqa: F401 - before any candidate
    from foretell.kernels.bench.gpu.platform import named
    from foretell.kernels.bench.gpu.watch import Snapshot

    platform = named(platform_name)
    name = platform.open()
    with contextlib.suppress(
        ImportError
    ):  # no setuptools here: candidates that import it fail, with that as the reason
        import torch.utils.cpp_extension  # not in the fork server: importing it looks for a GPU
    torch.set_grad_enabled(False)
    platform.forbid_persisting_l2()
    torch.backends.cuda.matmul.allow_tf32 = False
    return platform, Snapshot(), name


def open_session(platform: Any, command: dict[str, Any], memory: int) -> Any:
    """The session that a `task` command asks for, in the memory that a descriptor stands for."""
    from foretell.kernels.bench.gpu.exhibit import found_in
    from foretell.kernels.bench.gpu.session import Session
    from foretell.kernels.tasks import from_spec

    lent = platform.borrow(memory, command["size"]).bytes
    inputs, rings = found_in(lent, pickle.loads(base64.b64decode(command["lent"])))
    sets = (command["checked"], command["timed"], command["destinations"])
    return Session(platform, from_spec(command["spec"]), inputs, rings, *sets)


def obey(session: Any, command: dict[str, Any], snapshot: Any) -> dict[str, Any] | None:
    """Do what a command says; what it answers besides `ok`."""
    do = command["do"]
    if do == "load":
        loaded: dict[str, Any] = session.load(command["source"], command["language"], snapshot)
        return loaded
    if do == "check":
        session.check(command["workload"], snapshot)
        return None
    if do == "prepare":
        return {"method": session.prepare(command["workload"])}
    if do == "pairs":
        samples: dict[str, Any] = session.pairs(command["workload"], command["order"], snapshot)
        return samples
    if do == "unload":
        session.unload()
        return None
    raise ValueError(f"unknown command {do!r}")


def _first_fatal(error: BaseException, platform: Any) -> BaseException:
    """What the device says once all is done, if it says anything: a kernel may fail after its launch has returned."""
    try:
        platform.synchronize()
    except RuntimeError as later:
        return later
    return error


def describe(error: BaseException, source: str | None = None) -> dict[str, Any]:
    """A candidate's exception as a typed failure: which kind, in what words, and whether the context survives it."""
    import torch

    from foretell.cuda import CompileError
    from foretell.kernels.bench.gpu.session import Refused, is_sticky
    from foretell.kernels.languages.python_source import NoEntry

    kind = type(error).__name__
    text = plain(f"{kind}: {error}", MESSAGE_CHARACTERS)
    sticky = is_sticky(error)
    if isinstance(error, Refused):
        return {"status": error.status, "message": str(error), "sticky": False}
    if sticky:
        return {"status": "crash", "message": text, "sticky": True}
    if isinstance(error, torch.OutOfMemoryError):
        torch.cuda.empty_cache()
        return {"status": "launch_error", "message": OUT_OF_MEMORY, "sticky": False}
    if kind in ("CompilationError", "PTXASError"):
        words = diagnostics(str(error), source or "")
        return {"status": "compile_error", "message": f"{kind}: {words}", "sticky": False}
    if isinstance(error, CompileError | NoEntry | SyntaxError) or kind == "NameError":
        return {"status": "compile_error", "message": text, "sticky": False}
    where = traceback.extract_tb(error.__traceback__)[-1]
    return {"status": "launch_error", "message": f"{text} (line {where.lineno})", "sticky": False}


def _answer(connection: Connection, answer: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(answer).encode())
