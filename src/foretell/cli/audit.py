"""`foretell audit`: measure published kernels again and compare with the published speedups."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretell.cli.errors import BadInput, plainly
from foretell.cli.options import count, time_limit_option
from foretell.cli.output import AsJson, command_line, document, line, people, progress_console

if TYPE_CHECKING:
    from foretell.auditing import Audit
    from foretell.kernels.corpus.collect import Tally

SHOWN = 10


@plainly
def audit(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A Parquet file, one row per published kernel.", show_default=False)
    ],
    seconds: Annotated[float | None, time_limit_option("measurement")] = None,
    rows: Annotated[
        int | None,
        typer.Option(metavar="N", callback=count, help="Maximum number of rows, spread evenly over the table."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write all rows as JSON here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure published kernels again on this machine's GPU, and compare with the published speedups.

    Interrupt it at any time; the same command resumes.
    """
    from foretell.auditing import audit as measure_again

    if out is not None and out.is_dir():
        raise BadInput(f"{out} is a directory", "the name of a file to write", str(out / "audit.json"))
    console = progress_console()

    def tell(task: str, tally: Tally) -> None:
        console.print(f"{tally.seconds:7.1f} s {tally.measured:6} measured  {line(task)}", highlight=False)

    found = measure_again(table, seconds=math.inf if seconds is None else seconds, rows=rows, report=tell)
    if out is not None:
        out.write_text(json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n")
    if as_json:
        document(found.to_dict())
    else:
        _show(table, found)


def _show(path: Path, found: Audit) -> None:
    from rich.table import Table

    from foretell.auditing import disagreements
    from foretell.report.numbers import times

    console, summary = people(), found.summary()
    console.print(f"{path.name} on {found.device.name}: {len(found.rows)} rows\n", highlight=False)
    shown = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
    for heading in ("data set", "compared", "claimed", "measured", "measured / claimed", "still faster than reference"):
        shown.add_column(heading, justify="left" if heading == "data set" else "right")
    for name, part in {**summary["by data set"], "all": summary["all"]}.items():
        if part["compared"]:
            shown.add_row(
                line(name) or "(unnamed)", str(part["compared"]), times(part["claimed_geometric_mean"], sign="x"),
                times(part["measured_geometric_mean"], sign="x"), f"{part['median_ratio']:.2f}",
                f"{part['faster_here_of_these']} of {part['claimed_faster']}",
            )  # fmt: skip
    console.print(shown)
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in summary["all"]["verdicts"].items())
    console.print(f"\n{verdicts}", soft_wrap=True, highlight=False)
    for each in disagreements(found.rows, SHOWN):
        measured = each.measurement.speedup if each.measurement else None
        claimed = f"  {line(each.claim.row or each.claim.problem)}: claimed {times(each.claim.speedup, sign='x')} on"
        console.print(f"{claimed} {line(each.claim.gpu)}, measured {times(measured, sign='x')}", soft_wrap=True)
    if found.left:
        again = command_line("audit", path)
        console.print(f"{found.left} are not measured yet; next: {again}", soft_wrap=True)
