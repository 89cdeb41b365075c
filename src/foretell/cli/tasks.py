"""`foretell tasks`: what can be made fast, and everything about one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli import names
from foretell.cli.errors import BadInput, plainly
from foretell.cli.output import AsJson, command_line, document, line, marked, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.device import Device
    from foretell.kernels.task import Task, Tensor

REFERENCES = {"cpu": "cpp", "gpu": "torch"}  # the language of the reference, by kind of device


@plainly
def tasks(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK",
            help="Show everything about this task, or about the file or folder of one.",
            show_default=False,
            autocompletion=names.tasks,
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="Tasks at the sizes of a cpu or a gpu.",
            show_default="cpu, or gpu for a task that only a GPU has",
            autocompletion=names.one_of(names.KINDS),
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            metavar="LANGUAGE",
            help="Show the contract of a program in this language: cpp; triton, cuda or torch at the sizes of a GPU.",
            show_default=False,
            autocompletion=names.one_of(names.LANGUAGES),
        ),
    ] = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Print the reference source, to start a kernel of your own from.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the tasks, or show one of them."""
    import foretell as ft
    from foretell.kernels import library

    kind = _kind(kind, language)
    if name is None:
        for option, value in (("--reference", reference), ("--language", language)):
            if value:
                raise BadInput(f"{option} needs the name of a task", f"foretell tasks TASK {option}", "foretell tasks")
        _list(list(library.tasks(kind or "cpu").values()), kind or "cpu", as_json)
        return
    task = ft.task(name, kind)
    kind = task.device_kind
    source = task.references[REFERENCES[kind]]
    if reference and not as_json:
        typer.echo(source, nl=not source.endswith("\n"))
        return
    device = _device() if kind == "cpu" else None
    if as_json:
        document(_described(task, language, device) | {"reference": source})
    else:
        _show(name, task, language, device)


def _kind(kind: str | None, language: str | None) -> str | None:
    """The kind of device that was asked for, by itself or by a language; None if neither was."""
    from foretell.parts import kind_of

    if kind is not None and kind not in names.KINDS:
        raise BadInput(f"there is no kind of device {kind!r}", " or ".join(names.KINDS))
    if language is None:
        return kind
    spoken = kind_of(language)
    if kind not in (None, spoken):
        raise BadInput(f"{language} does not run on a {kind}", f"--kind {spoken}, or another language")
    return spoken


def _list(found: list[Task], kind: str, as_json: bool) -> None:
    if as_json:
        document([{"name": t.name, "family": t.family, "summary": t.summary} for t in found])
        return
    from rich.table import Table

    console = people()
    table = Table.grid(padding=(0, 3))
    family = ""
    for task in found:
        if task.family != family:
            if family:
                table.add_row("", "", "")
            family = task.family
            table.add_row(marked("[bold]{}[/]", family), "", "")
        table.add_row(f"  {task.name}", marked("[dim]{}[/]", task.summary))
    console.print(table)
    other = "gpu" if kind == "cpu" else "cpu"
    language = "" if kind == "cpu" else " --language triton"
    console.print(
        marked(
            "\n{} tasks at the sizes of a {}; [bold]foretell tasks --kind {}[/] lists those of a {}. "
            "Next: [bold]foretell tasks NAME[/] or [bold]foretell search NAME{}[/]",
            len(found),
            kind.upper(),
            other,
            other.upper(),
            language,
        ),
        soft_wrap=True,
    )


def _device() -> Device | None:
    """This machine's CPU, or None without a compiler: a task can be read about all the same."""
    from foretell.kernels.bench.cpu_device import detect_cpu
    from foretell.kernels.languages.cpp import NoCompiler

    try:
        return detect_cpu()
    except NoCompiler as error:
        progress_console().print(f"note: {line(error)}; the roofline floor is left out")
        return None


def _described(task: Task, language: str | None, device: Device | None) -> dict[str, Any]:
    from foretell.kernels.device import roofline_s
    from foretell.kernels.propose.contract import contract, entry

    floors = {w.name: roofline_s(task, w, device) for w in task.workloads} if device else {}
    return {
        "name": task.name,
        "family": task.family,
        "summary": task.summary,
        "kind": task.device_kind,
        "signature": entry(task),
        "language": language,
        "contract": contract(task, language) if language else None,
        "inputs": [_tensor(tensor) for tensor in task.inputs],
        "outputs": [_tensor(tensor) for tensor in task.outputs],
        "workloads": [
            {
                "name": w.name,
                "sizes": dict(w.sizes),
                "flops": task.flops_of(w),
                "least_bytes": task.least_bytes_of(w),
                "floor_s": floors.get(w.name),
            }
            for w in task.workloads
        ],
        "extra": [w.name for w in task.extra],
        "tolerance": {
            "relative": task.tolerance.relative,
            "absolute": task.tolerance.absolute,
            "reason": task.tolerance.reason,
        },
        "device": device.id if device else None,
    }


def _tensor(tensor: Tensor) -> str:
    return f"{tensor.name} {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def _show(name: str, task: Task, language: str | None, device: Device | None) -> None:
    from rich.table import Table

    from foretell.report.numbers import rate, seconds, size

    console = people()
    data = _described(task, language, device)
    console.print(marked("[bold]{}[/]  [dim]{}[/]\n", task.name, task.summary))
    console.print(data["contract"] or data["signature"], soft_wrap=True)
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
    for heading in ("timed workload", "work", "least traffic", "floor"):
        table.add_column(heading, justify="left" if heading == "timed workload" else "right")
    for row in data["workloads"]:
        floor = seconds(row["floor_s"]) if row["floor_s"] else "–"
        work = rate(row["flops"], "FLOP") if row["flops"] or not task.files else "–"
        table.add_row(row["name"], work, size(row["least_bytes"]) if row["least_bytes"] else "–", floor)
    console.print()
    console.print(table)
    tolerance = task.tolerance
    notes = Table.grid(padding=(0, 3))
    for word in ("inputs", "outputs"):
        if data[word]:
            notes.add_row(marked("[dim]{}[/]", word), "; ".join(data[word]))
    if data["extra"]:
        notes.add_row(marked("[dim]also checked[/]"), "; ".join(data["extra"]))
    notes.add_row(marked("[dim]tolerance[/]"), f"{tolerance.absolute:g} + {tolerance.relative:g} x |expected|")
    notes.add_row("", marked("[dim]{}[/]", tolerance.reason))
    if device is not None:
        notes.add_row(marked("[dim]floor[/]"), f"least time {device.name} allows: bytes / bandwidth or FLOPs / peak")
    console.print()
    console.print(notes)
    kind = task.device_kind
    search, mine = ("", "mine.cpp") if kind == "cpu" else (f" --language {language or 'triton'}", "mine.py")
    if task.files:
        console.print(marked("\nNext: [bold]{}[/]", command_line("measure", name, mine)), soft_wrap=True)
        return
    console.print(
        marked(
            "\nNext: [bold]foretell search {}{}[/], or write your own: [bold]{} > {}[/]",
            task.name,
            search,
            reference_command(task.name, kind),
            mine,
        ),
        soft_wrap=True,
    )


def reference_command(task: str, kind: str) -> str:
    """The command that prints the reference of a task."""
    more = () if kind == "cpu" else ("--kind", kind)
    return command_line("tasks", task, *more, "--reference")
