"""Builds in parallel on the CPU's cores: builder processes that trace candidates on fake tensors and compile them."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from foretell.kernels.bench.gpu.channel import Forged, receive
from foretell.kernels.bench.gpu.handle import fork_server, kill_session
from foretell.kernels.candidate import Candidate
from foretell.kernels.isolation import close_all_but, scrubbed_environment
from foretell.kernels.languages.extension import is_bare
from foretell.kernels.languages.python_source import NoEntry, entry_of, is_extension, load_module, unload
from foretell.kernels.measurement import Status
from foretell.kernels.protocols import Build
from foretell.kernels.record.tracing import MULTIPROCESSORS
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.task import Task

if TYPE_CHECKING:
    from foretell.kernels.tasks.runtime import Runtime

BUILD_TIMEOUT_S = 40.0
EXTENSION_TIMEOUT_S = 240.0  # for the few that only torch's own builder can build: its headers alone take a minute
CLOSE_TIMEOUT_S = 5.0
MESSAGE_CHARACTERS = 2000


class BuilderPool:
    """As many builder processes as cores, started when first needed; each is killed and replaced if a build hangs.

    They build for a GPU of that compute capability with so many multiprocessors.
    """

    def __init__(
        self,
        capability: int,
        processes: int | None = None,
        launcher: bool = False,
        multiprocessors: int = MULTIPROCESSORS,
    ) -> None:
        self._settings = (capability, launcher, multiprocessors)
        self._jobs: queue.Queue[tuple[dict[str, Any], Future[Build]] | None] = queue.Queue()
        self._count = processes or os.cpu_count() or 2
        self._threads: list[threading.Thread] = []
        self._at_work: list[_Builder] = []
        self._made: dict[tuple[str, str], Future[Build]] = {}

    def submit(self, task: Task, candidate: Candidate) -> Future[Build]:
        """A future of the build; the same candidate of the same task is built once."""
        key = (task.identity, candidate.id)
        if key not in self._made:
            future: Future[Build] = Future()
            self._made[key] = future
            job = {"spec": task.spec, "source": candidate.source, "language": candidate.language}
            self._jobs.put((job, future))
            if len(self._threads) < self._count:
                thread = threading.Thread(target=self._keep_busy, daemon=True)
                self._threads.append(thread)
                thread.start()
        return self._made[key]

    def close(self) -> None:
        """Stop at once: what waits is dropped, what is being built is given up."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
        for _ in self._threads:
            self._jobs.put(None)
        deadline = time.monotonic() + CLOSE_TIMEOUT_S
        while any(thread.is_alive() for thread in self._threads) and time.monotonic() < deadline:
            for builder in self._at_work:
                builder.interrupt()
            time.sleep(0.05)

    def _keep_busy(self) -> None:
        builder = _Builder(*self._settings)
        self._at_work.append(builder)
        while (item := self._jobs.get()) is not None:
            job, future = item
            try:
                future.set_result(builder.build(job))
            except Exception as error:  # whatever went wrong, someone waits for this build
                builder.stop()
                future.set_result(Build(Status.INFRASTRUCTURE, f"no builder: {type(error).__name__}: {error}"))
        builder.stop()


class _Builder:
    """One builder process."""

    def __init__(self, capability: int, launcher: bool, multiprocessors: int) -> None:
        self._settings = (capability, launcher, multiprocessors)
        self._process: Any = None
        self._connection: Any = None

    def build(self, job: dict[str, Any]) -> Build:
        started = time.perf_counter()
        if self._process is None:
            context = fork_server()
            self._connection, theirs = context.Pipe()
            arguments = (theirs, *self._settings, str(cache_dir()))
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            self._process = process
            theirs.close()
        try:
            self._connection.send_bytes(json.dumps(job).encode())
            limit_s = EXTENSION_TIMEOUT_S if is_extension(job["source"]) else BUILD_TIMEOUT_S
            raw = receive(self._connection, limit_s)
        except TimeoutError:
            self.stop()
            return Build(Status.TIMEOUT, f"the build did not finish within {limit_s:g} s")
        except (EOFError, OSError):
            self.stop()
            return Build(Status.COMPILE_ERROR, "the compiler crashed", seconds=time.perf_counter() - started)
        except Forged:
            raw = b""
        seconds = time.perf_counter() - started
        try:
            answer = json.loads(raw)
            return Build(Status(answer["status"]), answer["message"], answer["features"], None, seconds)
        except (ValueError, TypeError, KeyError):
            self.stop()
            return Build(Status.CHEAT, "wrote to the builder's own channel", seconds=seconds)

    def interrupt(self) -> None:
        """From another thread: the build under way ends as a crash of the compiler."""
        process = self._process
        if process is not None:
            kill_session(process)

    def stop(self) -> None:
        if self._process is not None:
            kill_session(self._process)
            self._process.join(5)
            self._connection.close()
            self._process = None


