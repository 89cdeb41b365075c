"""The parts of a search by their names, as the command line and a run's configuration give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.cli.errors import BadInput
from foretell.cli.names import LANGUAGES
from foretell.cli.output import command_line

if TYPE_CHECKING:
    from foretell.kernels.device import Device
    from foretell.kernels.policy import Policy
    from foretell.kernels.protocols import Bench, Forecaster, Proposer
    from foretell.kernels.search import SearchConfig, Strategy
    from foretell.kernels.store import Catalogue, CatalogueDamaged
    from foretell.kernels.task import Task

LANGUAGE = "cpp"
CATALOGUE_NAME = "catalogue.sqlite"
OLD_CATALOGUE_NAME = "catalogue.jsonl"


@dataclass(frozen=True)
class Wishes:
    """What the user asked for; None where nothing was said."""

    policy: str | None = None
    forecaster: str | None = None
    profile: str | None = None
    seed: int | None = None
    measurements: int | None = None
    seconds: float | None = None
    candidates: int | None = None
    strategy: str | None = None
    proposer: str | None = None
    language: str | None = None


@dataclass(frozen=True)
class Parts:
    """Everything a search is made of besides its bench and its directory; `warm` says to start from the catalogue."""

    proposer: Proposer
    forecaster: Forecaster
    strategy: Strategy
    policy: Policy
    config: SearchConfig
    warm: bool = False


def new_parts(task: Task, wishes: Wishes, language: str = LANGUAGE) -> Parts:
    """The parts for a new run; BadInput where a name is unknown or a number makes no sense."""
    from foretell.kernels import profiles
    from foretell.kernels.search import SearchConfig

    with _as_bad_input():
        profile = profiles.get(wishes.profile or "standard")
        asked = {name: getattr(wishes, name) for name in ("measurements", "seconds", "candidates")}
        budgets = replace(profile.budgets, **{name: value for name, value in asked.items() if value is not None})
        config = SearchConfig(language, wishes.seed or 0, replace(profile, budgets=budgets))
    policy, forecaster = wishes.policy or "selective", wishes.forecaster or "online"
    return _assemble(task, config, policy, forecaster, wishes.strategy or "puct", wishes.proposer or "template")


def parts_of_run(task: Task, run_dir: Path, there: Mapping[str, Any], wishes: Wishes, started_here: bool) -> Parts:
    """The parts that a run was started with; BadInput where the user asks for others, or names another task.

    If the run was not started here, its language models must be named by the user too.
    """
    from foretell.kernels.search import SearchConfig
    from foretell.kernels.tasks import of_run

    if there["task"] != task.name or of_run(there, task.device_kind).identity != task.identity:
        raise BadInput(
            f"the run in {run_dir} is of the task {there['task']}, not {task.name}",
            f"a run of {task.name}",
            command_line("search", there["task"], "--resume", run_dir),
        )
    check_wishes(run_dir, there, wishes, command_line("search", task.name, "--resume", run_dir))
    if not started_here:
        _check_models(run_dir, there, wishes)
    config = SearchConfig.from_resolved(there)
    return _assemble(task, config, there["policy"], there["forecaster"], there["strategy"], there["proposer"])


def _check_models(run_dir: Path, there: Mapping[str, Any], wishes: Wishes) -> None:
    """BadInput where a received run would have a language model asked that the user has not named.

    A key, and the sources of the run, go to no other host than those that the user typed.
    """
    from foretell.kernels.propose.warm import PREFIX
    from foretell.lm.names import names_model

    for part in ("forecaster", "proposer"):
        name = there[part]
        if names_model(name) and getattr(wishes, part) != name:
            raise BadInput(
                f"the run in {run_dir} was not started here, and its {part} is {name.removeprefix(PREFIX)}",
                "the same name on the command line, if this model is to be asked and its host may have your key",
                f"--{part} with that name, or a new run",
            )


def check_wishes(run_dir: Path, there: Mapping[str, Any], wishes: Wishes, go_on: str) -> None:
    """BadInput where the user asks a run for other settings than its own; `go_on` is the command without them."""
    known = {**there, **there["budgets"], "profile": there["profile"]["name"]}
    for name, value in vars(wishes).items():
        if value is not None and value != known[name]:
            raise BadInput(
                f"the run in {run_dir} was started with --{name} {known[name]}, not {value}",
                "a run goes on with its own settings",
                f"{go_on}, or start a new run",
            )


def catalogue() -> Catalogue:
    """The user's catalogue of everything measured on this machine; a damaged one is set aside with a note."""
    from foretell.kernels.store import Catalogue
    from foretell.kernels.store.locations import cache_dir

    path, old = cache_dir() / CATALOGUE_NAME, cache_dir() / OLD_CATALOGUE_NAME
    if old.exists() and not path.exists():
        _note(f"{old} is of an earlier version and is not read: its candidates are measured anew; delete it")
    return Catalogue(path, on_damage=_set_aside)


