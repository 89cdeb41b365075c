"""`foretell measure`: check and time kernels of your own against a task's reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli.errors import FAILED, plainly
from foretell.cli.options import TaskOrProblem
from foretell.cli.output import AsJson, command_line, document, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.measurement import Measurement
    from foretell.kernels.protocols import Bench
    from foretell.kernels.task import Task

    Found = tuple[Path, Candidate, Measurement]

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="Sources that define the task's entry point.", show_default=False),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=N", help="Another size: of the workloads, or a number in the task's file (may be repeated)."
    ),
]
MESSAGE_LINES = 8


@plainly
def measure(task: TaskOrProblem, files: Files, size: Sizes = None, as_json: AsJson = False) -> None:
    """Check and time your kernels against the task's reference.

    C++ files run on this machine's CPU; Python files (Triton, CUDA, torch), bare CUDA files and FlashInfer-Bench
    solutions on its GPU.
    """
    from foretell.cli.inputs import load_task

    if all(path.suffix in (".py", ".cu", ".json") for path in files):
        from foretell.cli.measure_gpu import measure_on_gpu

        wanted = load_task(task, "gpu", size or ())
        device, found = measure_on_gpu(wanted, files)
    else:
        wanted = load_task(task, "cpu", size or ())
        device, found = _measure_on_cpu(wanted, files)
    if as_json:
        document(_document(wanted, device, found))
    else:
        _show(task, wanted, device, found)
    if not all(outcome.ok for _, _, outcome in found):
        raise typer.Exit(FAILED)


def _measure_on_cpu(task: Task, files: list[Path]) -> tuple[Device, list[Found]]:
    from foretell.cli.inputs import read_candidates
    from foretell.kernels.bench.cpu import CpuBench

    bench = CpuBench()
    try:
        candidates = read_candidates(task, bench.device, files)
        found = []
        with progress_console().status("building") as status:
            for number, (candidate, path) in enumerate(zip(candidates, files, strict=True), start=1):
                status.update(f"measuring {path.name} ({number} of {len(files)})")
                for _, outcome in bench.measure(task, [candidate]):
                    found.append((path, candidate, outcome))
                    _keep(task, bench, candidate, outcome)
    finally:
        bench.close()
    return bench.device, found


def _keep(task: Task, bench: Bench, candidate: Candidate, outcome: Measurement) -> None:
    """Put it into the catalogue, so that the forecaster can learn from it."""
    from foretell.cli.parts import catalogue

    [build] = bench.build(task, [candidate])
    if build.ok:
        catalogue().put(task, candidate, build, bench.device, outcome)


def _document(task: Task, device: Device, found: list[Found]) -> dict[str, Any]:
    return {
        "task": task.name,
        "identity": task.identity,
        "device": device.to_dict(),
        "results": [{"file": str(path), "id": c.id} | outcome.to_dict() for path, c, outcome in found],
    }


def _show(reference: str, task: Task, device: Device, found: list[Found]) -> None:
    from rich.markup import escape

    from foretell.report.conditions import contention

    console = people()
    console.print(f"[bold]{escape(task.name)}[/] on {escape(device.name)}\n", highlight=False)
    for path, _, outcome in found:
        show_outcome(path, outcome)
    disturbance = contention(outcome for _, _, outcome in found)
    if disturbance:
        console.print(f"[yellow]{disturbance}[/]\n", highlight=False)
    best = max((outcome for _, _, outcome in found if outcome.ok), key=lambda o: o.log2_speedup, default=None)
    if best is not None:
        console.print(f"[dim]{best.method}[/]\n")
        if device.kind == "cpu" and task.kind == "library":
            console.print(f"Next: [bold]{command_line('search', reference)}[/] to see how much faster it can get")
    else:
        command = command_line("tasks", task.name, "--kind", device.kind)
        checked = f"; [bold]{command}[/] shows what is checked" if task.kind == "library" else ""
        console.print(f"Next: fix it and measure again{checked}")


def show_outcome(path: Path, outcome: Measurement) -> None:
    """The speedup with its workloads, or the failure with its message."""
    from rich.markup import escape
    from rich.table import Table

    from foretell.report.candidates import KINDS
    from foretell.report.numbers import seconds, times

    console = people()
    name = escape(str(path))
    if not outcome.ok:
        console.print(f"[red]{KINDS[outcome.status]}[/]  {name}")
        lines = outcome.message.strip().splitlines()
        for line in lines[:MESSAGE_LINES]:
            console.print(f"  {line}", markup=False, soft_wrap=True)
        if len(lines) > MESSAGE_LINES:
            console.print(f"  [dim]({len(lines) - MESSAGE_LINES} more lines; --json has them all)[/]")
        console.print()
        return
    interval = f"95 % interval {times(outcome.low, sign='')} to {times(outcome.high, sign='')}"
    early = ", stopped early" if outcome.stopped_early else ""
    console.print(f"[bold green]{times(outcome.speedup, sign='x')}[/]  {name}  [dim]{interval}{early}[/]")
    table = Table(box=None, padding=(0, 3, 0, 2), header_style="dim")
    for heading in ("workload", "speedup", "reference", "yours"):
        table.add_column(heading, justify="left" if heading == "workload" else "right")
    for t in outcome.timings:
        row = (
            times(t.speedup, sign="x"),
            seconds(_median(t.reference_us) / 1e6),
            seconds(_median(t.candidate_us) / 1e6),
        )
        table.add_row(t.workload, *row)
    console.print(table)
    console.print()


def _median(values: tuple[float, ...]) -> float:
    import statistics

    return statistics.median(values)
