"""`foretell eval`: forecasters judged on measurements that were made before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli import names
from foretell.cli.errors import BadInput, plainly
from foretell.cli.options import MAX_RESAMPLES, Seed, count, natural
from foretell.cli.output import AsJson, document, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.evaluate.controls import Past
    from foretell.kernels.evaluate.data import Data
    from foretell.kernels.evaluate.pools import Pool, Tier
    from foretell.kernels.evaluate.result import Result
    from foretell.kernels.protocols import Forecaster

HERE = Path("data")
USUAL = ("constant", "random", "roofline", "features")
HELP = "foretell eval --help"
LABEL_WIDTH, INTERVAL_WIDTH = 40, 25  # columns; where they do not fit, the terminal shows no intervals


@plainly
def evaluate(
    forecaster: Annotated[
        list[str] | None,
        typer.Option(
            "--forecaster",
            metavar="FORECASTER",
            help="A forecaster to judge (may be repeated).",
            show_default=", ".join(USUAL),
            autocompletion=names.one_of(names.EVAL_FORECASTERS),
        ),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(
            "--split",
            metavar="SPLIT",
            help="Rows to judge on (may be repeated).",
            show_default="the held-out splits, else all",
            autocompletion=names.one_of(names.SPLITS),
        ),
    ] = None,
    data: Annotated[Path, typer.Option(metavar="CORPUS", help="The folder of the corpus, or one Parquet file.")] = HERE,
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
    html_file: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with charts here.")
    ] = None,
) -> None:
    """Judge forecasters on recorded measurements: accuracy, calibration, ranking, failures found."""
    from foretell.kernels.evaluate.judge import judge
    from foretell.kernels.evaluate.metrics import assess

    for path in (out, html_file):
        if path is not None and path.is_dir():
            raise BadInput(f"{path} is a directory", "the name of a file to write", str(path / "evaluation"))
    chosen = list(dict.fromkeys(forecaster or USUAL))
    with _as_bad_input():
        with progress_console().status("reading"):
            rows = _read(data)
            shown = _tier(tier, rows)
            parts = {name: _limited(rows.pools(name, shown), limit, seed) for name in split or rows.default_splits()}
            known = _past(rows, past) if {"constant", "random"} & set(chosen) else None
        for warning in rows.warnings():
            progress_console().print(f"warning: {warning}", style="yellow", soft_wrap=True, markup=False)
        tellers = {name: _forecaster(name, known, seed) for name in chosen}
        results = []
        for part, pools in parts.items():
            _check_some_left(part, pools, learn)
            for name, teller in tellers.items():
                with progress_console().status(f"{name} on {part}"):
                    judged = judge(teller, pools, learn, seed)
                    results.append(assess(judged, name, part, seed, resamples))
    settings = {"data": data.name or str(data), "tier": shown, "learn": learn, "limit": limit or "none", "seed": seed}
    told = {"settings": settings | {"resamples": resamples}, "results": [r.to_dict() for r in results]}
    if as_json:
        document(told)
    else:
        _show(results)
    if out is not None:
        _write_json(out, told)
    if html_file is not None:
        from foretell.report.evaluation import write_evaluation

        write_evaluation(results, settings, html_file)
    for path in (out, html_file):
        if path is not None:
            people(as_json).print(str(path), soft_wrap=True, markup=False)


def _read(path: Path) -> Data:
    from foretell.cli.corpus import is_absent, no_corpus
    from foretell.kernels.evaluate.data import read

    if is_absent(path):
        raise no_corpus(path, "foretell eval --data FOLDER (or FILE.parquet, docs/evaluation.md)")
    return read(path)


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
            "--past FOLDER, or --forecaster with others than constant and random",
        )
    return found


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
        raise BadInput(str(error), error.expected, HELP) from error
    except NoPast as error:
        raise BadInput(str(error), "training rows of that kind of device", "--past FOLDER") from error


def _show(results: Sequence[Result]) -> None:
    from rich.table import Table

    from foretell.kernels.evaluate.figures import FIGURES, MAIN
    from foretell.report.evaluation import best, shown
    from foretell.report.numbers import percent, seconds

    console = people()
    for split in dict.fromkeys(r.split for r in results):
        ours = [r for r in results if r.split == split]
        one = ours[0]
        head = f"{split}: {one.candidates} candidates of {one.operations} operations, {one.failures} failures"
        table = Table(title=head, title_justify="left", title_style="bold", caption_justify="left")
        table.add_column("")
        roomy = console.width >= LABEL_WIDTH + INTERVAL_WIDTH * len(ours)
        for r in ours:
            table.add_column(r.forecaster, justify="right")
        for name in MAIN:
            figure = FIGURES[name]
            ahead = best(figure, [r.figures[name].value for r in ours])
            cells = []
            for i, r in enumerate(ours):
                value, interval = shown(r.figures[name])
                strong = f"[bold green]{value}[/]" if i in ahead else value
                cells.append(f"{strong} [dim]{interval}[/]" if interval and roomy else strong)
            table.add_row(f"{figure.label} [dim]{figure.arrow}[/]", *cells)
        table.add_row("time per forecast", *(seconds(r.seconds_each) for r in ours))
        if any(r.troubles for r in ours):
            table.add_row("forecasts in trouble", *(percent(r.troubles_share, 1) for r in ours))
        console.print(table)


def _write_json(path: Path, told: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=1, allow_nan=False) + "\n", encoding="utf-8")
