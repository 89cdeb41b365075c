"""`foretell search`: propose, forecast, measure where it pays, and keep the fastest kernel that is right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretell.cli import names
from foretell.cli.errors import FAILED, INTERRUPTED, plainly
from foretell.cli.options import (
    TaskName,
    budget_option,
    forecaster_option,
    language_option,
    policy_option,
    profile_option,
    seed_option,
    strategy_option,
)
from foretell.cli.output import AsJson, document, people, progress_console

if TYPE_CHECKING:
    from foretell.cli.lm_report import LmReport
    from foretell.cli.parts import Parts
    from foretell.kernels.protocols import Bench
    from foretell.kernels.search import RunState
    from foretell.kernels.task import Task

_BUDGETS = "Budgets (whichever is spent first ends the run)"
_PARTS = "How to search"
_RUN = "Where it is kept"


@plainly
def search(
    task: TaskName,
    profile: Annotated[str | None, profile_option(_BUDGETS)] = None,
    measurements: Annotated[int | None, budget_option(_BUDGETS, "Measure at most this many candidates.")] = None,
    seconds: Annotated[float | None, budget_option(_BUDGETS, "Use at most this much device time.", "SECONDS")] = None,
    candidates: Annotated[int | None, budget_option(_BUDGETS, "Consider at most this many candidates.")] = None,
    policy: Annotated[str | None, policy_option(_PARTS)] = None,
    forecaster: Annotated[str | None, forecaster_option(_PARTS)] = None,
    strategy: Annotated[str | None, strategy_option(_PARTS)] = None,
    proposer: Annotated[
        str | None,
        typer.Option(
            metavar="PROPOSER",
            help="Who writes candidates: template, crossover or a language model (docs/lm.md).",
            show_default="template",
            rich_help_panel=_PARTS,
            autocompletion=names.one_of(names.PROPOSERS),
        ),
    ] = None,
    language: Annotated[str | None, language_option(_PARTS)] = None,
    seed: Annotated[int | None, seed_option(_PARTS)] = None,
    use_catalogue: Annotated[
        bool,
        typer.Option(
            "--catalogue/--no-catalogue",
            help="Reuse measurements made here before, and keep new ones.",
            rich_help_panel=_PARTS,
        ),
    ] = True,
    warm_start: Annotated[
        bool,
        typer.Option(
            "--warm-start",
            help="Start from the fastest known candidates, of this and other devices.",
            rich_help_panel=_PARTS,
        ),
    ] = False,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Directory for the new run.", show_default="runs/TASK-N", rich_help_panel=_RUN
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Resume this run: its directory or name.",
            rich_help_panel=_RUN,
            autocompletion=names.runs,
        ),
    ] = None,
    report: Annotated[bool, typer.Option(help="Write report.html into the run.", rich_help_panel=_RUN)] = True,
    as_json: AsJson = False,
) -> None:
    """Search for a faster kernel, measuring only where it pays."""
    from foretell.cli.errors import BadInput
    from foretell.cli.inputs import load_task
    from foretell.cli.parts import LANGUAGE, Wishes, bench_of, kind_of, new_parts, parts_of_run
    from foretell.cli.runs import find_run, new_run
    from foretell.kernels.propose.warm import PREFIX
    from foretell.kernels.search import load_run, started_here

    if run is not None and resume is not None:
        raise BadInput("--run starts a new run and --resume continues one", "one of the two")
    if warm_start:
        if not use_catalogue:
            raise BadInput("--warm-start needs the catalogue that --no-catalogue ignores", "one of the two")
        proposer = PREFIX + (proposer or "template")
    there = None if resume is None else find_run(resume)
    state = None if there is None else load_run(there)
    config = {} if state is None else state.config
    written_in = language or config.get("language", LANGUAGE)
    kind = kind_of(written_in)
    wanted = load_task(task, kind)
    wishes = Wishes(policy, forecaster, profile, seed, measurements, seconds, candidates, strategy, proposer, language)
    if there is None or state is None:
        parts = new_parts(wanted, wishes, written_in)
    else:
        parts = parts_of_run(wanted, there, config, wishes, started_here(state))
    with bench_of(kind) as bench:
        run_dir = there or new_run(wanted.name, run)
        state = _search(wanted, bench, parts, run_dir, resume is not None, use_catalogue)
    conclude(state, run_dir, report, as_json, lm_usage(parts, resumed=resume is not None))


def _search(task: Task, bench: Bench, parts: Parts, run_dir: Path, resumed: bool, use_catalogue: bool) -> RunState:
    from foretell.cli.live import make_view
    from foretell.cli.parts import catalogue, warmed
    from foretell.kernels.search import Search

    known = catalogue() if use_catalogue else None
    console = progress_console()
    with make_view(console, parts.config.profile.budgets) as view:
        work = Search(
            task,
            bench,
            warmed(parts, task, bench.device, known),
            parts.forecaster,
            parts.strategy,
            parts.policy,
            parts.config,
            run_dir,
            catalogue=known,
            on_event=view.on_event,
        )
        state = work.resume() if resumed else work.run()
    if work.torn is not None:
        console.print(f"note: {work.torn}", markup=False, soft_wrap=True)
    return state


def lm_usage(parts: Parts, resumed: bool) -> LmReport:
    """What the language models of a search were asked and cost in this process."""
    from foretell.cli.lm_report import LmReport
    from foretell.lm.usage import usage_of

    usages = (usage_of("proposer", parts.proposer), usage_of("forecaster", parts.forecaster))
    return LmReport(tuple(one for one in usages if one is not None), resumed)


def conclude(
    state: RunState, run_dir: Path, report: bool, as_json: bool, language_models: LmReport | None = None
) -> None:
    """Write the winner and the report, say what came out, and end with the right exit code."""
    from foretell.cli.runs import REPORT_NAME
    from foretell.cli.summary import best_path, print_summary, summary_document
    from foretell.kernels.search import StopReason
    from foretell.received import write_plain
    from foretell.report import write_report

    if state.best is not None:
        write_plain(best_path(state, run_dir), state.best.candidate.source.encode("utf-8", "replace"))
    written = write_report(state, run_dir / REPORT_NAME, run_dir) if report else None
    if as_json:
        document(summary_document(state, run_dir, written, language_models))
    else:
        print_summary(people(), state, run_dir, written, language_models)
    if state.finished is not None and state.finished.reason is StopReason.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if state.best is None:
        raise typer.Exit(FAILED)
