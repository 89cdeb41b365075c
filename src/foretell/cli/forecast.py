"""`foretell forecast`: how kernels of your own would do, told without running them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli import names
from foretell.cli.errors import FAILED, plainly
from foretell.cli.measure import Files
from foretell.cli.messages import shown_lines
from foretell.cli.options import ReferenceMs, Sizes, TaskOrProblem, forecaster_option
from foretell.cli.output import AsJson, command_line, document, line, marked, of_file, people, progress_console
from foretell.forecasting import INTERVAL

if TYPE_CHECKING:
    from foretell.belief import Forecast
    from foretell.forecasting import Prediction
    from foretell.kernels.measurement import Measurement

    Told = list[tuple[Path, Prediction]]

_USUAL = "online; for a GPU features, or program for a task of your own"
BAR_WIDTH = 32

_KNOWN = {
    "operation seen": "the model was trained on other kernels of this operation",
    "operation new": "the operation is new to the model, others of its family are not",
    "family new": "the model has seen no operation of this family",
}


@plainly
def forecast(
    task: TaskOrProblem,
    files: Files,
    forecaster: Annotated[str | None, forecaster_option(default=_USUAL)] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="GPU",
            help="Forecast for this GPU, which need not be present: h200, h100, a100, rtx4090, ...",
            show_default="this machine's CPU",
            autocompletion=names.devices,
        ),
    ] = None,
    source_only: Annotated[
        bool, typer.Option(help="Neither build nor record: forecast from the source alone.")
    ] = False,
    size: Sizes = None,
    reference_ms: ReferenceMs = None,
    as_json: AsJson = False,
) -> None:
    """Forecast the speedup of your kernels without running them.

    `features` is a model trained on thousands of measured kernels; `online` corrects it by what was measured here.
    For a GPU the host code runs once on tensors without memory; what fails there cannot run.
    """
    import foretell as ft
    from foretell.forecasting import device_named
    from foretell.inputs import load_task

    target = None if device in (None, "cpu") else device_named(str(device))
    if target is None:
        wanted = load_task(task, "cpu", size or (), do="name a GPU, which need not be present: --device h200")
    else:
        wanted = load_task(task, "gpu", size or (), do="leave --device out")
    busy = "building" if target is None else f"recording for {target.name}"
    with progress_console().status("reading" if source_only else busy):
        predictions = ft.forecast(
            wanted,
            files,
            device=target,
            forecaster=forecaster,
            source_only=source_only,
            reference_ms=reference_ms,
        )
    told = list(zip(files, predictions, strict=True))
    if as_json:
        document(_document(told))
    else:
        _show(task, told, source_only)
    _warn(told)
    if any(each.trouble is not None or not each.runs for each in predictions):
        raise typer.Exit(FAILED)


def _warn(told: Told) -> None:
    """Say which forecasts are not the forecaster's own; of what does not build or run none is shown."""
    for path, each in told:
        if each.trouble is None or not each.runs:
            continue
        because = f"{each.trouble}, {each.trouble_words}" if each.trouble_words else each.trouble
        text = f"no answer about {path} ({because}): what is told of it is the forecast of physics alone"
        progress_console().print(f"warning: {line(text)}", style="yellow", soft_wrap=True)


def _document(told: Told) -> dict[str, Any]:
    _, first = told[0]
    return {
        "task": first.task.name,
        "device": first.device.to_dict(),
        "forecaster": first.forecaster,
        "learnt_from": first.learnt_from,
        "caution": first.caution,
        "results": [_row(path, each) for path, each in told],
        "troubles": [each.trouble for _, each in told],
    } | ({"why": [each.why for _, each in told]} if first.device.kind == "gpu" else {})


