"""`foretell explain`: where the time of a kernel goes, told without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretell.cli import names
from foretell.cli.errors import FAILED, plainly
from foretell.cli.options import ReferenceMs, Sizes, TaskOrProblem
from foretell.cli.output import AsJson, document, line, people, progress_console
from foretell.cli.record import MOST_WORKLOADS


@plainly
def explain(
    task: TaskOrProblem,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A candidate to put beside the reference.", show_default=False),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="DEVICE",
            help="A GPU, which need not be here, or cpu.",
            show_default="cpu for C++ and for tasks of a CPU, else h200",
            autocompletion=names.devices,
        ),
    ] = None,
    workload: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST_WORKLOADS, help="Which of the task's workloads.")
    ] = 1,
    size: Sizes = None,
    reference_ms: ReferenceMs = None,
    as_json: AsJson = False,
) -> None:
    """Explain where the time of a kernel goes, without running it on the device.

    Reference and candidate side by side. For a GPU: steps by time, traffic against the least, coalescing, bank
    conflicts, occupancy, and what limits it. For this CPU: the roofline, and what the machine code shows.
    """
    import foretell as ft
    from foretell.explaining import kind_to_explain
    from foretell.inputs import load_task

    kind = kind_to_explain(task, file) if device is None else "cpu" if device == "cpu" else "gpu"
    other = {"gpu": "leave --device out", "cpu": "name a GPU, which need not be present: --device h200"}[kind]
    loaded = load_task(task, kind, size or (), do=other if device is not None else "")
    with progress_console().status("recording" if kind == "gpu" else "building"):
        told = ft.explain(loaded, file, device=device or (kind if kind == "cpu" else None), workload=workload,
                          reference_ms=reference_ms)  # fmt: skip
    if as_json:
        document(told.to_dict())
    else:
        console = people()
        for told_line in told.lines():
            console.print(line(told_line), soft_wrap=True)
    if not told.runs or told.reference is None:
        raise typer.Exit(FAILED)
