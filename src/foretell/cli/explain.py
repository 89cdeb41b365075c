"""`foretell explain`: where the time of a kernel goes, told without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretell.cli import names
from foretell.cli.errors import FAILED, plainly
from foretell.cli.options import ReferenceMs, Sizes, TaskOrProblem
from foretell.cli.output import AsJson, document, people, progress_console
from foretell.cli.record import MOST_WORKLOADS


@plainly
def explain(
    task: TaskOrProblem,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A candidate to put beside the reference.", show_default=False),
    ] = None,
    device: Annotated[
        str, typer.Option(metavar="GPU", help="The GPU; it need not be here.", autocompletion=names.devices)
    ] = "h200",
    workload: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST_WORKLOADS, help="Which of the task's workloads.")
    ] = 1,
    size: Sizes = None,
    reference_ms: ReferenceMs = None,
    as_json: AsJson = False,
) -> None:
    """Explain where the time of a kernel goes, without a GPU: estimates by recording, dry run and roofline.

    Reference and candidate side by side: steps by time, traffic against the least, coalescing, bank conflicts,
    occupancy, and what limits it.
    """
    import foretell as ft
    from foretell.inputs import load_task

    wanted = load_task(task, "gpu", size or ())
    with progress_console().status("recording"):
        told = ft.explain(wanted, file, device=device, workload=workload, reference_ms=reference_ms)
    if as_json:
        document(told.to_dict())
    else:
        console = people()
        for line in told.lines():
            console.print(_plain(line), soft_wrap=True, markup=False)
    if not told.runs or told.reference is None:
        raise typer.Exit(FAILED)


def _plain(text: str) -> str:
    """Foreign text without control characters."""
    return "".join(char if char.isprintable() else " " for char in text)
