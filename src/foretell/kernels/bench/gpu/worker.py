"""The worker's loop: takes commands from the judge, runs candidates on the device, answers in JSON.

Started by a fork server that has torch and Triton imported but no CUDA context, so that a new worker after a broken one
is ready in well under a second. Answers are JSON and never pickles: the judge reads nothing executable from here.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import pickle
import resource
import tempfile
import traceback
from multiprocessing.connection import Connection
from typing import Any

from foretell.kernels.bench.gpu.channel import close_all_but
from foretell.kernels.languages import built
from foretell.kernels.languages.diagnostics import diagnostics, plain
from foretell.kernels.sandbox import scrubbed_environment
from foretell.kernels.store.locations import cache_dir

MESSAGE_CHARACTERS = 2000
OUT_OF_MEMORY = "out of device memory"


def main(connection: Connection, gpu: str, cache: str, scratch: str) -> None:
    """Serve one judge until it hangs up. Runs in a fresh process of its own session."""
    os.setsid()
    kept = scrubbed_environment()
    os.environ.clear()
    os.environ.update(kept, FORETELL_CACHE=cache, TRITON_CACHE_DIR=f"{cache}/triton", CUDA_VISIBLE_DEVICES=gpu)
    os.environ["HOME"] = cache
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{cache}/inductor"
    os.environ["TMPDIR"] = tempfile.mkdtemp(dir=scratch)
    close_all_but(connection.fileno())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    faulthandler.disable()
    _serve(connection)


def _serve(connection: Connection) -> None:
    import gc

    try:
        platform, snapshot = _ready()
    except Exception as error:  # whatever keeps a worker from starting is the machine's fault, and must be told
        text = f"{type(error).__name__}: {error}"[:MESSAGE_CHARACTERS]
        _answer(connection, {"status": "infrastructure", "message": text, "sticky": True})
        raise
    import torch

    gc.freeze()
    session: Any = None
    base, source = cache_dir(), None
    _answer(connection, {"ready": torch.cuda.get_device_name()})
    while True:
        try:
            raw = connection.recv_bytes()
        except EOFError:
            return
        command: dict[str, Any] = pickle.loads(raw)  # from the judge, who trusts himself
        try:
            if command["do"] in ("task", "close"):
                if session is not None:
                    session.close()
                session = None
                gc.collect()
                platform.let_go()
                if command["do"] == "task":
                    session = open_session(platform, command)
                _answer(connection, {"ok": True})
                continue
            assert session is not None
            if command["do"] in ("load", "unload"):
                source = command.get("source")
                built.use(source, base)
            _answer(connection, {"ok": True} | (obey(session, command, snapshot) or {}))
        except BaseException as error:
            fault = describe(_first_fatal(error, platform), source)
            _answer(connection, fault)
            if fault["sticky"]:
                os._exit(1)


def _ready() -> tuple[Any, Any]:
    """The platform with a CUDA context, and the state of the process before any candidate has run.

    What the fork server could not import is imported here, before any candidate's clock runs.
    """
    import torch

    import foretell.kernels.bench.gpu.preload
    import foretell.kernels.bench.gpu.session  # noqa: F401 - before any candidate
    from foretell.kernels.bench.gpu.platform import Cuda
    from foretell.kernels.bench.gpu.tuning import hurry_autotuner
    from foretell.kernels.bench.gpu.watch import Snapshot

    torch.cuda.init()
    major, minor = torch.cuda.get_device_capability()
    os.environ["TORCH_CUDA_ARCH_LIST"] = f"{major}.{minor}"  # as in the builders, so that extensions are found built
    torch.zeros(1, device="cuda")
    with contextlib.suppress(
        ImportError
    ):  # no setuptools here: candidates that import it fail, with that as the reason
        import torch.utils.cpp_extension  # not in the fork server: importing it looks for a GPU
    torch.set_grad_enabled(False)
    hurry_autotuner()
    platform = Cuda()
    platform.forbid_persisting_l2()
    torch.backends.cuda.matmul.allow_tf32 = False
    return platform, Snapshot()


def open_session(platform: Any, command: dict[str, Any]) -> Any:
    """The session that a `task` command asks for."""
    from foretell.kernels.bench.gpu.session import Session
    from foretell.kernels.tasks import from_spec

    inputs, rings = pickle.loads(command["lent"])
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
