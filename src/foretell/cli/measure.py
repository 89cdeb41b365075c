"""`foretell measure`: check and time kernels of your own against a task's reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli.errors import FAILED, plainly
from foretell.cli.messages import shown_lines
from foretell.cli.options import Sizes, TaskOrProblem
from foretell.cli.output import AsJson, command_line, document, line, marked, of_file, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.measurement import Measurement
    from foretell.kernels.task import Task

    Found = tuple[Path, Candidate, Measurement]

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="Sources that define the task's entry point.", show_default=False),
]


@plainly
def measure(task: TaskOrProblem, files: Files, size: Sizes = None, as_json: AsJson = False) -> None:
    """Check and time your kernels against the task's reference.

    C++ files run on this machine's CPU; Python files (Triton, CUDA, torch), bare CUDA files and FlashInfer-Bench
    solutions on its GPU.
    """
    from foretell.inputs import load_task
    from foretell.measuring import kind_for, measure_all
    from foretell.parts import bench_of

    kind = kind_for(task, files)
    wanted = load_task(task, kind, size or ())
    with (
        bench_of(kind, "measure a C++ file, or run it on a machine with a GPU", len(files)) as bench,
        progress_console().status("building and measuring") as status,
    ):
        outcomes = measure_all(
            wanted, files, bench, on_outcome=lambda done: status.update(f"measured {done} of {len(files)}")
        )
    found = [(path, each.candidate, each.measurement) for path, each in zip(files, outcomes, strict=True)]
    if as_json:
        document(_document(wanted, bench.device, found))
    else:
        _show(task, wanted, bench.device, found)
    if not all(outcome.ok for _, _, outcome in found):
        raise typer.Exit(FAILED)


def _document(task: Task, device: Device, found: list[Found]) -> dict[str, Any]:
    return {
        "task": task.name,
        "identity": task.identity,
        "device": device.to_dict(),
        "results": [{"file": str(path), "id": c.id} | outcome.to_dict() for path, c, outcome in found],
    }


def _show(reference: str, task: Task, device: Device, found: list[Found]) -> None:

    from foretell.report.conditions import contention

    console = people()
    console.print(marked("[bold]{}[/] on {}\n", task.name, device.name), highlight=False)
    for path, _, outcome in found:
        show_outcome(path, outcome)
    disturbance = contention(outcome for _, _, outcome in found)
    if disturbance:
        console.print(marked("[yellow]{}[/]\n", disturbance), highlight=False)
    best = max((outcome for _, _, outcome in found if outcome.ok), key=lambda o: o.log2_speedup, default=None)
    if best is not None:
        console.print(marked("[dim]{}[/]\n", best.method))
        if device.kind == "cpu" and task.kind == "library":
            console.print(
                marked("Next: [bold]{}[/] to see how much faster it can get", command_line("search", reference))
            )
    else:
        command = command_line("tasks", task.name, "--kind", device.kind)
        checked = marked("; [bold]{}[/] shows what is checked", command) if task.kind == "library" else ""
        console.print(marked("Next: fix it and measure again{}", checked))


def show_outcome(path: Path, outcome: Measurement) -> None:
    """The speedup with its workloads, or the failure with its message."""
    from rich.table import Table

    from foretell.kernels.measurement import TRUST_REASON
    from foretell.report.candidates import KINDS
    from foretell.report.conditions import disturbed_note, pooled_note, processes_note, trust_note
    from foretell.report.numbers import seconds, times

    console = people()
    name = str(path)
    if not outcome.ok:
        console.print(marked("[red]{}[/]  {}", KINDS[outcome.status], name))
        for each in shown_lines(of_file(outcome.message, path)):
            console.print(f"  {line(each)}", soft_wrap=True)
        console.print()
        return
    interval = f"95 % interval {times(outcome.low, sign='')} to {times(outcome.high, sign='')}"
    early = ", stopped early" if outcome.stopped_early else ""
    console.print(
        marked("[bold green]{}[/]  {}  [dim]{}{}[/]", times(outcome.speedup, sign="x"), name, interval, early)
    )
    if note := trust_note(outcome):
        reason = outcome.conditions.get(TRUST_REASON, "")
        console.print(marked("  [yellow]{}[/] {}", note, reason), soft_wrap=True)
    if note := pooled_note(outcome):
        console.print(marked("  [dim]{}[/]", note), soft_wrap=True)
    if note := disturbed_note(outcome):
        console.print(marked("  [yellow]{}[/]", note), soft_wrap=True)
    if note := processes_note(outcome):
        console.print(marked("  [yellow]{}[/]", note), soft_wrap=True)
    table = Table(box=None, padding=(0, 3, 0, 2), header_style="dim")
    for heading in ("workload", "speedup", "reference", "yours"):
        table.add_column(heading, justify="left" if heading == "workload" else "right")
    for t in outcome.timings:
        row = (
            times(t.speedup, sign="x"),
            seconds(_median(t.reference_us) / 1e6),
            seconds(_median(t.candidate_us) / 1e6),
        )
        table.add_row(line(t.workload), *row)
    console.print(table)
    console.print()


def _median(values: tuple[float, ...]) -> float:
    import statistics

    return statistics.median(values)