def _serve(connection: Connection, capability: int, launcher: bool, multiprocessors: int, cache: str) -> None:
    """A builder's loop: no GPU, no secrets, one job after the other, behind whatever measures."""
    os.setsid()
    os.nice(5)
    kept = scrubbed_environment()
    os.environ.clear()
    os.environ.update(
        kept, FORETELL_CACHE=cache, TRITON_CACHE_DIR=f"{cache}/triton", HOME=cache, CUDA_VISIBLE_DEVICES=""
    )
    os.environ["TORCH_CUDA_ARCH_LIST"] = f"{capability // 10}.{capability % 10}"
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    close_all_but(connection.fileno())
    while True:
        try:
            job = json.loads(connection.recv_bytes())
        except EOFError:
            return
        answer = _build(job, capability, launcher, multiprocessors)
        connection.send_bytes(json.dumps(answer.to_dict()).encode())


def _build(job: dict[str, Any], capability: int, launcher: bool, multiprocessors: int) -> Build:
    from foretell.kernels.record.tracing import fake_mode, launch_features, trace
    from foretell.kernels.tasks import BadTask, from_spec
    from foretell.kernels.tasks.runtime import runtime_of

    task = from_spec(job["spec"])
    try:
        runtime = runtime_of(task)
    except BadTask as error:
        return Build(Status.OK, f"not traced: {error}"[:300], {})  # the judge says so, where the user sees it
    counts: list[int] = []

    def run() -> None:
        with runtime.modules():
            module = load_module(job["source"])
        try:
            with fake_mode():
                entry = entry_of(module, runtime.init_inputs, reference=runtime.traced_reference)
                for workload in (*task.workloads, *task.extra):
                    entry(*runtime.traced_inputs(workload))
                    counts.append(1)
        finally:
            unload(module)

    if job["language"] == "torch":
        return _build_torch(job["source"], runtime)
    try:
        launches = trace(run, capability, launcher, multiprocessors)
    except (SyntaxError, NoEntry) as error:
        return Build(Status.COMPILE_ERROR, f"{type(error).__name__}: {error}"[:MESSAGE_CHARACTERS])
    except Exception as error:
        kind = type(error).__name__
        text = f"{kind}: {error}"[:MESSAGE_CHARACTERS]
        if (
            kind
            in (
                "CompilationError",
                "CompileError",
                "PTXASError",
                "NameError",
                "OutOfResources",
                "UnsupportedLanguageConstruct",
            )
            or "PassManager" in text
        ):
            return Build(Status.COMPILE_ERROR, text)
        # Host code that fake tensors cannot follow (reading values, raw pointers) is left to the worker.
        return Build(Status.OK, f"not traced: {text}"[:300], {})
    features = launch_features(launches[: max(1, len(launches) // max(1, len(counts)))], capability)
    return Build(Status.OK, "", features)


def _build_torch(source: str, runtime: Runtime) -> Build:
    """Plain torch programs have nothing to compile beforehand; extensions are built here, for the worker to find."""
    try:
        if not is_bare(source):
            compile(source, "candidate.py", "exec")
        if is_extension(source):
            with runtime.modules():
                unload(load_module(source))
    except (SyntaxError, ValueError, ImportError, RuntimeError, OSError) as error:
        return Build(Status.COMPILE_ERROR, f"{type(error).__name__}: {error}"[:MESSAGE_CHARACTERS])
    return Build(Status.OK, "", {})


def build_here(
    candidates: Sequence[tuple[Task, Candidate]], capability: int, multiprocessors: int = MULTIPROCESSORS
) -> list[Build]:
    """Build one after the other in this process: for tests and single files. Leaves Triton's driver unset."""
    return [
        _build({"spec": task.spec, "source": c.source, "language": c.language}, capability, False, multiprocessors)
        for task, c in candidates
    ]
