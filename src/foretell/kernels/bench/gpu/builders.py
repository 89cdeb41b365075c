"""Builds in parallel on the CPU's cores: jobs in the sandbox that trace candidates on fake tensors and compile them."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from foretell.kernels.bench.gpu.build_job import build
from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import built
from foretell.kernels.languages.diagnostics import MESSAGE_CHARACTERS, plain
from foretell.kernels.languages.python_source import is_extension
from foretell.kernels.limits import BUILDER_LIMITS, Limits
from foretell.kernels.measurement import Status
from foretell.kernels.protocols import Build
from foretell.kernels.record.tracing import MULTIPROCESSORS
from foretell.kernels.sandbox import Ending, ForkServer, Job, JobFailed
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.task import Task
from foretell.received import MOST_ANSWER_VALUES, parsed

# For the few extensions that only torch's own builder can build: its headers alone take a minute.
_LIMITS = replace(BUILDER_LIMITS, answer_bytes=1 << 20)
EXTENSION_LIMITS = replace(_LIMITS, wall_s=240.0, cpu_s=240.0, memory_bytes=16 << 30)
CLOSE_TIMEOUT_S = 5.0
PRELOAD = "foretell.kernels.bench.gpu.preload_builders"
_JOB = "foretell.kernels.bench.gpu.build_job:job"
_STATUSES = {
    Ending.TIMED_OUT: Status.TIMEOUT,
    Ending.FORGED: Status.CHEAT,
    Ending.NO_SERVER: Status.INFRASTRUCTURE,
}


_SERVER_STARTS = threading.Lock()


def build_server() -> ForkServer:
    """The sandbox's server that all builders of this process share. Raises NoSandbox where there can be none."""
    with _SERVER_STARTS:  # `cache` alone would start one per thread, and the jobs of all but the last would be lost
        return _build_server()


@cache
def _build_server() -> ForkServer:
    folder = cache_dir() / built.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    return ForkServer((PRELOAD,), readable=(folder,))


def prepare_extensions(source: str) -> None:
    """Have what such an extension is linked with compiled by us, where jobs in the sandbox find it."""
    _prepare_extensions("cuda" in source.lower() or "__global__" in source)


@cache
def _prepare_extensions(cuda: bool) -> None:
    from foretell.kernels.languages.extension.errors import ExtensionError
    from foretell.kernels.languages.extension.support import support_objects
    from foretell.kernels.languages.extension.toolchain import nvcc

    with contextlib.suppress(ExtensionError):  # the build will say so
        support_objects(cuda=cuda and nvcc() is not None)


class BuilderPool:
    """As many builds at a time as there are cores, each in a sandboxed process of its own.

    They build for a GPU of that compute capability with so many multiprocessors. Raises NoSandbox if foreign code
    cannot be walled in here.
    """

    def __init__(
        self,
        capability: int,
        processes: int | None = None,
        launcher: bool = False,
        multiprocessors: int = MULTIPROCESSORS,
        server: ForkServer | None = None,
    ) -> None:
        self._settings = {"capability": capability, "launcher": launcher, "multiprocessors": multiprocessors}
        self._server = server or build_server()
        self._jobs: queue.Queue[tuple[dict[str, Any], Future[Build]] | None] = queue.Queue()
        self._count = processes or os.cpu_count() or 2
        self._threads: list[threading.Thread] = []
        self._under_way: set[Job] = set()
        self._made: dict[tuple[str, str], Future[Build]] = {}

    def submit(self, task: Task, candidate: Candidate) -> Future[Build]:
        """A future of the build; the same candidate of the same task is built once."""
        key = (task.identity, candidate.id)
        if key not in self._made:
            future: Future[Build] = Future()
            self._made[key] = future
            job = {"spec": task.spec, "source": candidate.source, "language": candidate.language, **self._settings}
            self._jobs.put((job, future))
            if len(self._threads) < self._count:
                thread = threading.Thread(target=self._keep_busy, daemon=True)
                self._threads.append(thread)
                thread.start()
        return self._made[key]

    @property
    def under_way(self) -> int:
        """How many builds have been started and have not ended."""
        return len(self._under_way)

    def close(self) -> None:
        """Stop at once: what waits is dropped, what is being built is given up."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
        for _ in self._threads:
            self._jobs.put(None)
        deadline = time.monotonic() + CLOSE_TIMEOUT_S
        while any(thread.is_alive() for thread in self._threads) and time.monotonic() < deadline:
            for job in list(self._under_way):
                job.cancel()
            time.sleep(0.05)

    def _keep_busy(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, future = item
            try:
                future.set_result(self._build(job))
            except Exception as error:  # whatever went wrong, someone waits for this build
                future.set_result(Build(Status.INFRASTRUCTURE, f"no builder: {type(error).__name__}: {error}"))

    def _build(self, job: dict[str, Any]) -> Build:
        started = time.perf_counter()
        limits = EXTENSION_LIMITS if is_extension(job["source"]) else _LIMITS
        problem = built.problem_of(job["spec"])
        folder = built.built_dir(job["source"], problem=problem)
        if is_extension(job["source"]):
            prepare_extensions(job["source"])
        for seed in (folder, None) if folder.is_dir() else (None,):
            found, files = self._answered(job, limits, seed)
            if found.ok:
                break  # otherwise it may have stumbled over what it left the last time
        if found.ok and not folder.is_dir():
            built.keep(job["source"], files, problem)
        return replace(found, seconds=time.perf_counter() - started)

    def _answered(self, job: Mapping[str, Any], limits: Limits, seed: Path | None) -> tuple[Build, Mapping[str, bytes]]:
        """What a job says of a build, and the files that it left; `seed` is what its cache starts with."""
        under_way: Job | None = None
        try:
            under_way = self._server.submit(_JOB, json.dumps(job).encode(), limits, built.KEPT, seed)
            self._under_way.add(under_way)
            result = under_way.result()
        except JobFailed as failure:
            status = _STATUSES.get(failure.ending, Status.COMPILE_ERROR)
            words = "the compiler crashed: " if status is Status.COMPILE_ERROR else ""
            return Build(status, plain(f"{words}{failure}", 300)), {}
        finally:
            if under_way is not None:
                self._under_way.discard(under_way)
        return _read(result.answer), result.files


def _read(answer: bytes) -> Build:
    """The build that a job tells of; it is foreign code's word, so only its form is trusted."""
    try:
        told = Build.from_dict(parsed(answer, most_values=MOST_ANSWER_VALUES) | {"seconds": 0.0})
    except (ValueError, TypeError, KeyError, RecursionError):
        return Build(Status.CHEAT, "wrote to the builder's own channel")
    return replace(told, message=plain(told.message, MESSAGE_CHARACTERS))


def build_here(
    candidates: Sequence[tuple[Task, Candidate]], capability: int, multiprocessors: int = MULTIPROCESSORS
) -> list[Build]:
    """Build one's own sources one after the other in this process, with no sandbox: for tests. Leaves Triton's driver
    unset.
    """
    settings = {"capability": capability, "launcher": False, "multiprocessors": multiprocessors}
    return [
        build({"spec": task.spec, "source": c.source, "language": c.language, **settings}) for task, c in candidates
    ]
