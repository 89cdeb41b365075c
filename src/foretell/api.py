"""The public API: `import foretell as ft`, then `ft.task`, `ft.forecast`, `ft.explain`, `ft.measure`, `ft.search`.

The command line parses words, calls these functions and prints what they return. A task or candidate may be given as a
value, as a path, or by name; see docs/api.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from foretell.auditing import audit
from foretell.errors import BadInput

if TYPE_CHECKING:
    from foretell.explaining import Account
    from foretell.explaining_cpu import CpuAccount
    from foretell.forecasting import Prediction
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.protocols import Bench, Forecaster, Proposer
    from foretell.kernels.search import RunJournal
    from foretell.kernels.search.driver import OnEvent
    from foretell.kernels.task import Task
    from foretell.measuring import Outcome
    from foretell.parts import Parts
    from foretell.run import Run

    TaskLike = Task | str | Path
    CandidateLike = Candidate | str | Path

__all__ = ["BadInput", "audit", "explain", "forecast", "measure", "new_run", "open_run", "search", "task"]
DEVICE_EXPLAINED = "h200"


def task(reference: TaskLike, kind: str | None = None, sizes: Mapping[str, int] | None = None) -> Task:
    """The task that a name or path stands for; a Task is returned as it is.

    Args:
        reference: A name of the library, or the path of a problem file, folder or definition (docs/tasks.md).
        kind: `cpu` or `gpu`: the sizes that a task of the library is wanted at; by default those of a CPU.
        sizes: Sizes to change, such as `{"rows": 64}`.

    Raises:
        BadInput: The task is for the other kind of device; the file or folder is not a task (BadTask); or there is no
            such task in the library (UnknownTask).
    """
    from foretell.inputs import for_kind
    from foretell.kernels import library
    from foretell.kernels.task import Task
    from foretell.kernels.tasks import is_path, load

    if not isinstance(reference, Task):
        name = str(reference)
        if kind is None and not isinstance(reference, Path) and not is_path(name):
            kind = "gpu" if name not in library.tasks() and name in library.tasks("gpu") else "cpu"
        reference = load(reference, kind or "cpu", sizes)
    return reference if kind is None else for_kind(reference, kind)


@overload
def forecast(  # type: ignore[overload-overlap]
    task: TaskLike,
    candidates: CandidateLike,
    *,
    device: str | Device | None = ...,
    forecaster: str | Forecaster | None = ...,
    source_only: bool = ...,
    reference_ms: float | None = ...,
) -> Prediction: ...
@overload
def forecast(
    task: TaskLike,
    candidates: Sequence[CandidateLike],
    *,
    device: str | Device | None = ...,
    forecaster: str | Forecaster | None = ...,
    source_only: bool = ...,
    reference_ms: float | None = ...,
) -> list[Prediction]: ...
def forecast(
    task: TaskLike,
    candidates: CandidateLike | Sequence[CandidateLike],
    *,
    device: str | Device | None = None,
    forecaster: str | Forecaster | None = None,
    source_only: bool = False,
    reference_ms: float | None = None,
) -> Prediction | list[Prediction]:
    """Predict the speedup and the chance of failure of candidates, without running them on the device.

    Args:
        task: The task, or its name or path.
        candidates: One candidate (a path, a text or a Candidate), or a list of them.
        device: The GPU to forecast for, which need not be there: `h200`, `a100`, ...; by default, and for `cpu`, this
            machine's CPU.
        forecaster: Name of a forecaster, or one of your own; by default `online` on the CPU. For a GPU it is `features`
            for Triton and CUDA kernels of the library's tasks, or if nothing may be recorded, else `program`.
        source_only: Neither build nor record: forecast from the source alone.
        reference_ms: The reference's time on that GPU at the first workload, if it is known.

    Returns:
        A Prediction, or a list of them for a list of candidates.
    """
    from foretell.forecasting import forecast_on_gpu, usual_forecaster
    from foretell.inputs import candidate_of
    from foretell.parts import forecaster_named

    single = not isinstance(candidates, Sequence) or isinstance(candidates, str)
    listed: Sequence[CandidateLike] = [candidates] if single else candidates  # type: ignore[assignment,list-item]
    if device is None or _is_cpu(device):
        predictions = _forecast_on_cpu(task, listed, forecaster or "online", source_only)
    else:
        gpu, gpu_task = _device(device), _task(task, "gpu")
        read = [candidate_of(gpu_task, each, gpu) for each in listed]
        reference_us = None if reference_ms is None else reference_ms * 1e3
        groups: dict[str | Forecaster, list[Candidate]] = {}
        for each in read:
            groups.setdefault(forecaster or usual_forecaster(gpu_task, each.language, source_only), []).append(each)
        by_id: dict[str, Prediction] = {}
        for chosen, members in groups.items():
            model = forecaster_named(chosen) if isinstance(chosen, str) else chosen
            for prediction in forecast_on_gpu(gpu_task, members, gpu, model, source_only, reference_us):
                by_id[prediction.candidate.id] = prediction
        predictions = [by_id[each.id] for each in read]
    return predictions[0] if single else predictions


def _forecast_on_cpu(
    task: TaskLike, listed: Sequence[CandidateLike], forecaster: str | Forecaster, source_only: bool
) -> list[Prediction]:
    from foretell.forecasting import forecast_on_cpu
    from foretell.inputs import candidate_of
    from foretell.parts import bench_of, forecaster_named

    cpu_task = _task(task, "cpu")
    model = forecaster_named(forecaster) if isinstance(forecaster, str) else forecaster
    with bench_of("cpu") as bench:
        candidates = [candidate_of(cpu_task, each, bench.device) for each in listed]
        builds = [None] * len(candidates) if source_only else bench.build(cpu_task, candidates)
        return forecast_on_cpu(cpu_task, candidates, bench.device, model, builds)


def explain(
    task: TaskLike,
    candidate: CandidateLike | None = None,
    *,
    device: str | Device | None = None,
    workload: int = 1,
    reference_ms: float | None = None,
) -> Account | CpuAccount:
    """Where the time goes, without timing anything: the reference and a candidate side by side.

    For a GPU, which need not be there, by recording, dry run and roofline; for this machine's CPU by the roofline and
    what the machine code shows.

    Args:
        task: The task, or its name or path.
        candidate: What to put beside the reference.
        device: The GPU to explain it for, or `cpu`; by default the CPU for C++ and for tasks that only a CPU has, else
            an `h200`.
        workload: Number of the workload, counted from 1.
        reference_ms: The reference's time there, if it is known.
    """
    from foretell.explaining import account, kind_to_explain
    from foretell.explaining_cpu import account_on_cpu
    from foretell.inputs import candidate_of
    from foretell.parts import bench_of

    on_cpu = _is_cpu(device) if device is not None else kind_to_explain(task, candidate) == "cpu"
    chosen = _task(task, "cpu" if on_cpu else "gpu")
    workloads = (*chosen.workloads, *chosen.extra)
    if not 1 <= workload <= len(workloads):
        raise BadInput(f"there is no workload {workload}", f"a number from 1 to {len(workloads)}")
    at = workloads[workload - 1]
    if on_cpu:
        with bench_of("cpu") as bench:
            read = None if candidate is None else candidate_of(chosen, candidate, bench.device)
            return account_on_cpu(chosen, at, read, bench, reference_ms)
    target = _device(device or DEVICE_EXPLAINED)
    read = None if candidate is None else candidate_of(chosen, candidate, target)
    return account(chosen, at, read, target, reference_ms)


@overload
def measure(  # type: ignore[overload-overlap]
    task: TaskLike, candidates: CandidateLike, *, bench: Bench | None = ..., keep: bool = ...
) -> Outcome: ...
@overload
def measure(
    task: TaskLike, candidates: Sequence[CandidateLike], *, bench: Bench | None = ..., keep: bool = ...
) -> list[Outcome]: ...
def measure(
    task: TaskLike,
    candidates: CandidateLike | Sequence[CandidateLike],
    *,
    bench: Bench | None = None,
    keep: bool = True,
) -> Outcome | list[Outcome]:
    """Check and time candidates against the task's reference, on this machine's CPU or GPU.

    Args:
        task: The task, or its name or path.
        candidates: One candidate (a path, a text or a Candidate), or a list of them.
        bench: Where to measure; by default the CPU for a task with a C++ reference, else this machine's GPU.
        keep: Put results into the user's catalogue, from which forecasters learn.
    """
    from foretell.measuring import kind_for, measure_all
    from foretell.parts import bench_of

    single = not isinstance(candidates, Sequence) or isinstance(candidates, str)
    listed: Sequence[CandidateLike] = [candidates] if single else candidates  # type: ignore[assignment,list-item]
    if bench is not None:
        outcomes = measure_all(_task(task, bench.device.kind), listed, bench, keep)
    else:
        kind = kind_for(task, listed)
        resolved = _task(task, kind)
        with bench_of(kind, "measure a C++ file, or use a machine with a GPU", len(listed)) as own:
            outcomes = measure_all(resolved, listed, own, keep)
    return outcomes[0] if single else outcomes


def search(
    task: TaskLike,
    *,
    start: CandidateLike | None = None,
    language: str | None = None,
    proposer: str | Callable[[str], str] | Proposer | None = None,
    run: str | Path | None = None,
    keep: bool = True,
    bench: Bench | None = None,
    on_event: OnEvent | None = None,
    **settings: Any,
) -> Run:
    """Search for a faster kernel, and return the finished run.

    Args:
        task: The task, or its name or path.
        start: A kernel to start from (a path, a text or a Candidate), which is measured first. Without a proposer its
            own tunable constants are changed (`knobs`).
        language: `cpp` (this CPU), `triton`, `cuda` or `torch` (this machine's GPU); by default that of the start, or
            what the task is for.
        proposer: Who writes candidates: a name (`template`, `crossover`, `knobs`, a language model as in docs/lm.md), a
            function that takes a prompt and returns a language model's answer, or a Proposer.
        run: Directory for the run; by default `runs/TASK-N`.
        keep: With False the run is kept in memory alone.
        bench: Where to measure; by default this machine's.
        on_event: Called after each event, with the event and the state.
        **settings: `measurements`, `seconds`, `candidates`, `profile`, `policy`, `forecaster`, `strategy`, `seed`,
            `use_catalogue`.
    """
    made = new_run(task, start=start, language=language, proposer=proposer, run=run, keep=keep, bench=bench, **settings)
    with made:
        return made.carry_on(on_event)


def new_run(
    task: TaskLike,
    *,
    start: CandidateLike | None = None,
    language: str | None = None,
    proposer: str | Callable[[str], str] | Proposer | None = None,
    run: str | Path | None = None,
    keep: bool = True,
    bench: Bench | None = None,
    use_catalogue: bool = True,
    **settings: Any,
) -> Run:
    """A run that is not started yet; arguments as those of `search`."""
    from foretell.kernels.search import UNPROPOSED, FileJournal, MemoryJournal
    from foretell.parts import Wishes, kind_of, new_parts, own_proposer
    from foretell.run import Run
    from foretell.runs import new_run as new_directory

    first = None if start is None else _start(task, start, language, proposer)
    run_language = language or (first.language if first is not None else None)
    run_language = run_language or ("cpp" if globals()["task"](task).device_kind == "cpu" else "triton")
    resolved = _task(task, kind_of(run_language))
    named = proposer if isinstance(proposer, str) or proposer is None else None
    wishes = Wishes.of(settings, proposer=named or (UNPROPOSED if proposer is not None else None))
    parts = own_proposer(new_parts(resolved, wishes, run_language, first), proposer)

    def journal() -> RunJournal:
        return (
            FileJournal(new_directory(resolved.name, None if run is None else Path(run))) if keep else MemoryJournal()
        )

    return Run(resolved, lambda: parts, journal, bench, use_catalogue)


def open_run(
    path: str | Path,
    *,
    task: TaskLike | None = None,
    language: str | None = None,
    proposer: str | Callable[[str], str] | Proposer | None = None,
    bench: Bench | None = None,
    use_catalogue: bool = True,
    must_exist: bool = False,
    **settings: Any,
) -> Run:
    """The run in a directory, to be read, asked, told or carried on; a new one if there is none and a task is given.

    Args:
        path: The directory, or the name of a run below `runs/`.
        task: For a new run, its task; for one that is there it must be the same.
        language: For a new run, as in `search`.
        proposer: A function or Proposer that takes part from now on, or the name of the run's own; `told` leaves the
            run's own out, so that candidates come by `tell` alone.
        bench: Where to measure; by default this machine's.
        use_catalogue: Reuse measurements made before, and keep new ones.
        must_exist: Raise NoRun if there is none, instead of starting one.
        **settings: For a new run, as in `search`. Budgets that are larger than the run's continue it, also if it is
            finished.
    """
    from foretell.kernels.search import UNPROPOSED, FileJournal, load_run, started_here
    from foretell.kernels.store import NoRun
    from foretell.kernels.tasks import of_run
    from foretell.parts import Wishes, check_same, own_proposer, parts_of_run
    from foretell.received_limits import size_of, within_limits
    from foretell.run import Run
    from foretell.runs import existing_run

    directory = existing_run(path)
    if directory is None and must_exist:
        raise NoRun(Path(path))
    if directory is None:
        if task is None:
            raise BadInput(f"there is no run {path}", "the directory of a run, or a task to start one there")
        writer = UNPROPOSED if proposer is None else proposer
        return new_run(task, language=language, proposer=writer, run=path, bench=bench, use_catalogue=use_catalogue,
                       **settings)  # fmt: skip
    with within_limits(directory, size_of(directory)):
        state = load_run(directory)
        kind = state.device.kind
        resolved = of_run(state.config, kind) if task is None else _task(task, kind)
    outside = proposer == UNPROPOSED
    named = proposer if isinstance(proposer, str) and not outside else None
    wishes = Wishes.of(settings, proposer=named, language=language)
    check_same(resolved, directory, state.config, wishes)
    config = {**state.config, "proposer": UNPROPOSED} if outside else state.config

    def parts() -> Parts:
        return own_proposer(parts_of_run(resolved, directory, config, wishes, started_here(state)), proposer)

    return Run(resolved, parts, FileJournal(directory), bench, use_catalogue)


def _task(reference: TaskLike, kind: str) -> Task:
    return task(reference, kind)


def _is_cpu(device: str | Device) -> bool:
    return device == "cpu" if isinstance(device, str) else device.kind == "cpu"


def _start(reference: TaskLike, start: CandidateLike, language: str | None, proposer: object) -> Candidate:
    """The kernel to start from. Raises BadInput if its constants are to be tuned in another language."""
    from foretell.inputs import start_kind, start_of

    first = start_of(_task(reference, start_kind(start, task(reference))), start)
    if language not in (None, first.language) and proposer in (None, "knobs"):
        raise BadInput(f"the kernel to start from is {first.language}, not {language}", "the same language, or none")
    return first


def _device(device: str | Device) -> Device:
    from foretell.forecasting import device_named

    return device_named(device) if isinstance(device, str) else device
