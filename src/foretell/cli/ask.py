"""`foretell ask`: what to write next, as a prompt for a person, a coding agent or any language model."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli import names
from foretell.cli.errors import BadInput, plainly
from foretell.cli.options import (
    RunName,
    budget_option,
    forecaster_option,
    language_option,
    policy_option,
    profile_option,
    run_settings,
    seed_option,
    strategy_option,
)
from foretell.cli.output import AsJson, command_line, document, progress_console, shown

if TYPE_CHECKING:
    from foretell.run import Run

_NEW = "For a new run (an existing run keeps its own settings; a larger budget continues it)"


@plainly
def ask(
    run: RunName,
    parent: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Start from this candidate (or `reference`), not from the strategy's choice."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task", metavar="TASK", help="The task; starts the run.", rich_help_panel=_NEW, autocompletion=names.tasks
        ),
    ] = None,
    language: Annotated[str | None, language_option(_NEW)] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="DEVICE",
            help="Fail unless this is the device that measures: cpu, gpu or its name.",
            rich_help_panel=_NEW,
            autocompletion=names.one_of(names.KINDS),
        ),
    ] = None,
    profile: Annotated[str | None, profile_option(_NEW)] = None,
    measurements: Annotated[
        int | None, budget_option("--measurements", _NEW, "Measure at most this many candidates.")
    ] = None,
    seconds: Annotated[float | None, budget_option("--seconds", _NEW, "Use at most this much device time.")] = None,
    candidates: Annotated[
        int | None, budget_option("--candidates", _NEW, "Consider at most this many candidates.")
    ] = None,
    policy: Annotated[str | None, policy_option(_NEW)] = None,
    forecaster: Annotated[str | None, forecaster_option(_NEW)] = None,
    strategy: Annotated[str | None, strategy_option(_NEW)] = None,
    seed: Annotated[int | None, seed_option(_NEW)] = None,
    as_json: AsJson = False,
) -> None:
    """Print a prompt for the next candidate: for you, a coding agent or any language model.

    Starts a new run if --task is given. Asking changes nothing. Submit what was written with `foretell tell`.
    """
    from foretell import api
    from foretell.cli.told import budget, check_device, named_task
    from foretell.kernels.search import UNPROPOSED
    from foretell.runs import existing_run

    settings = run_settings(locals())
    there = existing_run(run)
    if there is None:
        chosen = _new(run, task, language, settings)
    else:
        wanted = None if task is None else named_task(there, task)
        chosen = api.open_run(there, task=wanted, language=language, proposer=UNPROPOSED, **settings)
        check_device(device, chosen.state.device)
    with chosen, progress_console().status("starting the run") if there is None else nullcontext():
        if there is None:
            check_device(device, chosen.device)
        if there is None or _larger(chosen, settings):
            chosen.start()
    chosen.check_open()
    state = chosen.state
    closing = _closing(chosen, parent)
    question = chosen.ask(parent, closing)
    if not as_json:
        sys.stdout.write((shown(question.prompt) if sys.stdout.isatty() else question.prompt) + "\n")
        return
    document(
        {
            "run": str(chosen.place),
            "task": chosen.task.name,
            "language": question.language,
            "device": state.device.name,
            "parent": {"id": question.parent, "source": question.program.source},
            "best": state.incumbent,
            "prompt": [{"role": message.role, "content": message.content} for message in question.messages],
            "budget": budget(state),
            "tell": command_line("tell", chosen.place, "FILE", "--parent", question.parent),
        }
    )


def _new(run: str, task: str | None, language: str | None, settings: dict[str, Any]) -> Run:
    from foretell import api
    from foretell.kernels.search import UNPROPOSED

    if task is None:
        raise BadInput(
            f"there is no run {run}",
            "a run, or --task to start one there",
            command_line("ask", run, "--task", "softmax", *(("--language", language) if language else ())),
        )
    return api.new_run(task, language=language, proposer=UNPROPOSED, run=run, **settings)


def _larger(run: Run, settings: dict[str, Any]) -> bool:
    """Whether a budget was asked for that is larger than the run's own."""
    budgets = run.state.config["budgets"]
    return any((settings[name] or 0) > budgets[name] for name in budgets)


def _closing(run: Run, parent: str | None) -> str:
    """How to answer on the command line."""
    from foretell.kernels.search.asking import next_parent, parent_named
    from foretell.told import spent_words

    state = run.state
    chosen = next_parent(state) if parent is None else parent_named(state, parent)
    ending = ".cpp" if state.config["language"] == "cpp" else ".py"
    return (
        f"Write the whole program to a file ending in {ending}, or a unified diff against the program to start from to "
        f"one ending in .diff, and run\n\n    {command_line('tell', run.place, 'FILE', '--parent', chosen)}\n\n"
        "(with --author language-model if a language model wrote it). It answers with the forecast, the decision and, "
        "if it was measured, the result. Several files may be told at once. Then ask again:\n\n"
        f"    {command_line('ask', run.place)}\n\nSpent so far: {spent_words(state)}. At the end "
        f"`{command_line('tell', run.place, '--finish')}` "
        "measures the winners again."
    )
