"""`foretell doctor`: what was found on this machine, and what is and is not covered here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from foretell.cli.errors import FAILED, plainly
from foretell.cli.output import AsJson, document, marked, people
from foretell.extras import EXTRAS, install_command

if TYPE_CHECKING:
    from foretell.kernels.bench.doctor import Check

_SIGNS = {True: ("ok", "green"), None: ("note", "yellow"), False: ("bad", "red")}


@plainly
def doctor(as_json: AsJson = False) -> None:
    """Say whether this machine is ready, and what its bench does and does not cover."""
    from foretell.kernels.bench.doctor import checks
    from foretell.kernels.bench.gpu.doctor import gpu_checks

    with people(as_json=True).status("looking at this machine (a GPU takes a minute)"):
        found = [*checks(), *gpu_checks(), *_extra_checks()]
    if as_json:
        listed = [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in found]
        absent = {extra.name: list(extra.absent) for extra in EXTRAS.values()}
        document({"ok": _ready(found), "checks": listed, "missing_packages": absent})
    else:
        _show(found)
    if not _ready(found):
        raise typer.Exit(FAILED)


def _extra_checks() -> list[Check]:
    """One line for each extra: installed, or what is missing, the verbs that it makes unavailable, and the remedy."""
    from foretell.kernels.bench.doctor import Check

    found = []
    for extra in EXTRAS.values():
        absent = extra.absent
        detail = f"installed: {extra.enables}"
        if absent:
            packages = f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed"
            partly = "" if len(absent) == len(extra.packages) else "partly "
            detail = f"{packages}; {partly}unavailable: {extra.enables}; to install: {install_command(extra.name)}"
        found.append(Check(f"extra [{extra.name}]", None if absent else True, detail))
    return found


def _ready(found: list[Check]) -> bool:
    return all(check.ok is not False for check in found)


def _show(found: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = people()
    table = Table.grid(padding=(0, 2))
    for check in found:
        word, colour = _SIGNS[check.ok]
        table.add_row(Text(word, style=colour), check.name, marked("[dim]{}[/]", check.detail))
    console.print(table)
    bad = [check.name for check in found if check.ok is False]
    if bad:
        console.print(marked("\n[red]Not ready:[/] mend {}, then run [bold]foretell doctor[/] again.", ", ".join(bad)))
    else:
        console.print(marked("\n[green]Ready.[/] Next: [bold]foretell search softmax --profile quick[/]"))
