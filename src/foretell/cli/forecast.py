"""`foretell forecast`: how kernels of your own would do, told without running them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli.errors import FAILED, plainly
from foretell.cli.measure import Files, TaskName
from foretell.cli.output import AsJson, document, people, progress_console

if TYPE_CHECKING:
    from foretell.belief import Forecast
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.protocols import Build
    from foretell.kernels.task import Task

INTERVAL = 0.8
BAR_WIDTH = 32
MESSAGE_LINES = 8

Found = list[tuple[Path, "Candidate", "Build", "Forecast"]]


@plainly
def forecast(
    task: TaskName,
    files: Files,
    forecaster: Annotated[str, typer.Option(help="Who forecasts: features or roofline.")] = "features",
    as_json: AsJson = False,
) -> None:
    """Say how your kernels would do, without running them."""
    from foretell.cli.inputs import read_candidates
    from foretell.cli.parts import catalogue, forecaster_named
    from foretell.kernels import library
    from foretell.kernels.bench.cpu import CpuBench
    from foretell.kernels.protocols import Subject

    wanted = library.get(task)
    teller = forecaster_named(forecaster)
    bench = CpuBench()
    try:
        candidates = read_candidates(wanted, bench.device, files)
        with progress_console().status("building"):
            builds = bench.build(wanted, candidates)
    finally:
        bench.close()
    with progress_console().status("learning from what was measured here before"):
        known = catalogue().lessons(wanted, bench.device)
        teller.learn(wanted, bench.device, known)
        subjects = [Subject(c, b) for c, b in zip(candidates, builds, strict=True)]
        forecasts = teller.forecast(wanted, bench.device, subjects)
    found = list(zip(files, candidates, builds, forecasts, strict=True))
    if as_json:
        document(_document(wanted, bench.device, teller.name, len(known), found))
    else:
        _show(wanted, bench.device, teller.name, len(known), found)
    if not all(build.ok for build in builds):
        raise typer.Exit(FAILED)


def _document(task: Task, device: Device, teller: str, learnt: int, found: Found) -> dict[str, Any]:
    from foretell.belief import N_BINS, label

    def one(path: Path, candidate: Candidate, build: Build, told: Forecast) -> dict[str, Any]:
        low, high = told.interval(INTERVAL)
        head = {"file": str(path), "id": candidate.id, "builds": build.ok, "message": build.message}
        if not build.ok:
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


def _show(task: Task, device: Device, teller: str, learnt: int, found: Found) -> None:
    from foretell.report.numbers import count

    console = people()
    console.print(f"[bold]{task.name}[/] on {device.name}, not run")
    basis = f"learnt from {count(learnt, 'measurement')} made here" if learnt else "nothing was measured here yet"
    console.print(f"[dim]forecaster {teller}, {basis}[/]\n")
    for path, _, build, told in found:
        if build.ok:
            _show_one(path, told)
        else:
            _show_unbuilt(path, build)
    names = " ".join(str(path) for path, _, build, _ in found if build.ok)
    if names:
        console.print("To find out:", f"[bold]foretell measure {task.name} {names}[/]", soft_wrap=True)
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


def _show_unbuilt(path: Path, build: Build) -> None:
    console = people()
    console.print("[red]does not build[/] ", str(path))
    for line in build.message.strip().splitlines()[:MESSAGE_LINES]:
        console.print(f"  {line}", markup=False, soft_wrap=True)
    console.print()
