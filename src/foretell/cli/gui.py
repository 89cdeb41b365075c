"""`foretell gui`: a guarded episode to look at, the page of a trace, and a trace judged by another critic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretell import extras
from foretell.cli import names
from foretell.cli.errors import FAILED, BadInput, plainly
from foretell.cli.group import help_alone
from foretell.cli.options import Seed, finite
from foretell.cli.output import AsJson, command_line, document, line, people, progress_console

if TYPE_CHECKING:
    from foretell.gui.judgement import Critic
    from foretell.gui.ocr import Ocr
    from foretell.gui.threshold import Threshold

gui = typer.Typer(help="Guard computer-use agents: a demonstration, replays of traces, and judging them again.")
gui.callback(invoke_without_command=True)(help_alone)
PAGE = "replay.html"
CRITICS = "embedded, rules, or a model that sees, such as openai:MODEL@http://localhost:8000/v1"
HELP = "foretell gui --help"
_PICTURES = ("PIL", "cv2")
_SIGHT = (*_PICTURES, "rapidocr", "onnxruntime")
CriticName = Annotated[
    str,
    typer.Option("--critic", metavar="CRITIC", help=f"{CRITICS}.", autocompletion=names.one_of(names.CRITICS)),
]
TraceFolder = Annotated[
    Path, typer.Argument(metavar="TRACE", help="The folder of a trace, such as `foretell gui demo` writes.")
]
DEMO = Path("gui-demo")


@gui.command()
@plainly
def demo(
    task: Annotated[
        str | None,
        typer.Option(
            "--task", metavar="TASK", help="A MiniWoB++ task that the agent can solve.", show_default="login-user"
        ),
    ] = None,
    seed: Seed = 4,
    mistakes: Annotated[
        float,
        typer.Option(
            metavar="P", min=0.0, max=1.0, callback=finite, help="Probability of a mistake in each step, 0 to 1."
        ),
    ] = 0.6,
    critic: CriticName = "embedded",
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="enforce (send wrong proposals back), advise (comment) or shadow (only record).",
            autocompletion=names.one_of(names.MODES),
        ),
    ] = "enforce",
    bound: Annotated[
        float,
        typer.Option(
            metavar="RATE",
            min=0.0,
            max=1.0,
            callback=finite,
            help="Largest accepted rate of false interruptions (embedded critic).",
        ),
    ] = 0.02,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="P", min=0.0, max=1.0, callback=finite, help="Object if P(bad) is above this, whatever the bound."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="New folder for the trace and its page.", show_default="gui-demo, gui-demo-2, ..."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play a guarded episode in headless Chromium: a scripted agent makes mistakes, the guard watches the pixels."""
    if out is not None and not _is_free(out):
        raise BadInput(f"{out} exists already", "a new or empty folder for the trace", "--out FOLDER")
    extras.check("gui", "playwright", "miniwob", *_SIGHT)
    folder = out or _next_free(DEMO)
    with _gui_errors():
        from foretell.gui import demo as show
        from foretell.gui.bench.oracles import TASKS
        from foretell.gui.bench.pages import Page
        from foretell.gui.guard import Guard
        from foretell.gui.history import Historian
        from foretell.gui.ocr import Ocr
        from foretell.gui.trace import TraceWriter
        from foretell.gui.verdict import Mode

        task = task or show.TASK
        if task not in TASKS:
            raise BadInput(f"the bench cannot solve a task {task!r}", ", ".join(TASKS), HELP)
        if mode not in set(Mode):
            raise BadInput(f"there is no mode {mode!r}", ", ".join(Mode), HELP)
        reader = Ocr()
        judge = make_critic(critic, reader)
        limit = _threshold(judge, bound) if threshold is None else threshold
        with progress_console().status(f"playing {task}"), Page() as page, TraceWriter(folder) as writer:
            guard = Guard(judge, Historian(reader), limit, Mode(mode), limits=show.LIMITS, trace=writer)
            told = show.play(page, guard, task, seed, mistakes)
        path = _write_page(folder, folder / PAGE)
    if as_json:
        faults = [asdict(fault) for fault in guard.faults]
        where = {"trace": str(folder), "page": str(path)}
        document({**asdict(told), "task": task, "seed": seed, "faults": faults, **where})
        return
    console = people()
    console.print(told.goal, soft_wrap=True)
    console.print(told.words, soft_wrap=True)
    for fault in guard.faults:
        console.print(line(f"{fault.where}: {fault.message}"), style="dim", soft_wrap=True)
    console.print(str(path), soft_wrap=True)
    console.print(f"next  {command_line('gui', 'rescore', folder, '--critic', 'rules')}", style="dim", soft_wrap=True)


