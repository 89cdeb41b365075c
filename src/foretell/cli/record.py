"""`foretell record`: what a reference or candidate does on a GPU, step by step, without running any of it on one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli import names
from foretell.cli.errors import FAILED, BadInput, plainly
from foretell.cli.options import Sizes, TaskOrProblem
from foretell.cli.output import AsJson, document, marked, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.cost.work import Work
    from foretell.kernels.program import Program, Step, View
    from foretell.kernels.record import Recording
    from foretell.kernels.task import Task, Workload

MOST_ROWS = 60
MOST_ASSUMPTIONS = 20
MOST_TENSORS = 64  # of a step
MOST_CHARACTERS = 4000  # of a line

File = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE", help="A candidate: Python or CUDA. Without one, the task's reference.", show_default=False
    ),
]
DeviceName = Annotated[
    str, typer.Option(metavar="GPU", help="The GPU to record for; it need not be here.", autocompletion=names.devices)
]
MOST_WORKLOADS = 10_000
WorkloadNumber = Annotated[
    int, typer.Option("--workload", metavar="N", min=1, max=MOST_WORKLOADS, help="Which of the task's workloads.")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the Program here.", show_default=False)
]


@plainly
def record(
    task: TaskOrProblem,
    file: File = None,
    device: DeviceName = "h200",
    workload: WorkloadNumber = 1,
    size: Sizes = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Record what a candidate (or the reference) does: library calls, kernel launches, copies, in order.

    Its host code runs in a process of its own on tensors without memory; no GPU is needed. What depends on data, keeps
    results between runs or is random cannot be recorded, and the reason is given.
    """
    from foretell import extras
    from foretell.forecasting import device_named
    from foretell.inputs import load_task, read_text
    from foretell.kernels.languages.python_source import language_of
    from foretell.kernels.program_codec import to_bytes
    from foretell.kernels.record.apart import record_apart

    extras.check("gpu", "torch")
    wanted, target = load_task(task, "gpu", size or ()), device_named(device)
    workloads = (*wanted.workloads, *wanted.extra)
    if workload > len(workloads):
        raise BadInput(f"there is no workload {workload}", f"a number from 1 to {len(workloads)}")
    chosen = workloads[workload - 1]
    source = None if file is None else read_text(file, "a module with ModelNew or kernel(*inputs), or a CUDA file")
    with progress_console().status("recording"):
        recording = record_apart(wanted, chosen, source, language_of(source or ""), target)
    if output is not None and recording.program is not None:
        output.write_bytes(to_bytes(recording.program))
    if as_json:
        document(_document(wanted, chosen, recording))
    else:
        _show(wanted, chosen, recording, output)
    if not recording.ok:
        raise typer.Exit(FAILED)


def _document(task: Task, workload: Workload, recording: Recording) -> dict[str, Any]:
    known: dict[str, Any] = {"task": task.name, "workload": workload.name, "seconds": recording.seconds}
    if recording.program is None:
        refusal = recording.refusal
        reason = {"reason": str(refusal.reason), "sentence": refusal.sentence} if refusal else None
        return known | {"recorded": False, "refusal": reason}
    program, (work, trouble) = recording.program, _work(recording.program)
    return known | {
        "recorded": True,
        "facts": dict(program.facts),
        "toolchain": dict(program.toolchain),
        "alternatives": len(recording.alternatives),
        "weights": [weight.name for weight in program.weights],
        "setup": [dict(zip(("step", "what"), _row(step), strict=True)) for step in program.setup],
        "run": [dict(zip(("step", "what"), _row(step), strict=True)) for step in program.run],
        "work": {"unknown": trouble} if work is None else {
            "flops": work.flops,
            "least_bytes": work.least_bytes,
            "launches": work.launches,
            "intermediate_bytes": work.intermediate_bytes,
            "complete": work.complete,
        },
    }  # fmt: skip


def _work(program: Program) -> tuple[Work | None, str]:
    """The work of a Program, computed in the sandbox; None and the reason if that failed."""
    from foretell.kernels.cost.apart import NotAnalysed, work_apart

    try:
        return work_apart(program), ""
    except NotAnalysed as error:
        return None, str(error)


