"""Options that several verbs share, and the checks that numbers pass before a verb begins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from foretell.cli import names
from foretell.kernels import profiles

MAX_COUNT = 10**9
MAX_SEED = 2**32 - 1  # what every generator in use accepts
MAX_JOBS = 1024
MAX_RESAMPLES = 10**6
_FORECASTERS = f"{profiles.FORECASTER}; for a problem on a GPU {profiles.FORECASTER_OF_PROBLEMS}"


def finite(value: float | None) -> float | None:
    """Reject nan and infinities, which range checks let through."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


def positive(value: float | None) -> float | None:
    """Reject everything but finite numbers above zero."""
    if finite(value) is not None and value is not None and value <= 0:
        raise typer.BadParameter(f"{value:g} is not above zero")
    return value


def count(value: int | None) -> int | None:
    """Reject counts that are not above zero, or absurdly large."""
    if value is not None and value <= 0:
        raise typer.BadParameter(f"{value} is not above zero")
    if value is not None and value > MAX_COUNT:
        raise typer.BadParameter(f"{value} is above {MAX_COUNT}")
    return value


def natural(value: int | None) -> int | None:
    """Reject negative counts, and absurdly large ones."""
    if value is not None and not 0 <= value <= MAX_COUNT:
        raise typer.BadParameter(f"{value} is not a number from 0 to {MAX_COUNT}")
    return value


def seed(value: int | None) -> int | None:
    """Reject seeds that a generator would refuse."""
    if value is not None and value < 0:
        raise typer.BadParameter(f"a seed must not be negative, got {value}")
    if value is not None and value > MAX_SEED:
        raise typer.BadParameter(f"a seed is at most {MAX_SEED}, got {value}")
    return value


Seed = Annotated[int, typer.Option(metavar="N", callback=seed, help="Seed of all randomness.")]
CorpusFolder = Annotated[Path, typer.Option("--data", metavar="FOLDER", help="The folder of the corpus.")]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=MAX_JOBS, help="Parallel processes.", show_default="one per core"),
]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The directory of a run, or its name below runs/.",
        show_default=False,
        autocompletion=names.runs,
    ),
]
TaskOrProblem = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="A task (`foretell tasks` lists them), or the file or folder of one of your own (docs/tasks.md).",
        show_default=False,
        autocompletion=names.tasks,
    ),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=N", help="Another size: of the workloads, or a number in the task's file (may be repeated)."
    ),
]
ReferenceMs = Annotated[
    float | None,
    typer.Option(metavar="MS", callback=positive, help="The reference's time on that GPU, if it is known."),
]


RUN_SETTINGS = ("policy", "forecaster", "profile", "seed", "measurements", "seconds", "candidates", "strategy")


def run_settings(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run among the arguments of a verb that starts one; each verb has options for all of them."""
    return {name: arguments[name] for name in RUN_SETTINGS}


def profile_option(panel: str) -> Any:
    """How much effort a new run makes."""
    return typer.Option(
        "--profile",
        metavar="PROFILE",
        help=f"Effort, which sets all budgets: {names.listed(names.PROFILES)}.",
        show_default=profiles.PROFILE,
        rich_help_panel=panel,
        autocompletion=names.one_of(names.PROFILES),
    )


def budget_option(name: str, panel: str, help: str) -> Any:
    """A budget of a new run; above zero and finite."""
    metavar, check = ("SECONDS", positive) if name == "--seconds" else ("N", count)
    return typer.Option(
        name, metavar=metavar, callback=check, help=help, show_default="by profile", rich_help_panel=panel
    )


def time_limit_option(work: str) -> Any:
    """After how many seconds no more of some work is started."""
    return typer.Option(
        "--seconds",
        metavar="SECONDS",
        callback=positive,
        help=f"Start no {work} after this time.",
        show_default="no limit",
    )


def policy_option(panel: str, otherwise: str = "") -> Any:
    return typer.Option(
        "--policy",
        metavar="POLICY",
        help=f"Which candidates to measure: {names.listed(names.POLICIES)}.",
        show_default=profiles.POLICY + otherwise,
        rich_help_panel=panel,
        autocompletion=names.one_of(names.POLICIES),
    )


def forecaster_option(panel: str | None = None, default: str = _FORECASTERS) -> Any:
    return typer.Option(
        "--forecaster",
        metavar="FORECASTER",
        help="Forecaster: online, features, program, calibrated, roofline, online:NAME, cascade:NAME,... or a language "
        "model (docs/lm.md).",
        show_default=default,
        rich_help_panel=panel,
        autocompletion=names.one_of(names.FORECASTERS),
    )


def strategy_option(panel: str) -> Any:
    return typer.Option(
        "--strategy",
        metavar="STRATEGY",
        help=f"Parent-selection strategy: {names.listed(names.STRATEGIES)}.",
        show_default=profiles.STRATEGY,
        rich_help_panel=panel,
        autocompletion=names.one_of(names.STRATEGIES),
    )


def language_option(panel: str) -> Any:
    return typer.Option(
        "--language",
        metavar="LANGUAGE",
        help="Language of the candidates: cpp (this CPU); triton, cuda or torch (this machine's GPU).",
        show_default="cpp for what a CPU has, else triton",
        rich_help_panel=panel,
        autocompletion=names.one_of(names.LANGUAGES),
    )


def seed_option(panel: str) -> Any:
    return typer.Option(
        metavar="N", callback=seed, help="Seed of all randomness.", show_default="0", rich_help_panel=panel
    )