def _row(path: Path, told: Prediction) -> dict[str, Any]:
    from foretell.belief import N_BINS, label

    build, found = told.build, told.verdict
    head = {
        "file": str(path),
        "id": told.candidate.id,
        "forecaster": told.forecaster,
        "builds": None if build is None else build.ok,
        "message": build.message if build else "",
        "recorded": None if found is None else {"finding": found.finding.value, "sentence": found.sentence},
        "measured": None if told.measured is None else _measured(told.measured),
    }
    if not told.runs:
        return head | {
            "p_fail": told.p_fail, "p_fail_basis": "", "speedup": None, "low": None, "high": None, "bins": None,
        }  # fmt: skip
    low, high = told.interval()
    bins = [{"speedup": label(i), "probability": p} for i, p in zip(range(N_BINS), told.forecast.bins(), strict=True)]
    middle = {
        "p_fail": told.p_fail, "p_fail_basis": told.p_fail_basis, "speedup": told.speedup, "low": low, "high": high,
    }  # fmt: skip
    return head | middle | {"interval": INTERVAL, "bins": bins}


def _measured(found: Measurement) -> dict[str, Any]:
    return {"status": found.status.value, "speedup": found.speedup, "low": found.low, "high": found.high}


def _basis(told: Sequence[Prediction]) -> str:
    from foretell.report.numbers import count

    first = told[0]
    if first.learnt_from:
        basis = f"learnt from {count(first.learnt_from, 'measurement')} made here"
    elif first.forecaster == "features" and first.device.kind == "gpu":
        from foretell.kernels.forecast import TrainedForecaster

        basis = f"learnt from {TrainedForecaster().learnt_rows:,} kernels measured elsewhere"
    else:
        basis = "nothing was measured here yet"
    return f"{basis}, from the source alone" if all(each.build is None for each in told) else basis


def _show(reference: str, told: Told, source_only: bool) -> None:

    console = people()
    task, device = told[0][1].task, told[0][1].device
    console.print(marked("[bold]{}[/] on {}, not run", task.name, device.name))
    basis = _basis([each for _, each in told])
    names = ", ".join(dict.fromkeys(each.forecaster for _, each in told))
    console.print(marked("[dim]forecaster {}, {}[/]", names, basis))
    if caution := told[0][1].caution:
        console.print(marked("[yellow]caution: {}[/]", caution), soft_wrap=True, highlight=False)
    console.print()
    for path, each in told:
        if each.runs:
            _show_measured(path, each)
            _show_one(path, each.forecast, each.p_fail_basis)
            _show_recorded(each)
            if each.why is not None:
                _show_why(each.why)
        else:
            _show_failed(path, each)
    if device.kind == "gpu":
        _show_unrecorded([each for _, each in told], source_only)
        return
    paths = [path for path, each in told if each.runs and each.measured is None]
    if paths:
        console.print("To find out:", marked("[bold]{}[/]", command_line("measure", reference, *paths)), soft_wrap=True)
        if not told[0][1].learnt_from and task.kind == "library":
            console.print(marked("To teach the forecaster: [bold]foretell search {} --profile quick[/]", task.name))


def _show_unrecorded(told: Sequence[Prediction], source_only: bool) -> None:
    """How to get a forecast that rests on more than the source, if a package is all that it takes."""

    from foretell.extras import EXTRAS, MissingPackage, is_installed

    if source_only or is_installed("torch") or not any(each.runs for each in told):
        return
    absent = MissingPackage("torch", EXTRAS["gpu"])
    words = f"{absent.what}, so that nothing was built or recorded: kernels are hardly told apart. {absent.do}"
    people().print(marked("[yellow]{}[/]", words), soft_wrap=True, highlight=False)


def _show_measured(path: Path, told: Prediction) -> None:
    """What the catalogue has of this very candidate."""
    from foretell.report.candidates import KINDS
    from foretell.report.numbers import times

    found = told.measured
    if found is None:
        return
    interval = f"95 % interval {times(found.low, sign='')} to {times(found.high, sign='')}"
    words = f"{times(found.speedup, sign='x')} ({interval})" if found.ok else KINDS[found.status]
    people().print(marked("[bold]{}: this very source was measured before: {}[/]", path, words), soft_wrap=True)
    people().print(marked("[dim]its forecast:[/]"))


