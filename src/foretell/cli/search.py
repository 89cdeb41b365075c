"""`foretell search`: propose, forecast, measure where it pays, and keep the fastest kernel that is right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretell.cli import names
from foretell.cli.errors import FAILED, INTERRUPTED, BadInput, plainly
from foretell.cli.options import (
    budget_option,
    forecaster_option,
    language_option,
    policy_option,
    profile_option,
    run_settings,
    seed_option,
    strategy_option,
)
from foretell.cli.output import AsJson, document, people, progress_console

if TYPE_CHECKING:
    from foretell.cli.lm_report import LmReport
    from foretell.kernels.search import RunState

_BUDGETS = "Budgets (whichever is spent first ends the run)"
_PARTS = "How to search"
_RUN = "Where it is kept"


@plainly
def search(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK",
            help="A task, or the file or folder of one of your own (docs/tasks.md); with --resume it may be left out.",
            show_default=False,
            autocompletion=names.tasks,
        ),
    ] = None,
    profile: Annotated[str | None, profile_option(_BUDGETS)] = None,
    measurements: Annotated[
        int | None, budget_option("--measurements", _BUDGETS, "Measure at most this many candidates.")
    ] = None,
    seconds: Annotated[float | None, budget_option("--seconds", _BUDGETS, "Use at most this much device time.")] = None,
    candidates: Annotated[
        int | None, budget_option("--candidates", _BUDGETS, "Consider at most this many candidates.")
    ] = None,
    policy: Annotated[str | None, policy_option(_PARTS, "; all with --start alone")] = None,
    forecaster: Annotated[str | None, forecaster_option(_PARTS)] = None,
    strategy: Annotated[str | None, strategy_option(_PARTS)] = None,
    proposer: Annotated[
        str | None,
        typer.Option(
            "--proposer",
            metavar="PROPOSER",
            help="Who writes candidates: template, crossover, knobs (of --start) or a language model (docs/lm.md).",
            show_default="template, or knobs with --start",
            rich_help_panel=_PARTS,
            autocompletion=names.one_of(names.PROPOSERS),
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A kernel to start from: its tunable constants are varied, or it is a language model's first parent.",
            rich_help_panel=_PARTS,
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
    """Search for a faster kernel, measuring only where it pays.

    A finished run continues with --resume and a larger budget.
    """
    from foretell import api
    from foretell.cli.live import make_view
    from foretell.cli.lm_report import LmReport
    from foretell.inputs import load_task
    from foretell.kernels.propose.warm import PREFIX
    from foretell.runs import find_run

    if start is not None and resume is not None:
        raise BadInput("--start is for a new run, and --resume continues one", "one of the two")
    if run is not None and resume is not None:
        raise BadInput("--run starts a new run and --resume continues one", "one of the two")
    if warm_start:
        if not use_catalogue:
            raise BadInput("--warm-start needs the catalogue that --no-catalogue ignores", "one of the two")
        proposer = PREFIX + (proposer or ("template" if start is None else "knobs"))
    settings = run_settings(locals()) | {"proposer": proposer, "use_catalogue": use_catalogue}
    if resume is not None:
        there = find_run(resume)
        wanted = None if task is None else load_task(task, _kind_of_run(there, language))
        chosen = api.open_run(there, task=wanted, language=language, must_exist=True, **settings)
    else:
        if task is None:
            raise BadInput("there is no task to search", "foretell search TASK", "foretell tasks")
        chosen = api.new_run(task, start=start, language=language, run=run, **settings)
    resumed = resume is not None
    with chosen, make_view(progress_console(), chosen.parts.config.profile.budgets) as view:
        chosen.carry_on(view.on_event)
    if chosen.torn is not None:
        progress_console().print(f"note: {chosen.torn}", soft_wrap=True)
    language_models = LmReport(chosen.language_models(), resumed)
    conclude(chosen.state, chosen.place, report, as_json, language_models, use_catalogue)


def _kind_of_run(run_dir: Path, language: str | None) -> str:
    from foretell.kernels.search import load_run
    from foretell.parts import kind_of

    return load_run(run_dir).device.kind if language is None else kind_of(language)


def conclude(
    state: RunState,
    run_dir: Path,
    report: bool,
    as_json: bool,
    language_models: LmReport | None = None,
    uses_catalogue: bool = True,
) -> None:
    """Write the winner and the report, say what came out, and end with the right exit code."""
    from foretell.cli.summary import best_path, print_summary, summary_document
    from foretell.kernels.search import StopReason
    from foretell.received import write_plain
    from foretell.report import write_report
    from foretell.report.clock import read_clock
    from foretell.runs import REPORT_NAME

    if state.best is not None:
        write_plain(best_path(state, run_dir), state.best.candidate.source.encode("utf-8", "replace"))
    written = write_report(state, run_dir / REPORT_NAME, run_dir) if report else None
    if as_json:
        document(summary_document(state, run_dir, written, language_models, uses_catalogue))
    else:
        wall_s = read_clock(run_dir, state.decide_s).active_s
        print_summary(people(), state, run_dir, written, language_models, uses_catalogue, wall_s)
    if state.finished is not None and state.finished.reason is StopReason.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if state.best is None:
        raise typer.Exit(FAILED)
