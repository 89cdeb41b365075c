"""`foretell train`: models learnt from the corpus."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli.errors import BadInput, plainly
from foretell.cli.output import people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.device import Device

Out = Annotated[Path, typer.Option(help="The model to write (.npz).")]
Folder = Annotated[Path, typer.Option("--data", help="The folder of the corpus.")]

train = typer.Typer(help="Train forecasters on the corpus of measured kernels.")


@train.command()
@plainly
def features(
    out: Out,
    folder: Folder = Path("data"),
    seed: int = 0,
    quick: Annotated[bool, typer.Option(help="A tenth of the trees: to try things out.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes that share the work; one a core by default.")
    ] = None,
) -> None:
    """Train the feature model: boosted trees for speed and failure, with their errors on what was left out."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise BadInput("scikit-learn is not installed", "scikit-learn", "pip install foretell[data]") from error
    from foretell.train.features import Effort, train

    rows, devices = _corpus(folder)
    effort = replace(Effort(30, 20, 30, 2) if quick else Effort(), jobs=jobs or len(os.sched_getaffinity(0)))
    console = progress_console()
    model = train(rows, devices, seed, effort, lambda words: console.print(words))
    out.parent.mkdir(parents=True, exist_ok=True)
    model.save(out)
    people().print(f"{model.about['rows']} rows learnt; {out} is {out.stat().st_size / 1e6:.1f} MB")


def _corpus(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Device]]:
    """The corpus's rows and their devices; BadInput where it cannot be read or is not there."""
    from foretell.kernels.corpus.table import NoArrow, files, read
    from foretell.kernels.devices import UnknownDevice, described

    try:
        rows = read(folder) if files(folder) else []
        devices = {name: described(name) for name in sorted({r["device"] for r in rows})}
    except (NoArrow, UnknownDevice) as error:
        raise BadInput(str(error), "a corpus of known devices, and pyarrow") from error
    if not rows:
        raise BadInput(f"there is no corpus in {folder}", "corpus_*.parquet", "foretell data import FILE")
    return rows, devices