def _show_recorded(told: Prediction) -> None:
    """What the recording showed, if it is worth a line."""

    if told.verdict is not None and told.verdict.sentence:
        words = f"{told.verdict.finding}: {told.verdict.sentence}"
        people().print(marked("  [yellow]{}[/]", words), soft_wrap=True, highlight=False)


def _show_one(path: Path, told: Forecast, basis: str) -> None:

    from foretell.belief import label
    from foretell.report.numbers import percent, times

    console = people()
    low, high = told.interval(INTERVAL)
    interval = f"{percent(INTERVAL)} interval {times(2.0**low, sign='')} to {times(2.0**high, sign='')}"
    console.print(marked("[bold green]{}[/]  {}  [dim]{}[/]", times(2.0**told.median, sign="x"), path, interval))
    aside = f" ({basis})" if basis else ""
    console.print(
        marked("  [dim]{} chance that it fails{}; if it works:[/]", percent(told.p_fail), aside), soft_wrap=True
    )
    probabilities = told.bins()
    widest = max(probabilities)
    for i, probability in enumerate(probabilities):
        bar = "█" * round(BAR_WIDTH * probability / widest) if probability >= 0.005 else ""
        console.print(
            marked(
                "  {}  [green]{}[/] [dim]{}[/]", f"{label(i):>16}", f"{bar:<{BAR_WIDTH}}", f"{percent(probability):>5}"
            )
        )
    console.print()


def _show_why(why: dict[str, Any]) -> None:

    from foretell.report.numbers import percent, times

    console = people()
    console.print(marked("  [dim]{}[/]", _KNOWN[why["regime"]]), soft_wrap=True)
    if why["outside"]:
        told = f"{percent(why['outside'])} of its numbers lie outside what the model has seen: the interval is wider"
        console.print(marked("  [yellow]{}[/]", told), soft_wrap=True, highlight=False)
    console.print(marked("  [dim]moved most by[/]"))
    for each in why["moved"]:
        told = f"{_in_words(each['name'])} {_plain(each['value'])} (typical {_plain(each['typical'])})"
        console.print(marked("  [dim]x{}  {}[/]", f"{each['factor']:.2f}", told), highlight=False, soft_wrap=True)
    if why["neighbours"]:
        console.print(marked("  [dim]nearest measured kernels[/]"))
    for each in why["neighbours"]:
        named = f"{each['task']} in {each['language']}, {each['device']}; {each['likeness']}"
        told = f"{times(each['speedup'], sign='x'):>6}  {named}: {each['words']}".removesuffix(": ")
        console.print(marked("  [dim]{}[/]", told), highlight=False, soft_wrap=True)
    console.print()


def _show_failed(path: Path, told: Prediction) -> None:

    from foretell.report.numbers import percent

    console, message = people(), told.build.message.strip() if told.build else ""
    said = message.startswith("cannot run: ")
    head = "cannot run" if said else "does not build"
    console.print(marked("[red]{}[/]  {}  [dim]{} chance that it fails[/]", head, path, percent(told.p_fail)))
    first, *rest = shown_lines(of_file(message.removeprefix("cannot run: "), path)) or [""]
    for text in (f"  {line(first)}", *(f"  | {line(each)}" for each in rest)):  # a log's lines pass for none of ours
        console.print(text, soft_wrap=True)
    console.print()


_GROUPS = {
    "relative.time_": "time by the dry run, log2 over the floor: ",
    "build.dry_": "dry run: ",
    "build.": "build: ",
    "source.": "source: ",
    "relative.": "against device and task: ",
}


def _in_words(column: str) -> str:
    """A column of the model's table, with what it is a number of."""
    for prefix, words in _GROUPS.items():
        if column.startswith(prefix):
            return words + column.removeprefix(prefix).replace("_", " ")
    return column


def _plain(value: float) -> str:
    return f"{0.0 if abs(value) < 1e-6 else value:.3g}"
