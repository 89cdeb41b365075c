"""`foretell data`: plan a corpus, import what was measured, say what it holds, prove it, split it, export it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from foretell.cli.errors import FAILED, BadInput, plainly
from foretell.cli.output import AsJson, document, people, progress_console

data = typer.Typer(help="Plan, import, describe, verify, split and export the corpus of measured kernels.")
Folder = Annotated[Path, typer.Option("--data", help="The folder of the corpus.")]
HERE = Path("data")


@data.command()
@plainly
def plan(
    out: Annotated[Path, typer.Option(help="The plan to write (gzipped JSON lines).")],
    kind: Annotated[str, typer.Option(help="cpu or gpu.")] = "gpu",
    per_language: Annotated[int, typer.Option(min=0, help="Settings of each template.")] = 200,
    rounds: Annotated[int, typer.Option(min=1, help="How often the plan goes through all tasks.")] = 2,
    seed: int = 0,
    task: Annotated[list[str] | None, typer.Option(help="Only this task (may be repeated).")] = None,
    folder: Folder = HERE,
) -> None:
    """Choose what to measure: settings of every template, and every written kernel."""
    from foretell.kernels.corpus.plan import LANGUAGES, make_plan, write_plan
    from foretell.kernels.library import UnknownTask, get

    if kind not in LANGUAGES:
        raise BadInput(f"there is no kind of device {kind!r}", "cpu or gpu")
    try:
        names = [get(name, kind).name for name in task or ()]
    except UnknownTask as error:
        raise BadInput(str(error), "a task of the library", "foretell tasks") from error
    count = write_plan(out, make_plan(kind, per_language, rounds, seed, names, folder / "written"))
    people().print(f"{count} candidates planned in {out}; next: foretell collect {out} --into catalogue.sqlite")


@data.command("import")
@plainly
def import_(
    catalogues: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Catalogues or run folders.")],
    folder: Folder = HERE,
) -> None:
    """Add measurements to the corpus: catalogues, as `collect` writes them, or the folders of runs."""
    from foretell.kernels.corpus.table import merge

    for path in catalogues:
        if not path.exists():
            raise BadInput(f"there is no {path}", "a catalogue or the folder of a run")
    counts = merge(folder, catalogues)
    people().print(
        ", ".join(f"{count} rows in corpus_{kind}.parquet" for kind, count in counts.items()) or "nothing new"
    )


@data.command()
@plainly
def stats(folder: Folder = HERE, as_json: AsJson = False) -> None:
    """Say what the corpus holds."""
    from foretell.kernels.corpus.stats import summary

    told = summary(_rows(folder))
    if as_json:
        document(told)
        return
    for name, value in told.items():
        if name != "by_operation":
            people().print(f"{name}: {value}")
    for name, one in told["by_operation"].items():
        people().print(f"  {name}: {one}")


@data.command()
@plainly
def verify(folder: Folder = HERE) -> None:
    """Prove it: identities, no duplicates, no leaks across splits, nothing told by stripped sources."""
    from foretell.kernels.corpus.verify import problems

    rows = _rows(folder)
    found = list(problems(rows))
    for words in found[:50]:
        people().print(words, markup=False)
    if found:
        people().print(f"{len(found)} things are wrong in {len(rows)} rows")
        raise typer.Exit(FAILED)
    people().print(f"{len(rows)} rows verified")


@data.command()
@plainly
def split(out: Annotated[Path, typer.Option(help="JSON: row ids by split.")], folder: Folder = HERE) -> None:
    """Write which candidate is in which split."""
    named: dict[str, list[str]] = {}
    for r in _rows(folder):
        named.setdefault(r["split"], []).append(r["key"])
    out.write_text(json.dumps(named, indent=1) + "\n")
    people().print(", ".join(f"{name} {len(keys)}" for name, keys in sorted(named.items())))


@data.command()
@plainly
def export(out: Annotated[Path, typer.Option(help="JSON lines to write.")], folder: Folder = HERE) -> None:
    """Write the corpus as JSON lines, each row with its split."""
    rows = _rows(folder)
    with out.open("w", encoding="utf-8") as file:
        for r in rows:
            file.write(json.dumps({**r, "features": dict(r["features"])}) + "\n")
    people().print(f"{len(rows)} rows in {out}")


@data.command()
@plainly
def rebuild(
    features: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines of features, made if absent.")],
    seconds: Annotated[float, typer.Option(help="Build no longer than this.")] = float("inf"),
    apply: Annotated[bool, typer.Option(help="Put what the file says into the corpus; build nothing.")] = False,
    folder: Folder = HERE,
) -> None:
    """Build the GPU candidates again for features that a newer reader sees; nothing is measured, no GPU is needed."""
    from foretell.kernels.corpus import rebuild as again
    from foretell.kernels.corpus.table import arrow, write

    known = dict(again.told(features))
    path = folder / "corpus_gpu.parquet"
    if not path.exists():
        raise BadInput(f"there is no {path}", "a corpus of GPU candidates", "foretell data import FILE")
    rows = arrow().parquet.read_table(path).to_pylist()
    if apply:
        write(path, again.applied(rows, known))
        people().print(f"{len(known)} candidates' features in {path}")
        return
    try:
        left = again.wanting(rows, set(known))
    except again.OtherToolchain as error:
        raise BadInput(str(error), "the toolchain of the rows", "install those versions") from error
    with progress_console().status("building") as status:
        count = again.rebuild(left, features, seconds, lambda n: status.update(f"{n} of {len(left)} built"))
    people().print(f"{count} built, {len(left) - count} left; next: foretell data rebuild {features} --apply")


def _rows(folder: Path) -> list[dict[str, Any]]:
    from foretell.kernels.corpus.table import files, read

    rows = read(folder) if files(folder) else []
    if not rows:
        raise BadInput(f"there is no corpus in {folder}", "corpus_*.parquet", "foretell data import FILE")
    return rows
