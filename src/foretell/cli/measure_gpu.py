"""Measuring Python candidates on a GPU, whatever source their task is from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foretell.cli.errors import BadInput
from foretell.cli.output import progress_console

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.measurement import Measurement
    from foretell.kernels.task import Task


def measure_on_gpu(task: Task, files: list[Path]) -> tuple[Device, list[tuple[Path, Candidate, Measurement]]]:
    """Measure each file against the task; BadInput if a file or the machine is unsuitable."""
    from foretell.kernels.bench.gpu.bench import GpuBench
    from foretell.kernels.bench.gpu.device import NoGpu, visible_gpus
    from foretell.kernels.bench.gpu.farm import GpuFarm
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.languages.python_source import language_of

    sources = [_source(task, path) for path in files]
    try:
        bench: GpuBench | GpuFarm = GpuFarm() if len(visible_gpus()) > 1 and len(files) > 1 else GpuBench()
    except NoGpu as error:
        raise BadInput(str(error), "a CUDA GPU for Python candidates", "measure a C++ file, or run it there") from error
    try:
        with progress_console().status("building") as status:
            candidates = [
                Candidate(task.key, language_of(source), source, Origin("person", {"file": path.name}))
                for path, source in zip(files, sources, strict=True)
            ]
            outcomes = {}
            for candidate, outcome in bench.measure(task, list({c.id: c for c in candidates}.values())):
                outcomes[candidate.id] = outcome
                status.update(f"measured {len(outcomes)} of {len(files)}")
            found = [(path, c, outcomes[c.id]) for path, c in zip(files, candidates, strict=True)]
    finally:
        bench.close()
    return bench.device, found


def _source(task: Task, path: Path) -> str:
    """A candidate's text: a Python module as it is, a FlashInfer-Bench solution as the module that it amounts to."""
    from foretell.cli.inputs import read_text
    from foretell.kernels.tasks.solution import BadSolution, module_of

    text = read_text(path, "a module with ModelNew, custom_kernel(data), kernel(*inputs) or run(*inputs)")
    if path.suffix != ".json":
        return text
    try:
        return module_of(text, task)
    except BadSolution as error:
        raise BadInput(f"{path}: {error.what}", error.expected) from error