def _is_free(folder: Path) -> bool:
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def _next_free(folder: Path) -> Path:
    """The folder, or the first of `folder-2`, `folder-3`, ... that holds nothing yet."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain((folder,), numbered) if _is_free(path))


@gui.command()
@plainly
def replay(
    trace: TraceFolder,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The page to write.", show_default=f"TRACE/{PAGE}"),
    ] = None,
) -> None:
    """Write the page of a trace: one self-contained HTML file."""
    path = out or trace / PAGE
    if path.is_dir():
        raise BadInput(f"{path} is a directory", "the name of a file to write", f"-o {path / PAGE}")
    from foretell.received_limits import size_of, within_limits

    with _gui_errors(), within_limits(trace, size_of(trace)):
        people().print(str(_write_page(trace, path)), soft_wrap=True)


@gui.command()
@plainly
def rescore(
    trace: TraceFolder,
    critic: CriticName = "embedded",
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            callback=finite,
            help="The new critic objects if P(bad) is above this.",
            show_default="as in the trace if it is the same critic, else the critic's own",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Judge the proposals of a trace again, with the same or another critic, and compare the objections."""
    extras.check("gui", *(_SIGHT if critic == "embedded" else _PICTURES))
    with _gui_errors():
        from foretell.gui.rescore import critics_of
        from foretell.gui.rescore import rescore as again
        from foretell.gui.threshold import DEFAULT_BOUND
        from foretell.gui.trace import read
        from foretell.received_limits import size_of, within_limits

        with within_limits(trace, size_of(trace)):
            recorded = read(trace)
        judge = make_critic(critic)
        limit: Threshold | float | None = threshold
        if threshold is None and critics_of(recorded) != (judge.name,):
            limit = _threshold(judge, DEFAULT_BOUND)
        with progress_console().status("judging"):
            rescored = again(recorded, judge, limit)
    from foretell.cli.gui_rescored import rows, show_rescored

    if as_json:
        document({**rescored.summary(), "rounds": rows(rescored)})
    else:
        show_rescored(people(), rescored)
    if rescored.rounds and all(one.now is None for one in rescored.rounds):
        raise typer.Exit(FAILED)


def make_critic(name: str, reader: Ocr | None = None) -> Critic:
    """The critic of that name; BadInput where there is none, or it lacks what it needs."""
    from foretell.lm import BadModelName, is_model_name, make_model

    if name == "rules":
        from foretell.gui.critic import RulesCritic

        return RulesCritic()
    if name == "embedded":
        from foretell.gui.critic import EmbeddedCritic
        from foretell.gui.critic_model import BadCriticModel
        from foretell.gui.sight import Eyes

        try:
            return EmbeddedCritic(eyes=Eyes(reader))
        except BadCriticModel as error:
            raise BadInput(str(error), "a trained critic", "--critic rules") from error
    if not is_model_name(name):
        raise BadInput(f"there is no critic {name!r}", CRITICS, HELP)
    from foretell.gui.vision import VisionCritic

    try:
        return VisionCritic(make_model(name))
    except BadModelName as error:
        raise BadInput(str(error), "the name of a language model as docs/lm.md has it", HELP) from error


def _threshold(critic: Critic, bound: float) -> Threshold | float:
    """The embedded critic's threshold for the bound; other critics object where wrong is likelier than right."""
    from foretell.gui.critic import EmbeddedCritic
    from foretell.gui.critic_model import BadCriticModel

    if not isinstance(critic, EmbeddedCritic):
        return 0.5
    try:
        return critic.threshold(bound)
    except BadCriticModel as error:
        raise BadInput(str(error), "a bound that a threshold was learnt for", "--threshold 0.9") from error


def _write_page(trace: Path, path: Path) -> Path:
    from foretell.report.gui import write_gui_replay

    try:
        return write_gui_replay(trace, path)
    except ValueError as error:
        raise BadInput(str(error), "the folder of a trace with at least one step", HELP) from error


@contextmanager
def _gui_errors() -> Iterator[None]:
    """What this room may lack or refuse, as problems that a person can act on."""
    try:
        yield
    except RuntimeError as error:
        from foretell.gui.bench.chromium import NoChromium
        from foretell.gui.ocr import OcrError

        if isinstance(error, NoChromium):
            raise BadInput(str(error), "a Chromium or Chrome", "apt install chromium") from error
        if isinstance(error, OcrError):
            raise BadInput(str(error), "the extra [gui]", extras.install_command("gui")) from error
        raise
    except ValueError as error:
        from foretell.gui.trace import TraceError

        if isinstance(error, TraceError):
            raise BadInput(str(error), "the folder of a trace", "foretell gui demo writes one") from error
        raise
