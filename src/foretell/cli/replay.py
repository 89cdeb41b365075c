"""`foretell replay`: policies and strategies compared over measurements that were made before."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretell.cli import names
from foretell.cli.errors import INTERRUPTED, BadInput, plainly
from foretell.cli.options import Jobs, count, natural
from foretell.cli.output import AsJson, document, marked, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.replay.compare import Contender, Effort, Run
    from foretell.kernels.replay.grounds import Ground, Kind, Source
    from foretell.kernels.replay.result import Comparison

HERE = Path("data")
HELP = "foretell replay --help"
POOLS, SEEDS = 6, 10
USUAL = {"corpus": ("value", "top", "random"), "space": ("tuner", "value", "random")}
USUAL_FORECASTER = {"corpus": "online", "space": "online:none"}
USUAL_STRATEGY = "puct"
_WHO = "Who is compared (every combination; each may be repeated)"
_WHERE = "Where"
_HOW = "What each search may do"
_EXPLAINED = """within 5 %: measurements until so near the pool's best, median (pools, seeds)
reached: share of searches that got there; best at N: mean share after N"""


@plainly
def replay(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="A corpus (folder or Parquet), tables of tuning spaces, or Kernel Tuner cache files.",
            show_default="data",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="POLICY",
            help="value, selective, top, random, all; on tuning spaces also tuner.",
            autocompletion=names.one_of(names.REPLAY_POLICIES),
            show_default="value, top, random; on tuning spaces tuner, value, random",
            rich_help_panel=_WHO,
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            metavar="STRATEGY",
            help="puct, greedy, beam, islands, random.",
            show_default="puct",
            rich_help_panel=_WHO,
            autocompletion=names.one_of(names.STRATEGIES),
        ),
    ] = None,
    forecaster: Annotated[
        list[str] | None,
        typer.Option(
            "--forecaster",
            metavar="FORECASTER",
            help="online, features, roofline, none, online:NAME. On tuning spaces none or online:none.",
            autocompletion=names.one_of(names.REPLAY_FORECASTERS),
            show_default="online; on tuning spaces online:none",
            rich_help_panel=_WHO,
        ),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(
            "--split",
            metavar="SPLIT",
            help="Rows of the corpus (may be repeated).",
            autocompletion=names.one_of(names.SPLITS),
            show_default="held_operation, held_family",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    operation: Annotated[
        list[str] | None,
        typer.Option(
            "--operation",
            metavar="OPERATION",
            help="Only this operation (may be repeated).",
            rich_help_panel=_WHERE,
            autocompletion=names.tasks,
        ),
    ] = None,
    pools: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            callback=natural,
            help="At most this many pools (the candidates of one operation on one device), evenly chosen; 0 for all.",
            show_default=f"{POOLS}, all with --operation or tuning spaces",
            rich_help_panel=_WHERE,
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(metavar="N", callback=count, help="Searches per contender and pool.", rich_help_panel=_WHERE),
    ] = SEEDS,
    measurements: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            callback=count,
            help="Measure at most this many candidates.",
            show_default="a quarter of the pool, 8 to 100",
            rich_help_panel=_HOW,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            callback=count,
            help="Consider at most this many candidates.",
            show_default="the pool, up to 400",
            rich_help_panel=_HOW,
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            callback=count,
            help="Candidates proposed per round.",
            show_default="16",
            rich_help_panel=_HOW,
        ),
    ] = None,
    near: Annotated[
        bool | None,
        typer.Option(
            "--near/--anywhere",
            help="Propose candidates near the strategy's parents, or anywhere in the pool (all strategies then agree).",
            show_default="--near if strategies are compared",
            rich_help_panel=_HOW,
        ),
    ] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write replay.json and replay.html, with the curves, here.")
    ] = None,
) -> None:
    """Compare policies and strategies over recorded measurements: how soon each has a kernel near the best.

    Without arguments: a few operations of the corpus that no training saw, in a minute or two.
    """
    from foretell.kernels.replay.compare import Effort
    from foretell.kernels.replay.result import Comparison, PoolFacts
    from foretell.received_limits import size_of, within_limits

    if out is not None and out.exists() and not out.is_dir():
        raise BadInput(f"{out} is not a folder", "a folder for replay.json and replay.html", "--out FOLDER")
    paths = files or [HERE]
    strategies = list(dict.fromkeys(strategy or [USUAL_STRATEGY]))
    effort = Effort(measurements, candidates, batch, _near(near, strategies))
    limits = within_limits(", ".join(map(str, paths)), sum(map(size_of, paths)))
    with _as_bad_input(), progress_console().status("reading"), limits:
        source = _read(paths)
        there = _grounds(source, split, operation)
        chosen = _chosen(there, pools, bool(operation), effort)
        facts = tuple(PoolFacts.of(ground.pool(), effort) for ground in chosen)
    contending = _contenders(source.kind, policy, strategies, forecaster)
    settings = {
        "files": [path.name or str(path) for path in paths],
        "splits": list(split or source.splits()) if source.kind == "corpus" else [],
        "pools": len(chosen),
        "pools_there": len(there),
        "seeds": seeds,
        "strategies": strategies,
        "batch": effort.profile(1).batch_size,
        "candidates_come": "from near their parents" if effort.near else "from anywhere in the pool",
    }
    began = time.monotonic()
    runs, interrupted = _replayed(chosen, contending, seeds, effort, jobs or len(os.sched_getaffinity(0)))
    if interrupted and not runs:
        raise KeyboardInterrupt
    told = Comparison(settings, facts, tuple(runs), len(chosen) * len(contending) * seeds)
    written = _write(told, out) if out is not None else []
    if as_json:
        document(told.to_dict())
    else:
        _show(told, time.monotonic() - began)
        for path in written:
            people().print(str(path), soft_wrap=True)
        if not written:
            people().print(f"next  {_more(told)}", style="dim")
    if interrupted:
        progress_console().print(f"interrupted: {len(runs)} of {told.wanted} searches were replayed")
        raise typer.Exit(INTERRUPTED)


def _more(told: Comparison) -> str:
    few = told.settings["pools"] < told.settings["pools_there"]
    return f"--out FOLDER draws the curves{', --pools 0 takes all pools' if few else ''}"


def _read(paths: Sequence[Path]) -> Source:
    from foretell.cli.corpus import is_absent, no_corpus
    from foretell.kernels.replay.grounds import read

    if list(paths) == [HERE] and is_absent(HERE):
        raise no_corpus(HERE, "foretell replay FOLDER (or a tuning space, docs/replay.md)")
    return read(paths)


def _contenders(
    kind: Kind, policies: Sequence[str] | None, strategies: Sequence[str], forecasters: Sequence[str] | None
) -> list[Contender]:
    """Every combination; BadInput where there is no such part, or it cannot work on this kind of ground."""
    from foretell.kernels.replay.compare import CONTESTING, NOBODY, TUNER, contenders
    from foretell.kernels.search import STRATEGIES

    policies, forecasters = policies or USUAL[kind], forecasters or [USUAL_FORECASTER[kind]]
    for what, known, wanted in (("policy", CONTESTING, policies), ("strategy", STRATEGIES, strategies)):
        for name in wanted:
            if name not in known:
                raise BadInput(f"there is no {what} {name!r}", ", ".join(known), HELP)
    if kind == "corpus" and TUNER in policies:
        raise BadInput(
            "the tuner needs a tuning space: it tunes the parameters of one kernel",
            "a table of a tuning space, or a Kernel Tuner cache",
            HELP,
        )
    blind = (NOBODY, f"online:{NOBODY}")
    for name in forecasters:
        if kind == "space" and name not in blind:
            raise BadInput(
                f"{name!r} cannot forecast a tuning space: it has no source to read", " or ".join(blind), HELP
            )
        _check_forecaster(name)
    return contenders(policies, strategies, forecasters)


def _check_forecaster(name: str) -> None:
    from foretell.kernels.forecast import FORECASTERS, UnknownForecaster, make
    from foretell.kernels.replay.compare import NOBODY
    from foretell.lm import BadModelName

    if name in (NOBODY, f"online:{NOBODY}"):
        return
    try:
        make(name)
    except UnknownForecaster as error:
        raise BadInput(f"there is no forecaster {name!r}", ", ".join((NOBODY, *FORECASTERS)), HELP) from error
    except BadModelName as error:
        raise BadInput(str(error), "the name of a language model as docs/lm.md has it", HELP) from error


def _near(wanted: bool | None, strategies: Sequence[str]) -> bool:
    if wanted is False and len(strategies) > 1:
        raise BadInput(
            "where candidates come from anywhere, it makes no difference what a strategy picks",
            "one strategy, or candidates from near those it picked",
            "--near",
        )
    return len(strategies) > 1 if wanted is None else wanted


def _grounds(source: Source, splits: Sequence[str] | None, operations: Sequence[str] | None) -> list[Ground]:
    if splits and source.kind == "space":
        raise BadInput("a tuning space has no splits", "--split with a corpus only", HELP)
    grounds = source.grounds(splits or ())
    known = sorted({ground.operation for ground in grounds})
    for name in operations or ():
        if name not in known:
            raise BadInput(f"there is no operation {name!r} to replay", ", ".join(known) or "none has any", HELP)
    found = [ground for ground in grounds if not operations or ground.operation in operations]
    if not found:
        raise BadInput("there is no pool in which anything works", "rows with the status ok", HELP)
    return found


def _chosen(grounds: Sequence[Ground], most: int | None, named: bool, effort: Effort) -> list[Ground]:
    """At most so many, evenly spread over their order, with what proposing from near needs."""
    from foretell.kernels.replay.grounds import with_knobs

    if most is None:
        most = 0 if named or grounds[0].space is not None else POOLS
    count = min(most or len(grounds), len(grounds))
    chosen = [grounds[(2 * k + 1) * len(grounds) // (2 * count)] for k in range(count)]
    return with_knobs(chosen) if effort.near else chosen


def _replayed(
    grounds: Sequence[Ground], contending: Sequence[Contender], seeds: int, effort: Effort, jobs: int
) -> tuple[list[Run], bool]:
    """All runs by ground, contender and seed, or those there were when Ctrl-C came."""
    from foretell.kernels.replay.compare import compare

    found: list[Run] = []
    wanted = len(grounds) * len(contending) * seeds
    interrupted = False
    with progress_console().status(f"0 of {wanted} searches") as status:
        try:
            for runs in compare(grounds, contending, seeds, effort, jobs):
                found += runs
                status.update(f"{len(found)} of {wanted} searches")
        except KeyboardInterrupt:
            interrupted = True
    order = {contender: i for i, contender in enumerate(contending)}
    return sorted(found, key=lambda run: (order[run.contender], run.ground, run.seed)), interrupted


def _write(told: Comparison, folder: Path) -> list[Path]:
    from foretell.report.replay import write_replay
    from foretell.report.write import write_whole

    text = json.dumps(told.to_dict(), indent=1, allow_nan=False) + "\n"
    return [write_whole(folder / "replay.json", text), write_replay(told, folder / "replay.html")]


def _show(told: Comparison, seconds: float) -> None:
    from rich import box
    from rich.table import Table

    from foretell.report.numbers import count, percent
    from foretell.report.numbers import seconds as spell
    from foretell.report.replay import number, setting, soonest

    console, standings = people(), told.standings
    searches = f"{count(len(told.runs), 'search', 'searches')} in {spell(round(seconds))}"
    console.print(f"{', '.join(told.settings['files'])} · {setting(told)} · {searches}", soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("contender", no_wrap=True)
    first, *rest = map(str, told.places)
    for name in ("within\n5 %", "reached", f"best\nat {first}", *rest, "consi-\ndered"):
        table.add_column(name, justify="right")
    ahead, labels = soonest([one.until for one in standings]), told.labels()
    for i, one in enumerate(standings):
        until = marked("[bold green]{}[/]", number(one.until)) if i in ahead else number(one.until)
        shares = (percent(one.mean[k - 1]) for k in told.places)
        table.add_row(labels[one.contender], until, percent(one.reached), *shares, f"{one.considered:.0f}")
    console.print(table)
    console.print(_EXPLAINED, style="dim")


@contextmanager
def _as_bad_input() -> Iterator[None]:
    from foretell.kernels.evaluate.pools import BadTable

    try:
        yield
    except BadTable as error:
        raise BadInput(str(error), error.expected, HELP) from error
