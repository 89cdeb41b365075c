"""`foretell collect`: measure a plan within a time, never anything twice."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretell.cli.errors import BadInput, plainly
from foretell.cli.options import time_limit_option
from foretell.cli.output import AsJson, command_line, document, line, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.corpus.collect import Tally

NO_GPU = "collect on a machine with a GPU, or plan for the CPU: foretell data plan --kind cpu --out plan.jsonl.gz"

_MOST_TOLD, _SENTENCE_CHARACTERS = 5, 200  # of lines that are passed over


@plainly
def collect(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, made by `foretell data plan`.")],
    into: Annotated[Path, typer.Option(metavar="FILE", help="The catalogue to append to (SQLite), created if absent.")],
    seconds: Annotated[float | None, time_limit_option("measurement")] = None,
    corpus: Annotated[
        Path, typer.Option(metavar="FOLDER", help="A corpus whose candidates are not measured again.")
    ] = Path("data"),
    as_json: AsJson = False,
) -> None:
    """Measure the candidates of a plan that neither the catalogue nor the corpus holds.

    Interrupt it at any time; the same command resumes. Then `foretell data import FILE` adds it to the corpus.
    """
    from foretell.kernels.corpus.collect import collect as gather
    from foretell.kernels.corpus.plan import read_plan
    from foretell.kernels.corpus.table import known_ids
    from foretell.kernels.store import Catalogue
    from foretell.parts import bench_of
    from foretell.received_limits import PLAN_MEMORY_BYTES, size_of, within_limits

    if not plan.exists():
        raise BadInput(f"there is no plan {plan}", "a plan", "foretell data plan --out plan.jsonl.gz")
    try:
        with within_limits(plan, size_of(plan), PLAN_MEMORY_BYTES):
            items = list(read_plan(plan))
        known = known_ids(corpus)
    except ValueError as error:
        raise BadInput(str(error), "a plan") from error
    if not items:
        raise BadInput(f"the plan {plan} is empty", "a plan with candidates", "foretell data plan --out plan.jsonl.gz")
    kind = "cpu" if items[0].language == "cpp" else "gpu"
    console = progress_console()

    def tell(task: str, tally: Tally) -> None:
        rate = tally.measured / max(tally.seconds, 1e-9)
        console.print(f"{tally.seconds:7.1f} s {tally.measured:6} measured, {rate:5.1f} per second  {line(task)}")

    told: list[str] = []

    def passed_over(why: str) -> None:
        told.append(why)
        if len(told) <= _MOST_TOLD:
            console.print(f"passed over: {' '.join(why.split())[:_SENTENCE_CHARACTERS]}", soft_wrap=True)

    with bench_of(kind, NO_GPU) as bench:
        written = corpus / "written"
        limit_s = math.inf if seconds is None else seconds
        tally = gather(items, kind, bench, Catalogue(into, fsync=False), known, limit_s, written, tell, passed_over)
    if as_json:
        document(vars(tally) | {"statuses": dict(tally.statuses)})
    else:
        _show(tally, into)


def _show(tally: Tally, into: Path) -> None:
    console = people()
    console.print(
        f"measured {tally.measured} in {tally.seconds:.1f} s, known {tally.known}, missing {tally.missing}, "
        f"left {tally.left}",
        soft_wrap=True,
    )
    if tally.disturbed:
        console.print(
            f"disturbed by other processes and not kept: {tally.disturbed}; run it again on a quieter machine",
            soft_wrap=True,
        )
    if tally.elsewhere:
        console.print(f"being measured by another process: {tally.elsewhere}", soft_wrap=True)
    if tally.statuses:
        statuses = ", ".join(f"{name} {number}" for name, number in tally.statuses.most_common())
        console.print(f"outcomes: {statuses}", soft_wrap=True)
    if into.exists():
        console.print(f"next: {command_line('data', 'import', into)}", soft_wrap=True)
