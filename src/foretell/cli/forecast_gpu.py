"""Forecasts for a GPU that need not be there: built for it where compilers are installed, from the source where not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.cli.errors import BadInput
from foretell.cli.output import progress_console

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.protocols import Build


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


def read_gpu_candidates(task: str, paths: Sequence[Path]) -> list[Candidate]:
    """One candidate a file; the language is read off the source."""
    from foretell.cli.inputs import read_text
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.languages.python_source import language_of

    found = []
    for path in paths:
        source = read_text(path, "a module with kernel(*inputs)", f"foretell tasks {task} --reference")
        found.append(Candidate(task, language_of(source), source, Origin("person", {"file": path.name})))
    return found


def build_for(device: Device, task: str, candidates: Sequence[Candidate]) -> list[Build | None]:
    """Builds for the device, in processes of their own; None where no compiler is installed."""
    try:
        import torch  # noqa: F401
        import triton  # noqa: F401
    except ImportError:
        return [None] * len(candidates)
    from foretell.kernels.bench.gpu.builders import BuilderPool
    from foretell.kernels.bench.gpu.problem import TaskProblem

    capability = int(device.toolchain.removeprefix("sm_").split(",")[0])
    pool = BuilderPool(capability, min(len(candidates), 2))
    try:
        with progress_console().status(f"building for {device.name}"):
            futures = [pool.submit(TaskProblem(task).spec, candidate) for candidate in candidates]
            return [future.result() for future in futures]
    finally:
        pool.close()
