"""`foretell report`: the report of a run, finished or not, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretell.cli.errors import BadInput, plainly
from foretell.cli.options import RunName
from foretell.cli.output import people
from foretell.runs import REPORT_NAME, find_run


@plainly
def report(
    run: RunName,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The page to write.", show_default="RUN/report.html"),
    ] = None,
) -> None:
    """Write the report of a run: one self-contained HTML file."""
    run_dir = find_run(run)
    path = out or run_dir / REPORT_NAME
    if path.is_dir():
        raise BadInput(f"{path} is a directory", "the name of a file to write", f"-o {path / REPORT_NAME}")
    from foretell.kernels.search import load_run
    from foretell.received_limits import size_of, within_limits
    from foretell.report import write_report

    with within_limits(run_dir, size_of(run_dir)):
        written = write_report(load_run(run_dir), path, run_dir)
    people().print(str(written), soft_wrap=True)