def _set_aside(error: CatalogueDamaged, place: Path) -> None:
    what = str(error).partition("): ")[0]
    _note(f"{what}); it was set aside as {place}, and a new one is begun. Journals of runs are not affected")


def _note(text: str) -> None:
    from foretell.cli.output import progress_console

    progress_console().print(f"note: {text}", markup=False, soft_wrap=True)


def forecaster_named(name: str, seed: int = 0) -> Forecaster:
    """A fresh forecaster; BadInput where there is none of that name."""
    from foretell.kernels import forecast

    with _as_bad_input():
        found = forecast.make(name, seed)
    found.name = name  # a run that is resumed finds its forecaster by this name
    return found


def _assemble(task: Task, config: SearchConfig, policy: str, forecaster: str, strategy: str, proposer: str) -> Parts:
    from foretell.kernels.policy import make_policy
    from foretell.kernels.propose.warm import PREFIX
    from foretell.kernels.search import make_strategy

    with _as_bad_input():
        chosen = make_policy(policy, config.profile)
        climber = make_strategy(strategy, config.profile)
    writer = _proposer(proposer.removeprefix(PREFIX), task, config.language)
    warm = proposer.startswith(PREFIX)
    return Parts(writer, forecaster_named(forecaster, config.seed), climber, chosen, config, warm)


def warmed(parts: Parts, task: Task, device: Device, known: Catalogue | None) -> Proposer:
    """The proposer of these parts, which starts from what the catalogue knows where that was asked for."""
    from foretell.kernels.propose.warm import WarmProposer, best_of

    if not parts.warm:
        return parts.proposer
    sources = best_of(known, task, parts.config.language, device) if known is not None else []
    return WarmProposer(parts.proposer, sources)


def _proposer(name: str, task: Task, language: str) -> Proposer:
    from foretell.kernels.propose.names import NoTemplate, make_proposer, templates_of

    with _as_bad_input():
        try:
            return make_proposer(name, task, language)
        except NoTemplate as error:
            raise BadInput(
                str(error),
                f"a task with a template: {', '.join(templates_of(language))}",
                "write candidates yourself, or let a language model (--proposer): foretell ask RUN --task "
                f"{'FILE' if task.files else task.name} --language {language}",
            ) from error


@contextmanager
def _as_bad_input() -> Iterator[None]:
    """A name or number that the parts refuse is the user's to mend."""
    try:
        yield
    except ValueError as error:
        what, _, expected = str(error).partition("; ")
        raise BadInput(what, expected) from error


def kind_of(language: str) -> str:
    """What kind of device a language runs on; BadInput for one that nothing runs."""
    if language not in LANGUAGES:
        raise BadInput(f"there is no language {language!r}", f"one of {', '.join(LANGUAGES)}")
    return "cpu" if language == "cpp" else "gpu"


@contextmanager
def bench_of(
    kind: str, without_gpu: str = "--language cpp runs on the CPU; or use a machine with a GPU"
) -> Iterator[Bench]:
    """This machine's bench of a kind. Raises BadInput with the advice `without_gpu` if a GPU is needed and absent."""
    if kind == "cpu":
        from foretell.kernels.bench.cpu import CpuBench

        bench: Bench = CpuBench()
    else:
        from foretell.kernels.bench.gpu.bench import GpuBench
        from foretell.kernels.bench.gpu.device import NoGpu

        try:
            bench = GpuBench()
        except NoGpu as error:
            raise BadInput(str(error), "a CUDA GPU to measure on", without_gpu) from error
    try:
        yield bench
    finally:
        bench.close()
