"""`foretell forecast`: how kernels of your own would do, told without running them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli import names
from foretell.cli.errors import FAILED, plainly
from foretell.cli.measure import Files
from foretell.cli.options import TaskName, forecaster_option
from foretell.cli.output import AsJson, command_line, document, people, progress_console

if TYPE_CHECKING:
    from foretell.belief import Forecast
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.protocols import Build, Forecaster, Subject
    from foretell.kernels.task import Task

INTERVAL = 0.8
BAR_WIDTH = 32
MESSAGE_LINES = 8

_KNOWN = {
    "operation seen": "the model was trained on other kernels of this operation",
    "operation new": "the operation is new to the model, others of its family are not",
    "family new": "the model has seen no operation of this family",
}

Found = list[tuple[Path, "Candidate", "Build | None", "Forecast"]]


@plainly
def forecast(
    task: TaskName,
    files: Files,
    forecaster: Annotated[str | None, forecaster_option(default="online; features with --device")] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="GPU",
            help="Forecast for this GPU, which need not be present: h200, h100, a100, rtx4090, ...",
            show_default="this machine's CPU",
            autocompletion=names.devices,
        ),
    ] = None,
    source_only: Annotated[bool, typer.Option(help="Do not build: forecast from the source alone.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forecast the speedup of your kernels without running them.

    `features` is a model trained on thousands of measured kernels; `online` corrects it by what was measured here.
    """
    if device is not None:
        _for_gpu(task, files, forecaster or "features", device, source_only, as_json)
        return
    from foretell.cli.inputs import load_task, read_candidates
    from foretell.cli.parts import catalogue, forecaster_named
    from foretell.kernels.bench.cpu import CpuBench
    from foretell.kernels.protocols import Subject

    wanted = load_task(task, "cpu")
    teller = forecaster_named(forecaster or "online")
    bench = CpuBench()
    builds: list[Build | None] = [None] * len(files)
    try:
        candidates = read_candidates(wanted, bench.device, files)
        if not source_only:
            with progress_console().status("building"):
                builds = list(bench.build(wanted, candidates))
    finally:
        bench.close()
    with progress_console().status("learning from what was measured here before"):
        known = catalogue().lessons(wanted, bench.device)
        teller.learn(wanted, bench.device, known)
        subjects = [Subject(c, b) for c, b in zip(candidates, builds, strict=True)]
        forecasts = teller.forecast(wanted, bench.device, subjects)
    found = list(zip(files, candidates, builds, forecasts, strict=True))
    if as_json:
        document(_document(wanted, bench.device, teller.name, len(known), found) | {"troubles": _troubles(teller)})
    else:
        _show(wanted, bench.device, teller.name, len(known), found)
    if _in_trouble(teller, files) or not all(build is None or build.ok for build in builds):
        raise typer.Exit(FAILED)


def _for_gpu(task: str, files: list[Path], teller: str, device: str, source_only: bool, as_json: bool) -> None:
    from foretell.cli.forecast_gpu import build_for, device_named, parsed, read_gpu_candidates, start_builders
    from foretell.cli.inputs import load_task
    from foretell.cli.parts import forecaster_named
    from foretell.kernels.protocols import Subject

    on, wanted = device_named(device), load_task(task, "gpu")
    candidates = read_gpu_candidates(wanted, files)
    if not source_only:
        start_builders()
    speaker = forecaster_named(teller)
    builds = [parsed(c) for c in candidates] if source_only else build_for(on, wanted, candidates)
    subjects = [Subject(c, b) for c, b in zip(candidates, builds, strict=True)]
    found = list(zip(files, candidates, builds, speaker.forecast(wanted, on, subjects), strict=True))
    if as_json:
        more = {"why": _reasons(speaker, wanted, on, subjects), "troubles": _troubles(speaker)}
        document(_document(wanted, on, speaker.name, 0, found) | more)
    else:
        _show(wanted, on, speaker.name, 0, found, _reasons(speaker, wanted, on, subjects), _basis(speaker))
    if _in_trouble(speaker, files) or not all(build is None or build.ok for build in builds):
        raise typer.Exit(FAILED)


def _troubles(speaker: Forecaster) -> list[str | None]:
    """For each forecast why it is not the forecaster's own, where it told so; a language model may have no answer."""
    return list(getattr(speaker, "last_troubles", ()))


def _in_trouble(speaker: Forecaster, files: list[Path]) -> bool:
    """Say which forecasts are not the forecaster's own."""
    reasons = list(getattr(speaker, "last_reasons", ())) or [None] * len(files)
    told = zip(files, _troubles(speaker), reasons, strict=False)
    found = [(path, why, words) for path, why, words in told if why is not None]
    for path, why, words in found:
        because = why if words is None else f"{why}, {words}"
        text = f"no answer about {path} ({because}): what is told of it is the forecast of physics alone"
        progress_console().print(f"warning: {text}", style="yellow", soft_wrap=True, markup=False)
    return bool(found)


def _basis(speaker: Forecaster) -> str:
    from foretell.kernels.forecast import TrainedForecaster

    if isinstance(speaker, TrainedForecaster):
        return f"learnt from {speaker.learnt_rows:,} kernels measured elsewhere"
    return "nothing was measured here yet"


