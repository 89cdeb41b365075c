"""`foretell catalogue`: what was ever measured on this machine: list it, show one candidate, clear it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli import names
from foretell.cli.errors import BadInput, plainly
from foretell.cli.group import help_alone
from foretell.cli.output import AsJson, document, line, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.store import Catalogue, Row

catalogue = typer.Typer(help="List, show and clear the catalogue of everything measured on this machine.")
catalogue.callback(invoke_without_command=True)(help_alone)
_LIST = "foretell catalogue list"


@catalogue.command("list")
@plainly
def list_(
    task: Annotated[
        str | None, typer.Option("--task", metavar="TASK", help="Only this task.", autocompletion=names.tasks)
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only devices whose name contains this text.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what the catalogue holds: candidates and the best speedup, by task and device."""
    known = _open()
    groups = [
        group
        for group in known.summary()
        if (task is None or group.task == task) and (device is None or device.lower() in group.device.lower())
    ]
    if as_json:
        document({"path": str(known.path), "groups": [vars(group) for group in groups]})
        return
    from rich.table import Table

    from foretell.report.numbers import count, times

    table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
    for heading in ("task", "candidates", "rows", "failed", "best", "device"):
        table.add_column(heading, justify="left" if heading in ("task", "device") else "right")
    for group in groups:
        best = times(group.best, sign="x") if group.best is not None else "–"
        counts = (str(group.candidates), str(group.rows), str(group.failed))
        table.add_row(_plain(group.task), *counts, best, _plain(group.device))
    console = people()
    if groups:
        console.print(table)
        console.print()
    candidates, rows = sum(group.candidates for group in groups), sum(group.rows for group in groups)
    console.print(f"{count(candidates, 'candidate')} in {count(rows, 'row')} of {known.path}", soft_wrap=True)


@catalogue.command()
@plainly
def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="A candidate's id, or its first characters.")],
    as_json: AsJson = False,
) -> None:
    """Show every measurement of one candidate, and what they amount to together."""
    known = _open()
    rows = known.of_candidate(id) if id else []
    _tell_skipped(known)
    found = sorted({row.candidate.id for row in rows})
    if not found:
        raise BadInput(f"the catalogue holds no candidate {id!r}", "the first characters of a candidate's id", _LIST)
    if len(found) > 1:
        some = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
        raise BadInput(
            f"{id!r} is the beginning of {len(found)} ids", "more of its characters", f"choose one of {some}"
        )
    if as_json:
        document(_described(rows))
    else:
        _show(rows)


@catalogue.command()
@plainly
def clear(
    task: Annotated[
        str | None, typer.Option("--task", metavar="TASK", help="Only this task.", autocompletion=names.tasks)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove the measurements of one task, or all of them."""
    known = _open()
    groups = [group for group in known.summary() if task is None or group.task == task]
    if task is not None and not groups:
        raise BadInput(f"the catalogue holds nothing of a task {task!r}", "a task that was measured here", _LIST)
    count = sum(group.rows for group in groups)
    if count and not yes:
        if as_json:
            raise BadInput("with --json nothing is asked", "a confirmation", "add --yes")
        if not typer.confirm(f"remove {count} measurements of {task or 'all tasks'} from {known.path}?"):
            people().print("nothing was removed")
            return
    removed = known.clear(task)
    if as_json:
        document({"path": str(known.path), "removed": removed})
    else:
        people().print(f"{removed} measurements removed")


def _open() -> Catalogue:
    from foretell.parts import catalogue as users_own

    return users_own()


def _tell_skipped(known: Catalogue) -> None:
    if known.skipped:
        progress_console().print(f"note: {known.skipped} damaged rows of {known.path} were skipped")


def _by_key(rows: list[Row]) -> list[list[Row]]:
    """The rows of each device and task definition, which are comparable among themselves only."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.key, []).append(row)
    return list(groups.values())


def _described(rows: list[Row]) -> dict[str, Any]:
    from foretell.kernels.store.combine import combine

    return {
        "candidate": rows[-1].candidate.to_dict(),
        "groups": [
            {
                "key": group[0].key,
                "task": group[0].task,
                "device": group[0].device,
                "combined": combine([row.measurement for row in group]).to_dict(),
                "rows": [{"measured_at": row.measured_at} | row.measurement.to_dict() for row in group],
            }
            for group in _by_key(rows)
        ],
    }


def _show(rows: list[Row]) -> None:
    from rich.table import Table

    from foretell.kernels.store.combine import combine

    console = people()
    candidate = rows[-1].candidate
    origin = candidate.origin.kind
    console.print(line(f"{candidate.id}  {candidate.task} in {candidate.language}, by {origin}"))
    for group in _by_key(rows):
        console.print(f"\n{line(group[0].device)}")
        table = Table(box=None, padding=(0, 3, 0, 2), header_style="dim")
        for heading in ("measured", "status", "speedup", "95 % interval", "message"):
            table.add_column(heading)
        for row in group:
            table.add_row(_moment(row.measured_at), *_cells(row.measurement))
        if len(group) > 1:
            table.add_row("together", *_cells(combine([row.measurement for row in group])))
        console.print(table)
    console.print()
    console.print(candidate.source, soft_wrap=True)


def _cells(outcome: Any) -> tuple[str, ...]:
    from foretell.report.numbers import times

    words = outcome.message.strip().splitlines()
    if outcome.speedup is None:
        return outcome.status.value, "–", "–", _plain(words[0]) if words else ""
    interval = "–" if None in (outcome.low, outcome.high) else f"{outcome.low:.3f} to {outcome.high:.3f}"
    return outcome.status.value, times(outcome.speedup, sign="x"), interval, _plain(words[0]) if words else ""


def _plain(text: str) -> str:

    return text


def _moment(seconds: float) -> str:
    """Date and minute, UTC; a dash for a time that no calendar has."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError, TypeError):
        return "–"
