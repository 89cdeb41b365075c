"""`foretell ask`: what to write next, as a prompt for a person, a coding agent or any language model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    seed_option,
    strategy_option,
)
from foretell.cli.output import AsJson, command_line, document, progress_console

if TYPE_CHECKING:
    from foretell.cli.parts import Wishes
    from foretell.kernels.search import RunState
    from foretell.lm import Message

_NEW = "For a new run (an existing run keeps its own settings)"


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
            metavar="TASK", help="The task; starts the run.", rich_help_panel=_NEW, autocompletion=names.tasks
        ),
    ] = None,
    language: Annotated[str | None, language_option(_NEW)] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="DEVICE",
            help="Fail unless this is the device that measures: cpu, gpu or its name.",
            rich_help_panel=_NEW,
            autocompletion=names.one_of(names.KINDS),
        ),
    ] = None,
    profile: Annotated[str | None, profile_option(_NEW)] = None,
    measurements: Annotated[int | None, budget_option(_NEW, "Measure at most this many candidates.")] = None,
    seconds: Annotated[float | None, budget_option(_NEW, "Use at most this much device time.", "SECONDS")] = None,
    candidates: Annotated[int | None, budget_option(_NEW, "Consider at most this many candidates.")] = None,
    policy: Annotated[str | None, policy_option(_NEW)] = None,
    forecaster: Annotated[str | None, forecaster_option(_NEW)] = None,
    strategy: Annotated[str | None, strategy_option(_NEW)] = None,
    seed: Annotated[int | None, seed_option(_NEW)] = None,
    as_json: AsJson = False,
) -> None:
    """Print a prompt for the next candidate: for you, a coding agent or any language model.

    Starts a new run if --task is given. Asking changes nothing. Submit what was written with `foretell tell`.
    """
    from foretell.cli.parts import Wishes
    from foretell.cli.told import budget, candidate_of, check_open, next_parent, parent_named, remember_asked, task_of
    from foretell.kernels.propose.prompt import messages, standing

    wishes = Wishes(policy, forecaster, profile, seed, measurements, seconds, candidates, strategy)
    found = _existing(run)
    if found is None:
        run_dir = Path(run)
        state = _start(run_dir, task, language or "cpp", device, wishes)
    else:
        run_dir, state = found
        _check_same(run_dir, state, task, language, device, wishes)
    check_open(state, run_dir)
    chosen = next_parent(state) if parent is None else parent_named(state, parent)
    remember_asked(run_dir, chosen)
    wanted, spoken = task_of(state), str(state.config["language"])
    program = candidate_of(state, chosen)
    told = messages(wanted, spoken, standing(state, program), _closing(state, run_dir, spoken))
    if not as_json:
        sys.stdout.write("\n\n".join(message.content for message in told) + "\n")
        return
    document(
        {
            "run": str(run_dir),
            "task": wanted.name,
            "language": spoken,
            "device": state.device.name,
            "parent": {"id": program.id, "source": program.source},
            "best": state.incumbent,
            "prompt": _plain(told),
            "budget": budget(state),
            "tell": command_line("tell", run_dir, "FILE"),
        }
    )


def _existing(given: str) -> tuple[Path, RunState] | None:
    """The run of that path or name, if there is one; a journal without a whole line is none."""
    from foretell.cli.runs import RUNS
    from foretell.kernels.search import load_run
    from foretell.kernels.store.errors import NoRun
    from foretell.kernels.store.journal import JOURNAL_NAME

    for path in (Path(given), RUNS / given):
        if path.is_file():
            raise BadInput(f"{path} is a file", "the directory of a run, there or not yet", "choose another path")
        if (path / JOURNAL_NAME).exists():
            try:
                return path, load_run(path)
            except NoRun:
                continue
    return None


def _start(run_dir: Path, task: str | None, language: str, device: str | None, wishes: Wishes) -> RunState:
    from dataclasses import replace

    from foretell.cli.inputs import load_task
    from foretell.cli.parts import bench_of, kind_of, new_parts
    from foretell.cli.told import check_device
    from foretell.kernels.search import Search

    if task is None:
        raise BadInput(
            f"there is no run {run_dir}",
            "a run, or --task to start one there",
            command_line("ask", run_dir, "--task", "softmax", "--language", language),
        )
    kind = kind_of(language)
    wanted = load_task(task, kind)
    parts = new_parts(wanted, replace(wishes, proposer="told"), language)
    with bench_of(kind) as bench, progress_console().status("starting the run"):
        check_device(device, bench.device)
        work = Search(
            wanted, bench, parts.proposer, parts.forecaster, parts.strategy, parts.policy, parts.config, run_dir
        )
        return work.step()


def _check_same(
    run_dir: Path, state: RunState, task: str | None, language: str | None, device: str | None, wishes: Wishes
) -> None:
    """BadInput where a run that is there is asked for as another one."""
    from foretell.cli.inputs import load_task
    from foretell.cli.parts import check_wishes
    from foretell.cli.told import check_device, task_of
    from foretell.kernels.tasks import is_path

    if task and is_path(task) and load_task(task, state.device.kind).identity == task_of(state).identity:
        task = None  # the same, by whatever path it was named
    for name, value in (("task", task), ("language", language)):
        if value is not None and value != state.config[name]:
            raise BadInput(
                f"the run in {run_dir} is of the {name} {state.config[name]}, not {value}",
                f"a run of {value}",
                f"{command_line('ask', run_dir)}, or start another run",
            )
    check_wishes(run_dir, state.config, wishes, command_line("ask", run_dir))
    check_device(device, state.device)


def _closing(state: RunState, run_dir: Path, language: str) -> str:
    """How to answer on the command line."""
    from foretell.cli.told import left

    ending = ".cpp" if language == "cpp" else ".py"
    return (
        f"Write the whole program to a file ending in {ending}, or a unified diff against the program to start from to "
        f"one ending in .diff, and run\n\n    {command_line('tell', run_dir, 'FILE')}\n\n"
        "(with --author language-model if a language model wrote it). It answers with the forecast, the decision and, "
        "if it was measured, the result. Several files may be told at once. Then ask again:\n\n"
        f"    {command_line('ask', run_dir)}\n\nSpent so far: {left(state)}. At the end "
        f"`{command_line('tell', run_dir, '--finish')}` "
        "measures the winners again."
    )


def _plain(told: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in told]
