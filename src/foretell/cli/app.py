"""The `foretell` command: its verbs, and what it says of itself."""

from __future__ import annotations

from typing import Annotated

import typer

from foretell.cli import (
    ask,
    audit,
    calibrate,
    collect,
    doctor,
    evaluate,
    explain,
    forecast,
    measure,
    record,
    replay,
    report,
    search,
    tasks,
    tell,
)
from foretell.cli.catalogue import catalogue
from foretell.cli.data import data
from foretell.cli.group import Root, help_alone
from foretell.cli.gui import gui
from foretell.cli.train import train

_EPILOG = "Start with: foretell doctor, then foretell search softmax --profile quick"

app = typer.Typer(
    name="foretell",
    cls=Root,
    help="Look before you run: forecast how a candidate kernel will perform, and measure only where it pays.",
    epilog=_EPILOG,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from foretell import __version__

        typer.echo(f"foretell {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Run foreign code even if no sandbox works here; may follow any command.")
    ] = False,
) -> None:
    help_alone(context)


for _verb in (
    search,
    ask,
    tell,
    measure,
    forecast,
    explain,
    record,
    tasks,
    report,
    replay,
    collect,
    audit,
    calibrate,
    doctor,
):
    _name = _verb.__name__.rpartition(".")[2]
    app.command(_name)(getattr(_verb, _name))

app.command("eval")(evaluate.evaluate)
app.add_typer(catalogue, name="catalogue")
app.add_typer(data, name="data")
app.add_typer(train, name="train")
app.add_typer(gui, name="gui")
