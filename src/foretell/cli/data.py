"""`foretell data`: plan a corpus, import what was measured, say what it holds, prove it, split it, export it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell import extras
from foretell.cli import names
from foretell.cli.corpus import no_corpus
from foretell.cli.errors import FAILED, BadInput, plainly
from foretell.cli.group import help_alone
from foretell.cli.options import CorpusFolder, Seed, count, natural, time_limit_option
from foretell.cli.output import AsJson, command_line, document, line, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.corpus.plan import Item

data = typer.Typer(help="Plan, import, describe, verify, split and export the corpus of measured kernels.")
data.callback(invoke_without_command=True)(help_alone)
HERE = Path("data")
MOST_PROBLEMS = 50
MOST_REASONS = 20
_SINGULAR = {
    "devices": "device",
    "languages": "language",
    "origins": "origin",
    "statuses": "status",
    "splits": "split",
}


@data.command()
@plainly
def plan(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The plan to write (gzipped JSON lines).")],
    kind: Annotated[
        str,
        typer.Option(
            "--kind", metavar="KIND", help="Kind of device: cpu or gpu.", autocompletion=names.one_of(names.KINDS)
        ),
    ] = "gpu",
    per_language: Annotated[
        int, typer.Option(metavar="N", callback=natural, help="Candidates per template and language.")
    ] = 200,
    rounds: Annotated[
        int, typer.Option(metavar="N", callback=count, help="Passes over all tasks: each adds a share of them.")
    ] = 2,
    seed: Seed = 0,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="TASK",
            help="Only this task, or the file or folder of one of your own (may be repeated).",
            autocompletion=names.tasks,
        ),
    ] = None,
    candidate: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A candidate of your own task (may be repeated)."),
    ] = None,
    as_json: AsJson = False,
    folder: CorpusFolder = HERE,
) -> None:
    """Plan what to measure: candidates from every template, and every written kernel."""
    from foretell.kernels.corpus.plan import LANGUAGES, make_plan, write_plan
    from foretell.kernels.library import get
    from foretell.kernels.tasks import is_path

    if kind not in LANGUAGES:
        raise BadInput(f"there is no kind of device {kind!r}", "cpu or gpu")
    own = [name for name in task or () if is_path(name)]
    task_names = [get(name, kind).name for name in task or () if name not in own]
    if own or candidate:
        if len(own) != 1 or task_names or not candidate:
            raise BadInput(
                "this is not a plan for a task of your own", "one --task FILE, and --candidate FILE for each"
            )
        items = _own_items(own[0], candidate)
    else:
        items = make_plan(kind, per_language, rounds, seed, task_names, folder / "written")
    planned = write_plan(out, items)
    if as_json:
        document({"plan": str(out), "candidates": planned})
        return
    next_command = command_line("collect", out, "--into", "catalogue.sqlite")
    people().print(f"{planned} candidates planned in {out}; next: {next_command}", soft_wrap=True)


def _own_items(task: str, files: Sequence[Path]) -> list[Item]:
    import foretell as ft
    from foretell.inputs import read_gpu_candidate, read_text
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.corpus.plan import foreign_items

    own = ft.task(task)
    if own.device_kind == "gpu":
        return foreign_items(own, [read_gpu_candidate(own, file) for file in files])
    texts = [(file, read_text(file, "a C++ file that defines the task's entry point")) for file in files]
    return foreign_items(
        own, [Candidate(own.key, "cpp", text, Origin("person", {"file": f.name})) for f, text in texts]
    )


@data.command("import")
@plainly
def import_(
    catalogues: Annotated[list[Path], typer.Argument(metavar="FILE", help="Catalogues or run folders.")],
    folder: CorpusFolder = HERE,
    as_json: AsJson = False,
) -> None:
    """Add measurements to the corpus: catalogues, as `collect` writes them, or the folders of runs."""
    from foretell.kernels.corpus.imports import merge
    from foretell.received_limits import size_of, within_limits

    extras.check("data", "pyarrow")
    for path in catalogues:
        if not path.exists():
            raise BadInput(f"there is no {path}", "a catalogue or the folder of a run")
    with within_limits(", ".join(map(str, catalogues)), sum(map(size_of, (folder, *catalogues)))):
        left_out: list[str] = []
        counts = merge(folder, catalogues, left_out.append)
    for reason in left_out[:MOST_REASONS]:
        progress_console().print(f"note: {line(reason)}", soft_wrap=True)
    if len(left_out) > MOST_REASONS:
        progress_console().print(f"note: {len(left_out) - MOST_REASONS} more are left out")
    if as_json:
        document({"rows": dict(counts), "left_out": len(left_out)})
        return
    people().print(", ".join(f"{count} rows in {name}.parquet" for name, count in counts.items()) or "nothing new")


@data.command()
@plainly
def stats(folder: CorpusFolder = HERE, as_json: AsJson = False) -> None:
    """Show what the corpus holds: counts, and the best speedup and spread of each operation."""
    from foretell.kernels.corpus.stats import summary
    from foretell.received_limits import size_of, within_limits

    with within_limits(folder, size_of(folder)):
        stats = summary(_rows(folder))
    if as_json:
        document(stats)
    else:
        _show_stats(stats)


def _show_stats(stats: Mapping[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    from foretell.report.numbers import count, seconds, times

    console = people()
    operations, families = count(stats["operations"], "operation"), count(stats["families"], "family", "families")
    console.print(
        f"{count(stats['candidates'], 'candidate')} of {operations} in {families}; "
        f"{seconds(stats['device_s'])} of device time, {seconds(stats['build_s'])} of building\n",
        soft_wrap=True,
    )
    counts = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("by", "", "candidates"):
        counts.add_column(heading, justify="right" if heading == "candidates" else "left")
    for group in ("devices", "languages", "origins", "statuses", "splits"):
        ranked = sorted(stats[group].items(), key=lambda one: -one[1])
        for number, (name, candidates) in enumerate(ranked):
            counts.add_row(_SINGULAR[group] if number == 0 else "", line(name), f"{candidates:,}")
    console.print(counts)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("operation", "device", "candidates", "failed", "best", "median", "p90 / p10"):
        table.add_column(heading, justify="left" if heading in ("operation", "device") else "right")
    for name, one in stats["by_operation"].items():
        kind, _, operation = name.partition(" ")
        speeds = ("–" if one[key] is None else times(one[key], sign="x") for key in ("best", "median", "spread"))
        table.add_row(line(operation), line(kind), f"{one['candidates']:,}", f"{one['failed']:,}", *speeds)
    console.print(table)
    console.print("best and median are speedups over the reference; p90 / p10 is their spread", style="dim")


@data.command()
@plainly
def verify(folder: CorpusFolder = HERE, as_json: AsJson = False) -> None:
    """Check the corpus: identities, duplicates, leaks across splits, and comments left in stripped sources.

    The tables of kernels that language models wrote for problems (real_*.parquet), and the labels of kernels of others
    (shared_labels.parquet), are checked too if they are there.
    """
    from foretell.kernels.corpus import labels, real
    from foretell.kernels.corpus.verify import problems
    from foretell.received_limits import seconds_for, size_of, within_limits

    with within_limits(folder, size_of(folder)):
        rows = _rows(folder)
        kernels, outcomes, steps = real.read(folder), labels.read(folder), labels.read_steps(folder)
        shared = labels.read_shared(folder)
        faults = [
            *problems(rows, seconds_for(size_of(folder))),
            *real.problems(kernels),
            *labels.problems(outcomes, steps, kernels),
        ]
        faults += labels.label_problems(shared)
    counts = {"rows": len(rows), "real_kernels": len(kernels), "labels": len(outcomes), "steps": len(steps)}
    counts |= {"shared_labels": len(shared)}
    if as_json:
        document({"ok": not faults, **counts, "problems": faults})
    else:
        for words in faults[:MOST_PROBLEMS]:
            people().print(line(words), soft_wrap=True)
        what = f"{len(rows)} rows" + (f", {len(kernels)} real kernels and {len(outcomes)} labels" if kernels else "")
        people().print(f"{len(faults)} problems in {what}" if faults else f"{what} verified")
    if faults:
        raise typer.Exit(FAILED)


@data.command()
@plainly
def split(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The JSON file to write: row ids by split.")],
    folder: CorpusFolder = HERE,
    as_json: AsJson = False,
) -> None:
    """Write which candidate is in which split."""
    named: dict[str, list[str]] = {}
    for r in _rows(folder):
        named.setdefault(r["split"], []).append(r["key"])
    out.write_text(json.dumps(named, indent=1) + "\n")
    if as_json:
        document({"file": str(out), "rows": {name: len(keys) for name, keys in sorted(named.items())}})
    else:
        people().print(", ".join(f"{name} {len(keys)}" for name, keys in sorted(named.items())))


@data.command()
@plainly
def export(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file of JSON lines to write.")],
    folder: CorpusFolder = HERE,
    as_json: AsJson = False,
) -> None:
    """Write the corpus as JSON lines, each row with its split."""
    rows = _rows(folder)
    with out.open("w", encoding="utf-8") as file:
        for r in rows:
            file.write(json.dumps({**r, "features": dict(r["features"])}) + "\n")
    if as_json:
        document({"file": str(out), "rows": len(rows)})
    else:
        people().print(f"{len(rows)} rows in {out}", soft_wrap=True)


@data.command()
@plainly
def rebuild(
    features: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON lines of features, created if absent, else continued.")
    ],
    seconds: Annotated[float | None, time_limit_option("build")] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the features in FILE into the corpus; build nothing.")
    ] = False,
    folder: CorpusFolder = HERE,
    as_json: AsJson = False,
) -> None:
    """Build the GPU candidates again to extract new features; nothing is measured, no GPU is needed."""
    from foretell.kernels.corpus import rebuild as again
    from foretell.kernels.corpus.table import read_file, write

    known = dict(again.told(features))
    path = folder / "corpus_gpu.parquet"
    if not path.exists():
        raise no_corpus(path, f"foretell data rebuild {features} --data FOLDER")
    rows = read_file(path)
    if apply:
        write(path, again.applied(rows, known))
        if as_json:
            document({"corpus": str(path), "applied": len(known)})
        else:
            people().print(f"features of {len(known)} candidates written into {path}")
        return
    try:
        left = again.wanting(rows, set(known))
    except again.OtherToolchain as error:
        raise BadInput(str(error), "the toolchain of the rows", "install those versions") from error
    with progress_console().status("building") as status:
        limit_s = math.inf if seconds is None else seconds
        built = again.rebuild(left, features, limit_s, lambda n: status.update(f"{n} of {len(left)} built"))
    if as_json:
        document({"features": str(features), "built": built, "left": len(left) - built})
        return
    next_command = command_line("data", "rebuild", features, "--apply")
    people().print(f"{built} built, {len(left) - built} left; next: {next_command}", soft_wrap=True)


def _rows(folder: Path) -> list[dict[str, Any]]:
    from foretell.kernels.corpus.table import files, read

    rows = read(folder) if files(folder) else []
    if not rows:
        raise no_corpus(folder, "pass --data FOLDER; or make a corpus: foretell data import FILE")
    return rows
