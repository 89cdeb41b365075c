"""The sandbox's server that processes of the GPU bench are forked from: workers, their spares, judges of problems."""

from __future__ import annotations

import threading
from functools import lru_cache
from pathlib import Path

from foretell.kernels.sandbox import ForkServer
from foretell.kernels.task import Task

PRELOAD = "foretell.kernels.bench.gpu.preload"
_DATA_SUFFIX = ".safetensors"
_STARTS = threading.Lock()


def gpu_server(data: tuple[Path, ...] = ()) -> ForkServer:
    """The server of this process; another one for jobs that read data files. Raises NoSandbox if there can be none."""
    with _STARTS:
        return _server(data)


@lru_cache(maxsize=4)
def _server(data: tuple[Path, ...]) -> ForkServer:
    return ForkServer((PRELOAD,), gpu=True, data=data)


def data_of(task: Task) -> tuple[Path, ...]:
    """The files that a task's inputs are read from: of the one kind that holds tensors and nothing else.

    A spec that was received may name any path, but none by way of a link.
    """
    from foretell.kernels.tasks.flashinfer import INPUTS

    sources = [
        source
        for workload in (*task.workloads, *task.extra)
        for source in workload.arguments.get(INPUTS, {}).values()
        if isinstance(source, dict) and "path" in source
    ]
    paths = {Path(str(source["path"])) for source in sources}
    return tuple(sorted(path for path in paths if path.suffix == _DATA_SUFFIX and path.resolve() == path))