def _reasons(speaker: Forecaster, task: Task, device: Device, subjects: list[Subject]) -> list[dict[str, Any] | None]:
    """Why each forecast is as it is, where the forecaster can tell."""
    from dataclasses import asdict

    from foretell.kernels.forecast import TrainedForecaster
    from foretell.kernels.forecast.explain import explain
    from foretell.kernels.forecast.roofline import build_failed

    if not isinstance(speaker, TrainedForecaster):
        return [None] * len(subjects)
    return [None if build_failed(s) else asdict(explain(speaker, task, device, s)) for s in subjects]


def _document(task: Task, device: Device, teller: str, learnt: int, found: Found) -> dict[str, Any]:
    from foretell.belief import N_BINS, label

    def one(path: Path, candidate: Candidate, build: Build | None, told: Forecast) -> dict[str, Any]:
        low, high = told.interval(INTERVAL)
        builds = None if build is None else build.ok
        head = {"file": str(path), "id": candidate.id, "builds": builds, "message": build.message if build else ""}
        if build is not None and not build.ok:
            return head | {"p_fail": 1.0, "speedup": None, "low": None, "high": None, "bins": None}
        bins = [{"speedup": label(i), "probability": p} for i, p in zip(range(N_BINS), told.bins(), strict=True)]
        middle = {"p_fail": told.p_fail, "speedup": 2.0**told.median, "low": 2.0**low, "high": 2.0**high}
        return head | middle | {"interval": INTERVAL, "bins": bins}

    return {
        "task": task.name,
        "device": device.to_dict(),
        "forecaster": teller,
        "learnt_from": learnt,
        "results": [one(*row) for row in found],
    }


def _show(
    task: Task,
    device: Device,
    teller: str,
    learnt: int,
    found: Found,
    reasons: list[dict[str, Any] | None] | None = None,
    basis: str = "nothing was measured here yet",
) -> None:
    from rich.markup import escape

    from foretell.report.numbers import count

    console = people()
    console.print(f"[bold]{task.name}[/] on {escape(device.name)}, not run")
    if learnt:
        basis = f"learnt from {count(learnt, 'measurement')} made here"
    if all(build is None for _, _, build, _ in found):
        basis += ", from the source alone"
    console.print(f"[dim]forecaster {escape(teller)}, {basis}[/]\n")
    for (path, _, build, told), why in zip(found, reasons or [None] * len(found), strict=True):
        if build is None or build.ok:
            _show_one(path, told)
            if why is not None:
                _show_why(why)
        else:
            _show_unbuilt(path, build)
    if device.kind == "gpu":
        return
    paths = [path for path, _, build, _ in found if build is None or build.ok]
    if paths:
        console.print("To find out:", f"[bold]{escape(command_line('measure', task.name, *paths))}[/]", soft_wrap=True)
        if not learnt:
            console.print(f"To teach the forecaster: [bold]foretell search {task.name} --profile quick[/]")


def _show_one(path: Path, told: Forecast) -> None:
    from rich.markup import escape

    from foretell.belief import label
    from foretell.report.numbers import percent, times

    console = people()
    low, high = told.interval(INTERVAL)
    interval = f"{percent(INTERVAL)} interval {times(2.0**low, sign='')} to {times(2.0**high, sign='')}"
    console.print(f"[bold green]{times(2.0**told.median, sign='x')}[/]  {escape(str(path))}  [dim]{interval}[/]")
    console.print(f"  [dim]{percent(told.p_fail)} chance that it fails; if it works:[/]")
    probabilities = told.bins()
    widest = max(probabilities)
    for i, probability in enumerate(probabilities):
        bar = "█" * round(BAR_WIDTH * probability / widest) if probability >= 0.005 else ""
        console.print(f"  {label(i):>16}  [green]{bar:<{BAR_WIDTH}}[/] [dim]{percent(probability):>5}[/]")
    console.print()


def _show_why(why: dict[str, Any]) -> None:
    from rich.markup import escape

    from foretell.report.numbers import percent, times

    console = people()
    console.print(f"  [dim]{_KNOWN[why['regime']]}[/]", soft_wrap=True)
    if why["outside"]:
        told = f"{percent(why['outside'])} of its numbers lie outside what the model has seen: the interval is wider"
        console.print(f"  [yellow]{told}[/]", soft_wrap=True, highlight=False)
    console.print("  [dim]moved most by[/]")
    for each in why["moved"]:
        told = f"{_in_words(each['name'])} {_plain(each['value'])} (typical {_plain(each['typical'])})"
        console.print(f"  [dim]x{each['factor']:.2f}  {told}[/]", highlight=False, soft_wrap=True)
    if why["neighbours"]:
        console.print("  [dim]nearest measured kernels[/]")
    for each in why["neighbours"]:
        named = f"{each['task']} in {each['language']}, {each['device']}; {each['likeness']}"
        told = f"{times(each['speedup'], sign='x'):>6}  {named}: {each['words']}".removesuffix(": ")
        console.print(f"  [dim]{escape(told)}[/]", highlight=False, soft_wrap=True)
    console.print()


def _show_unbuilt(path: Path, build: Build) -> None:
    from rich.markup import escape

    console = people()
    console.print(f"[red]does not build[/]  {escape(str(path))}")
    for line in build.message.strip().splitlines()[:MESSAGE_LINES]:
        console.print(f"  {line}", markup=False, soft_wrap=True)
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
