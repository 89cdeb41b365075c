"""`foretell collect`: measure a plan within a time, never anything twice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretell.cli.errors import BadInput, plainly
from foretell.cli.output import AsJson, document, people, progress_console


@plainly
def collect(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, made by `foretell data plan`.")],
    into: Annotated[Path, typer.Option(help="The catalogue to add to (SQLite), made if absent.")],
    seconds: Annotated[float, typer.Option(help="Begin nothing after this many seconds.")] = float("inf"),
    corpus: Annotated[Path, typer.Option(help="A corpus whose candidates are not measured again.")] = Path("data"),
    as_json: AsJson = False,
) -> None:
    """Measure the candidates of a plan that neither the catalogue nor the corpus holds.

    Stop it at any time and start it again: it goes on where it was. `foretell data import` makes the corpus of it.
    """
    from foretell.cli.parts import bench_of
    from foretell.kernels.corpus.collect import Tally
    from foretell.kernels.corpus.collect import collect as gather
    from foretell.kernels.corpus.plan import read_plan
    from foretell.kernels.corpus.table import files, known_ids
    from foretell.kernels.store import Catalogue

    if not plan.exists():
        raise BadInput(f"there is no plan {plan}", "a plan", "foretell data plan --out plan.jsonl.gz")
    try:
        items = list(read_plan(plan))
        known = known_ids(corpus) if files(corpus) else set()
    except ValueError as error:
        raise BadInput(str(error), "a plan") from error
    if not items:
        raise BadInput(f"the plan {plan} is empty", "a plan with candidates", "foretell data plan --out plan.jsonl.gz")
    kind = "cpu" if items[0].language == "cpp" else "gpu"
    console = progress_console()

    def tell(task: str, tally: Tally) -> None:
        rate = tally.measured / max(tally.seconds, 1e-9)
        console.print(f"{tally.seconds:7.1f} s {tally.measured:6} measured, {rate:5.1f} a second  {task}")

    with bench_of(kind) as bench:
        written = corpus / "written"
        tally = gather(items, kind, bench, Catalogue(into, fsync=False), known, seconds, written, tell)
    told = {"measured": tally.measured, "known": tally.known, "missing": tally.missing, "left": tally.left,
            "seconds": tally.seconds, "statuses": dict(tally.statuses)}  # fmt: skip
    if as_json:
        document(told)
    else:
        people().print(", ".join(f"{name} {value}" for name, value in told.items()))
