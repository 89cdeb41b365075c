"""Forecasts for a GPU that need not be there: built for it where compilers are installed, from the source where not."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.cli.errors import BadInput
from foretell.cli.output import progress_console

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.protocols import Build
    from foretell.kernels.task import Task

_CUDA_HINT = "put CUDA text into a Python module with foretell.cuda.compile"


def device_named(name: str) -> Device:
    """The described device of that name; BadInput lists those there are."""
    from foretell.kernels.devices import UnknownDevice, described, names

    try:
        found = described(name)
    except UnknownDevice as error:
        raise BadInput(str(error), f"one of {', '.join(names())}") from error
    if found.kind != "gpu":
        raise BadInput(f"{name} is not a GPU", "a GPU, or no --device for this machine's CPU")
    return found


def read_gpu_candidates(task: Task, paths: Sequence[Path]) -> list[Candidate]:
    """One candidate a file; the language is read off the source."""
    from foretell.cli.inputs import read_text
    from foretell.cli.tasks import reference_command
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.languages.python_source import language_of

    found = []
    for path in paths:
        if path.suffix.lower() in (".cpp", ".cc", ".cxx", ".cu", ".cuh", ".c", ".h"):
            raise BadInput(
                f"{path} is C++ or CUDA by its ending", "a Python module with kernel(*inputs), for a GPU", _CUDA_HINT
            )
        source = read_text(path, "a module with kernel(*inputs)", reference_command(task.name, "gpu"))
        found.append(Candidate(task.key, language_of(source), source, Origin("person", {"file": path.name})))
    return found


def parsed(candidate: Candidate) -> Build | None:
    """What is known before any build: a source that is no Python will not build. None where there is nothing to say."""
    from foretell.kernels.measurement import Status
    from foretell.kernels.protocols import Build

    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(candidate.source)
    except SyntaxError as error:
        return Build(Status.COMPILE_ERROR, f"not a Python module: {error.msg} (line {error.lineno})")
    except (ValueError, RecursionError, MemoryError) as error:
        return Build(Status.COMPILE_ERROR, f"not a Python module: {error}")
    return None


def start_builders() -> None:
    """Let the builders' server import torch and Triton, which takes long, while this process gets ready to forecast."""
    if _can_build():
        from foretell.kernels.bench.gpu.builders import build_server

        build_server().start()


def _can_build() -> bool:
    return find_spec("torch") is not None and find_spec("triton") is not None


def build_for(device: Device, task: Task, candidates: Sequence[Candidate]) -> list[Build | None]:
    """Builds for the device, in processes of their own; without compilers, what `parsed` says."""
    if not _can_build():
        return [parsed(candidate) for candidate in candidates]
    from foretell.kernels.bench.gpu.builders import BuilderPool
    from foretell.kernels.multiprocessor import capability_of

    pool = BuilderPool(capability_of(device), min(len(candidates), 2), multiprocessors=device.cores)
    try:
        with progress_console().status(f"building for {device.name}"):
            futures = [pool.submit(task, candidate) for candidate in candidates]
            return [future.result() for future in futures]
    finally:
        pool.close()
