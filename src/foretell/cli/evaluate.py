"""`foretell eval`: forecasters judged on measurements that were made before."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli import names
from foretell.cli.errors import BadInput, plainly
from foretell.cli.options import MAX_RESAMPLES, Seed, count, natural
from foretell.cli.output import AsJson, ProgressLines, document, line, people, progress_console
from foretell.errors import note

if TYPE_CHECKING:
    from rich.status import Status

    from foretell.kernels.evaluate.controls import Past
    from foretell.kernels.evaluate.data import Data
    from foretell.kernels.evaluate.pools import Pool, Tier
    from foretell.kernels.protocols import Forecaster

HERE = Path("data")
USUAL = ("constant", "random", "roofline", "features")
HELP = "foretell eval --help"
COLUMNS = f"{HELP}; columns and their values: docs/evaluation.md, Data of your own"


@plainly
def evaluate(
    table: Annotated[
        Path | None, typer.Argument(metavar="[TABLE]", help="The same as --data.", show_default=False)
    ] = None,
    forecaster: Annotated[
        list[str] | None,
        typer.Option(
            "--forecaster",
            metavar="FORECASTER",
            help="A forecaster to judge (may be repeated).",
            show_default=", ".join(USUAL) + "; program:eager too for a table of others, with [gpu]",
            autocompletion=names.one_of(names.EVAL_FORECASTERS),
        ),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(
            "--split",
            metavar="SPLIT",
            help="Rows to judge on (may be repeated).",
            show_default="the held-out splits, else all; development with --parts",
            autocompletion=names.one_of(names.SPLITS),
        ),
    ] = None,
    data: Annotated[Path, typer.Option(metavar="CORPUS", help="The folder of the corpus, or one Parquet file.")] = HERE,
    parts: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON that names the problems of each split of a table of others."),
    ] = None,
    tier: Annotated[
        str | None,
        typer.Option(
            "--tier",
            metavar="TIER",
            help="What forecasters see: source, or build (with features of the build).",
            show_default="build for a corpus",
            autocompletion=names.one_of(names.TIERS),
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", callback=count, help="At most this many candidates of each operation."),
    ] = None,
    learn: Annotated[
        int,
        typer.Option(metavar="N", callback=natural, help="Measurements of each operation to learn from first."),
    ] = 0,
    past: Annotated[
        Path, typer.Option(metavar="CORPUS", help="The corpus whose training rows `constant` and `random` draw on.")
    ] = HERE,
    resamples: Annotated[
        int, typer.Option(metavar="N", min=1, max=MAX_RESAMPLES, help="Bootstrap resamples for the intervals.")
    ] = 400,
    seed: Seed = 0,
    as_json: AsJson = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the JSON document here.")] = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Append date, commit, table and figures to this file.")
    ] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with charts here.")
    ] = None,
) -> None:
    """Judge forecasters on recorded measurements: accuracy, calibration, ranking, failures found."""
    from foretell.cli.evaluation import show
    from foretell.kernels.evaluate import log as evaluations
    from foretell.kernels.evaluate.judge import judge
    from foretell.kernels.evaluate.metrics import assess

    data = table or data
    for path in (out, html_file, log):
        if path is not None and path.is_dir():
            raise BadInput(f"{path} is a directory", "the name of a file to write", str(path / "evaluation"))
    with _as_bad_input():
        lines = ProgressLines()
        with progress_console().status("reading"):
            rows = _read(data, parts)
            splits = [name.replace("-", "_") for name in split or ()] or rows.default_splits()
            _check_logged(rows, splits, log)
            shown = _tier(tier, rows)
            judged_on = {name: _limited(rows.pools(name, shown), limit, seed) for name in splits}
            chosen, known = _chosen(forecaster, rows, past)
        for warning in rows.warnings():
            progress_console().print(f"warning: {line(warning)}", style="yellow", soft_wrap=True)
        tellers = {name: _forecaster(name, known, seed) for name in chosen}
        results = []
        for part, pools in judged_on.items():
            _check_some_left(part, pools, learn)
            for name, teller in tellers.items():
                label = f"{name} on {part}"
                with progress_console().status(label) as status:
                    lines.line(f"{label}: {sum(map(len, pools))} candidates to forecast")
                    judged = judge(teller, pools, learn, seed, _progress(status, lines, label, pools))
                    lines.line(f"{label}: figures and their intervals")
                    results.append(assess(judged, name, part, seed, resamples))
    settings = {"data": data.name or str(data), "tier": shown, "learn": learn, "limit": limit or "none", "seed": seed}
    settings |= {"resamples": resamples}
    content = {"settings": settings, "results": [r.to_dict() for r in results]}
    if as_json:
        document(content)
    else:
        show(results, rows.foreign)
    if log is not None:
        evaluations.append(log, data, results, settings)
    if out is not None:
        _write_json(out, content)
    if html_file is not None:
        from foretell.report.evaluation import write_evaluation

        write_evaluation(results, settings, html_file)
    for path in (out, html_file, log):
        if path is not None:
            people(as_json).print(str(path), soft_wrap=True)


def _progress(status: Status, lines: ProgressLines, label: str, pools: Sequence[Pool]) -> Callable[[int], None]:
    """Show how many candidates were forecast so far."""
    total, made = sum(map(len, pools)), 0

    def done(count: int) -> None:
        nonlocal made
        made += count
        words = f"{label}: {made} of {total} candidates"
        status.update(words)
        lines.line(words)

    return done


def _check_logged(rows: Data, splits: Sequence[str], log: Path | None) -> None:
    """Refuse looks at a part of a split table that is not for development, unless they are logged."""
    from foretell.kernels.evaluate.data import DEVELOPMENT

    held_out = [name for name in splits if name in rows.parts and name != DEVELOPMENT]
    if held_out and log is None:
        raise BadInput(f"an evaluation on {held_out[0]} is not logged", "--log FILE, a file that is committed", HELP)
    if rows.parts and not splits:
        raise BadInput("no split was chosen", f"--split with one of {', '.join(rows.parts)}", HELP)


def _chosen(names: list[str] | None, rows: Data, folder: Path) -> tuple[list[str], Past | None]:
    """The forecasters to judge, and what the controls among them know.

    Without names: the usual; for a table of others with `program:eager`, where torch is there to record candidates
    with, and without the controls if nothing is known to them.
    """
    from foretell.extras import EXTRAS, MissingPackage, is_installed

    controls = {"constant", "random"}
    if names:
        chosen = list(dict.fromkeys(names))
        return chosen, _past(rows, folder) if controls & set(chosen) else None
    if not rows.foreign:
        return list(USUAL), _past(rows, folder)
    chosen = [*USUAL, "program:eager"]
    if not is_installed("torch"):
        chosen.remove("program:eager")
        note(f"program:eager is left out: {MissingPackage('torch', EXTRAS['gpu'])}")
    try:
        return chosen, _past(rows, folder)
    except BadInput:
        return [name for name in chosen if name not in controls], None


def _read(path: Path, parts: Path | None = None) -> Data:
    from foretell.cli.corpus import is_absent, no_corpus
    from foretell.kernels.evaluate.data import read

    if is_absent(path):
        raise no_corpus(path, "foretell eval --data FOLDER (or FILE.parquet, docs/evaluation.md)")
    return read(path, parts)


def _tier(wanted: str | None, rows: Data) -> Tier:
    from foretell.kernels.evaluate.pools import TIERS

    if wanted is None:
        return rows.default_tier
    for tier in TIERS:
        if wanted == tier:
            return tier
    raise BadInput(f"there is no tier {wanted!r}", " or ".join(TIERS), HELP)


def _limited(pools: Sequence[Pool], limit: int | None, seed: int) -> list[Pool]:
    return [pool if limit is None else pool.take(pool.drawn(limit, seed, "limit")) for pool in pools]


def _past(rows: Data, folder: Path) -> Past:
    """How training rows turned out: those of the data where it has some, else those of the corpus in the folder."""
    from foretell.kernels.evaluate.pools import BadTable

    found = rows.past()
    if found.by_kind:
        return found
    try:
        found = _read(folder).past()
    except (BadTable, BadInput):
        found = rows.past()
    if not found.by_kind:
        raise BadInput(
            "there are no training rows for the controls to know",
            f"rows of the split train in {rows.path} or in the corpus of --past",
            f"--past {_corpus_place()}, or --forecaster with others than constant and random",
        )
    return found


def _corpus_place() -> str:
    """Where the corpus is, if this is a clone; else in words."""
    from foretell.extras import clone_root

    clone = clone_root()
    return shlex.quote(str(clone / HERE)) if clone else "FOLDER (the folder data of Foretell's repository)"


def _forecaster(name: str, known: Past | None, seed: int) -> Forecaster:
    from foretell.kernels.evaluate.controls import CONTROLS, control
    from foretell.kernels.forecast import FORECASTERS, UnknownForecaster, make
    from foretell.lm import BadModelName

    if name in CONTROLS and known is not None:
        return control(name, known, seed)
    try:
        return make(name, seed)
    except UnknownForecaster as error:
        known_names = ", ".join((*CONTROLS, *FORECASTERS))
        raise BadInput(f"there is no forecaster {name!r}", known_names, HELP) from error
    except BadModelName as error:
        raise BadInput(str(error), "the name of a language model as docs/lm.md has it", HELP) from error


def _check_some_left(part: str, pools: Sequence[Pool], learn: int) -> None:
    most = max((len(pool) for pool in pools), default=0)
    if most <= learn:
        raise BadInput(
            f"no candidate of {part} is left to judge: its largest pool has {most}",
            f"pools of more than the {learn} to learn from" if learn else "a split with rows",
            f"--learn {max(0, most - 1)} or less" if most else HELP,
        )


@contextmanager
def _as_bad_input() -> Iterator[None]:
    from foretell.kernels.evaluate.controls import NoPast
    from foretell.kernels.evaluate.pools import BadTable

    try:
        yield
    except BadTable as error:
        raise BadInput(str(error), error.expected, COLUMNS) from error
    except NoPast as error:
        do = f"--past {_corpus_place()}"
        raise BadInput(str(error), "training rows of that kind of device", do) from error


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
