"""`foretell gui`: a guarded episode to look at, the page of a trace, and a trace judged by another critic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from foretell import extras
from foretell.cli.errors import FAILED, BadInput, plainly
from foretell.cli.output import AsJson, document, people, progress_console

if TYPE_CHECKING:
    from foretell.gui.judgement import Critic
    from foretell.gui.ocr import Ocr
    from foretell.gui.rescore import Again
    from foretell.gui.threshold import Threshold

gui = typer.Typer(help="Guard computer-use agents: a demonstration, replays of traces, and judging them again.")
PAGE = "replay.html"
CRITICS = "embedded, rules, or a model that sees, such as openai:MODEL@http://localhost:8000/v1"
HELP = "foretell gui --help"
_PICTURES = ("PIL", "cv2")
_SIGHT = (*_PICTURES, "rapidocr", "onnxruntime")
CriticName = Annotated[str, typer.Option("--critic", help=f"{CRITICS}.")]
TraceFolder = Annotated[Path, typer.Argument(metavar="TRACE", help="The folder that a guard traced into.")]


@gui.command()
@plainly
def demo(
    task: Annotated[str | None, typer.Option(help="A MiniWoB++ task that the bench can solve.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which episode of the task, and which mistakes.")] = 4,
    mistakes: Annotated[float, typer.Option(min=0.0, max=1.0, help="Chance of a mistake in each step.")] = 0.6,
    critic: CriticName = "embedded",
    mode: Annotated[str, typer.Option(help="enforce, advise or shadow.")] = "enforce",
    bound: Annotated[float, typer.Option(help="False interruptions at most; of the embedded critic.")] = 0.02,
    threshold: Annotated[float | None, typer.Option(help="P(bad) above which to object, instead of a bound.")] = None,
    out: Annotated[Path, typer.Option(help="A new folder for the trace and its page.")] = Path("gui-demo"),
    as_json: AsJson = False,
) -> None:
    """Play a guarded episode in headless Chromium: a scripted agent makes mistakes, the guard watches the pixels."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"{out} is there already", "a new or empty folder for the trace", "--out FOLDER")
    extras.check("gui", "playwright", "miniwob", *_SIGHT)
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
        with progress_console().status(f"playing {task}"), Page() as page, TraceWriter(out) as writer:
            guard = Guard(judge, Historian(reader), limit, Mode(mode), trace=writer)
            told = show.play(page, guard, task, seed, mistakes)
        path = _write_page(out, out / PAGE)
    if as_json:
        faults = [asdict(fault) for fault in guard.faults]
        document({**asdict(told), "task": task, "seed": seed, "faults": faults, "trace": str(out), "page": str(path)})
        return
    console = people()
    console.print(told.goal, markup=False, soft_wrap=True)
    console.print(told.words, markup=False, soft_wrap=True)
    for fault in guard.faults:
        console.print(f"{fault.where}: {fault.message}", style="dim", markup=False, soft_wrap=True)
    console.print(str(path), markup=False, soft_wrap=True)


@gui.command()
@plainly
def replay(
    trace: TraceFolder,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The page to write.", show_default=PAGE)] = None,
) -> None:
    """Write the page of a trace: one self-contained HTML file."""
    path = out or trace / PAGE
    if path.is_dir():
        raise BadInput(f"{path} is a directory", "the name of a file to write", f"-o {path / PAGE}")
    with _gui_errors():
        people().print(str(_write_page(trace, path)), markup=False, soft_wrap=True)


@gui.command()
@plainly
def rescore(
    trace: TraceFolder,
    critic: CriticName = "embedded",
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="P(bad) above which the new critic objects.")
    ] = 0.5,
    as_json: AsJson = False,
) -> None:
    """Judge the proposals of a trace with another critic, and say how far it agrees with the one that was there."""
    extras.check("gui", *(_SIGHT if critic == "embedded" else _PICTURES))
    with _gui_errors():
        from foretell.gui.rescore import rescore as again
        from foretell.gui.trace import read

        told = read(trace)
        judge = make_critic(critic)
        with progress_console().status("judging"):
            found = again(told, judge, threshold)
    summary = found.summary()
    if as_json:
        rows = [
            {
                "episode": one.episode,
                "step": one.step,
                "revision": one.revision,
                "objected_before": one.objected,
                "p_bad_before": None if one.before is None else one.before.p_bad,
                "p_bad_now": None if one.now is None else one.now.p_bad,
                "error_now": None if one.now is None or one.now.error is None else one.now.error.value,
                "fault": one.fault,
            }
            for one in found.rounds
        ]
        document({**summary, "rounds": rows})
    else:
        _show(found.rounds, summary)
    if found.rounds and all(one.now is None for one in found.rounds):
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
        return critic.model.threshold(bound)
    except BadCriticModel as error:
        raise BadInput(str(error), "a bound that a threshold was learnt for", "--threshold 0.9") from error


def _write_page(trace: Path, path: Path) -> Path:
    from foretell.report.gui import write_gui_replay

    try:
        return write_gui_replay(trace, path)
    except ValueError as error:
        raise BadInput(str(error), "the folder of a trace with at least one step", HELP) from error


def _show(rounds: Sequence[Again], summary: Mapping[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    from foretell.report.numbers import percent

    console = people()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("step", "proposal", "P(bad)\nbefore", "P(bad)\nnow"):
        table.add_column(name, justify="right")
    table.add_column("it may be")
    for one in rounds:
        chances = ["–" if said is None else percent(said.p_bad) for said in (one.before, one.now)]
        error = one.now.error.value if one.now is not None and one.now.error is not None else one.fault
        table.add_row(str(one.step + 1), str(one.revision + 1), *chances, escape(error))
    console.print(table)
    agreed = "–" if summary["agreement"] is None else percent(summary["agreement"])
    console.print(
        f"{summary['critic']}: agrees on {agreed} of {summary['judged_by_both']} proposals that both judged; "
        f"objects to {summary['objections_now']} where {summary['objections_before']} were objected to "
        f"and {summary['sent_back_before']} sent back",
        markup=False,
        soft_wrap=True,
    )
    console.print(
        f"{summary['critic']} objects where P(bad) is above {summary['threshold']:.2f}; what was objected to before is "
        "as the trace has it",
        style="dim",
        markup=False,
        soft_wrap=True,
    )


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