def _show(task: Task, workload: Workload, recording: Recording, output: Path | None) -> None:
    from rich.table import Table

    console = people()
    console.print(marked("[bold]{}[/] {}", task.name, workload.name))
    if recording.program is None:
        refusal = recording.refusal
        console.print(marked("[yellow]cannot be recorded:[/] {}", _plain(str(refusal))), soft_wrap=True)
        return
    program = recording.program
    table = Table.grid(padding=(0, 2))
    for phase, steps in (("setup", program.setup), ("run", program.run)):
        for number, step in enumerate(steps[:MOST_ROWS]):
            name, what = _row(step)
            table.add_row(
                phase if not number else "", marked("[dim]{}[/]", number), _cut(name), marked("[dim]{}[/]", what)
            )
        if len(steps) > MOST_ROWS:
            table.add_row("", "", f"... {len(steps) - MOST_ROWS} more", "")
    console.print(table)
    for line in _findings(program, recording):
        console.print(line, soft_wrap=True)
    if output is not None:
        console.print(str(output), soft_wrap=True)


def _findings(program: Program, recording: Recording) -> list[str]:
    """What is worth knowing beside the steps; facts are what the recorder said, which may be anything."""
    (work, trouble), facts = _work(program), program.facts
    counts = (
        f"{len(program.launches())} kernel launches and {len(program.library_calls())} library calls, "
        f"{len(program.weights)} weights"
    )
    if work is None:
        found = [counts, f"work unknown: {trouble}"]
    else:
        found = [
            f"{counts}, {work.intermediate_bytes / 1e6:.3g} MB of intermediates",
            f"at least {work.least_bytes / 1e6:.3g} MB moved; {work.flops / 1e9:.3g} GFLOP in library calls",
        ]
    if facts.get("folds_weights"):
        found.append("weights are folded in the setup, which is not timed")
    if recording.alternatives:
        found.append(f"{len(recording.alternatives)} more configurations of its autotuned kernels were recorded")
    assumptions = facts.get("assumptions")
    if isinstance(assumptions, list):
        found += [f"assumed: {_plain(_cut(str(each)))}" for each in assumptions[:MOST_ASSUMPTIONS]]
        if len(assumptions) > MOST_ASSUMPTIONS:
            found.append(f"... {len(assumptions) - MOST_ASSUMPTIONS} more assumptions")
    return found


def _row(step: Step) -> tuple[str, str]:
    """A step's name, and what it works on, in bounded words: steps may have thousands of tensors."""
    from foretell.kernels.program import Allocate, Copy, Fill, Fork, Join, Launch, LibraryCall, Region, SymbolUpload

    match step:
        case LibraryCall():
            arguments = _listed(map(_tensor, step.tensors()))
            results = _listed(_tensor(view) for view in step.results if view is not None)
            return step.name, f"{arguments} -> {results}" if results else arguments
        case Launch():
            grid, block = (" x ".join(str(n) for n in _trimmed(shape)) for shape in (step.grid, step.block))
            buffers = _listed(f"#{pointer.buffer}" for pointer in step.pointers)
            return _plain(step.entry), f"<<<{grid}, {block}, {step.shared_bytes} B>>> on {buffers}"
        case Allocate():
            return "allocate", f"#{step.buffer}"
        case Fill():
            return "fill", f"#{step.region.buffer}, {step.region.bytes} B"
        case Copy():
            source = f"#{step.source.buffer}" if isinstance(step.source, Region) else "host"
            return "copy", f"{source} -> #{step.target.buffer}, {step.target.bytes} B"
        case SymbolUpload():
            return "upload", _plain(step.symbol)
        case Fork():
            return "fork", f"stream {step.stream} off stream {step.parent}"
        case Join():
            return "join", f"stream {step.stream} into stream {step.parent}"


def _trimmed(shape: tuple[int, int, int]) -> tuple[int, ...]:
    """A grid or block without trailing ones."""
    kept = len(shape)
    while kept > 1 and shape[kept - 1] == 1:
        kept -= 1
    return shape[:kept]


def _tensor(view: View) -> str:
    return f"{view.dtype}[{' '.join(str(side) for side in view.shape)}] #{view.buffer}"


def _listed(texts: Iterable[str]) -> str:
    """The first of some texts and how many more there are."""
    remaining = iter(texts)
    first = _cut(", ".join(islice(remaining, MOST_TENSORS)))
    more = sum(1 for _ in remaining)
    return f"{first}, ... {more} more" if more else first


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."


def _plain(text: str) -> str:
    """Foreign text without control characters, on one line."""
    return "".join(char if char.isprintable() else " " for char in text)
