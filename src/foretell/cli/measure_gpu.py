"""Measuring Python candidates on a GPU: tasks of the library, KernelBench problems, GPU MODE folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foretell.cli.errors import BadInput
from foretell.cli.output import progress_console

if TYPE_CHECKING:
    from foretell.kernels.bench.gpu.problem import Problem
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.measurement import Measurement


def measure_on_gpu(task: str, files: list[Path]) -> tuple[str, Device, list[tuple[Path, Candidate, Measurement]]]:
    """Measure each file against the task or problem; BadInput where either cannot be worked with."""
    from foretell.cli.inputs import read_text
    from foretell.kernels.bench.gpu.bench import GpuBench
    from foretell.kernels.bench.gpu.device import NoGpu, visible_gpus
    from foretell.kernels.bench.gpu.farm import GpuFarm
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.languages.python_source import language_of

    sources = [read_text(path, "a module with kernel(*inputs), ModelNew or custom_kernel(data)") for path in files]
    wanted = _problem(task)
    try:
        bench: GpuBench | GpuFarm = GpuFarm() if len(visible_gpus()) > 1 and len(files) > 1 else GpuBench()
    except NoGpu as error:
        raise BadInput(str(error), "a CUDA GPU for Python candidates", "measure a C++ file, or run it there") from error
    try:
        with progress_console().status("building") as status:
            candidates = [
                Candidate(wanted.name, language_of(source), source, Origin("person", {"file": path.name}))
                for path, source in zip(files, sources, strict=True)
            ]
            outcomes = {}
            for candidate, outcome in bench.measure_problem(wanted, list({c.id: c for c in candidates}.values())):
                outcomes[candidate.id] = outcome
                status.update(f"measured {len(outcomes)} of {len(files)}")
            found = [(path, c, outcomes[c.id]) for path, c in zip(files, candidates, strict=True)]
    finally:
        bench.close()
    return wanted.name, bench.device, found


def _problem(task: str) -> Problem:
    from foretell.extras import missing
    from foretell.kernels.bench.gpu.problem import TaskProblem, from_path

    path = Path(task)
    if path.suffix != ".py" and not path.is_dir():
        return TaskProblem(task)
    if not path.exists():
        raise BadInput(f"there is no file {path}", "a KernelBench problem or a GPU MODE folder", "check the path")
    try:
        return from_path(path)
    except ModuleNotFoundError as error:
        if missing(error) is not None:
            raise  # an extra of Foretell: said as for any other verb
        raise BadInput(f"{path} imports {error.name}, which is not installed", "its modules installed here") from error
    except ImportError as error:
        raise BadInput(f"{path} cannot be imported: {error}", "its modules installed here") from error
    except (ValueError, OSError) as error:
        expected = "a file with class Model and get_inputs, or a folder with reference.py and task.yml"
        raise BadInput(str(error), expected) from error
