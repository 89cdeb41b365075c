"""The parts of a search by their names, as the command line and a run's configuration give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.errors import BadInput, command_line, note

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.policy import Policy
    from foretell.kernels.protocols import Bench, Forecaster, Proposer
    from foretell.kernels.search import SearchConfig, Strategy
    from foretell.kernels.store import Catalogue, CatalogueDamaged
    from foretell.kernels.task import Task

LANGUAGES = ("cpp", "triton", "cuda", "torch")
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

    @staticmethod
    def of(settings: Mapping[str, Any], **more: Any) -> Wishes:
        """The user's settings, by name. Raises BadInput if there is none of a name."""
        known = {field.name for field in fields(Wishes)} - {"proposer", "language"}
        for name in sorted(settings.keys() - known):
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else ""
            raise BadInput(f"there is no setting {name!r}", f"one of {', '.join(sorted(known))}", hint)
        return Wishes(**settings, **more)


@dataclass(frozen=True)
class Parts:
    """Everything a search is made of besides its bench and its journal; `warm` says to start from the catalogue.

    Without a proposer, candidates come from outside.
    """

    proposer: Proposer | None
    forecaster: Forecaster
    strategy: Strategy
    policy: Policy
    config: SearchConfig
    warm: bool = False


def new_parts(task: Task, wishes: Wishes, language: str = LANGUAGE, start: Candidate | None = None) -> Parts:
    """The parts for a new run; BadInput where a name is unknown or a number makes no sense.

    With a kernel to `start` from, its own constants are tuned unless another proposer is named.
    """
    from foretell.kernels import profiles
    from foretell.kernels.search import SearchConfig

    with _as_bad_input():
        profile = profiles.get(wishes.profile or profiles.PROFILE)
        asked = {name: getattr(wishes, name) for name in ("measurements", "seconds", "candidates")}
        budgets = replace(profile.budgets, **{name: value for name, value in asked.items() if value is not None})
        config = SearchConfig(language, wishes.seed or 0, replace(profile, budgets=budgets), start)
    proposer = wishes.proposer or (profiles.PROPOSER if start is None else "knobs")
    # What `knobs` proposes is chosen by what was measured already: there is nothing left to select.
    policy = wishes.policy or ("all" if proposer == "knobs" else profiles.POLICY)
    # Nor is there anything to record candidates for, if all of them are measured anyway.
    usual = profiles.FORECASTER if policy == "all" else search_forecaster(task)
    forecaster, strategy = wishes.forecaster or usual, wishes.strategy or profiles.STRATEGY
    return _assemble(task, config, policy, forecaster, strategy, proposer)


def parts_of_run(task: Task, run_dir: Path, there: Mapping[str, Any], wishes: Wishes, started_here: bool) -> Parts:
    """The parts that a run was started with; BadInput where the user asks for others, or names another task.

    If the run was not started here, its language models must be named by the user too.
    """
    from foretell.kernels.profiles import Budgets
    from foretell.kernels.search import SearchConfig

    check_same(task, run_dir, there, wishes)
    if not started_here:
        _check_models(run_dir, there, wishes)
    config = SearchConfig.from_resolved(there)
    larger = {name: max(value, getattr(wishes, name) or 0) for name, value in there["budgets"].items()}
    config = replace(config, profile=replace(config.profile, budgets=Budgets(**larger)))
    return _assemble(task, config, there["policy"], there["forecaster"], there["strategy"], there["proposer"])


def check_same(task: Task, run_dir: Path, there: Mapping[str, Any], wishes: Wishes) -> None:
    """BadInput if the user names another task than the run's, or asks for other settings."""
    from foretell.kernels.search import UNPROPOSED
    from foretell.kernels.tasks import of_run

    if there["task"] != task.name or of_run(there, task.device_kind).identity != task.identity:
        raise BadInput(
            f"the run in {run_dir} is of the task {there['task']}, not {task.name}",
            f"a run of {task.name}",
            command_line("search", "--resume", run_dir),
        )
    outside = there["proposer"] == UNPROPOSED
    go_on = command_line("ask", run_dir) if outside else command_line("search", "--resume", run_dir)
    check_wishes(run_dir, there, wishes, go_on)


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


def own_proposer(parts: Parts, proposer: object) -> Parts:
    """The parts with a proposer that is not named but given: a Proposer, or a function of a prompt."""
    from foretell.kernels.propose.lm import LmProposer
    from foretell.lm.function import NAME, FunctionModel

    if proposer is None or isinstance(proposer, str):
        return parts
    if hasattr(proposer, "propose"):
        return replace(parts, proposer=proposer)  # type: ignore[arg-type]
    if not callable(proposer):
        raise BadInput(f"a {type(proposer).__name__} is not a proposer", "a name, a function of a prompt or a Proposer")
    return replace(parts, proposer=LmProposer(FunctionModel(proposer), parts.config.language, name=NAME))


def check_wishes(run_dir: Path, there: Mapping[str, Any], wishes: Wishes, go_on: str) -> None:
    """BadInput where the user asks a run for other settings than its own; `go_on` is the command without them.

    A budget may be larger than the run's: that continues it.
    """
    known = {**there, **there["budgets"], "profile": there["profile"]["name"]}
    for name, value in vars(wishes).items():
        if name in there["budgets"] and value is not None and value >= known[name]:
            continue
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
        note(f"{old} is of an earlier version and is not read: its candidates are measured anew; delete it")
    return Catalogue(path, on_damage=_set_aside)


def _set_aside(error: CatalogueDamaged, place: Path) -> None:
    what = str(error).partition("): ")[0]
    note(f"{what}); it was set aside as {place}, and a new one is begun. Journals of runs are not affected")


def search_forecaster(task: Task) -> str:
    """The name of a search's forecaster if nobody names one."""
    from foretell.kernels import profiles
    from foretell.kernels.cost.recordings import can_record

    own = task.kind != "library" and task.device_kind == "gpu"
    return profiles.FORECASTER_OF_PROBLEMS if own and can_record() else profiles.FORECASTER


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
    warm = proposer.startswith(PREFIX)
    writer = _proposer(proposer.removeprefix(PREFIX), task, config, warm)
    return Parts(writer, forecaster_named(forecaster, config.seed), climber, chosen, config, warm)


def warmed(parts: Parts, task: Task, device: Device, known: Catalogue | None, resumed: bool) -> Proposer | None:
    """The proposer of these parts, which starts from what the catalogue knows where that was asked for.

    Raises BadInput if a new run has nothing to start from, and no other proposer.
    """
    from foretell.kernels.propose.warm import WarmProposer, best_of

    if not parts.warm:
        return parts.proposer
    sources = best_of(known, task, parts.config.language, device) if known is not None else []
    if parts.proposer is None and not sources and not resumed:
        language = parts.config.language
        raise BadInput(
            f"nothing proposes candidates for {task.name}: nothing of it in {language} was measured before",
            "a task of which the catalogue holds candidates that work, or a proposer beside it",
            "measure a kernel of your own, or search without --warm-start",
        )
    return WarmProposer(parts.proposer, sources)


def _proposer(name: str, task: Task, config: SearchConfig, warm: bool = False) -> Proposer | None:
    """The proposer of that name; None if candidates come from outside, or (`warm`) from the catalogue alone."""
    from foretell.kernels.propose.knobs import NoKnobs
    from foretell.kernels.propose.names import NoTemplate, make_proposer, templates_of
    from foretell.kernels.propose.warm import ALONE
    from foretell.kernels.search import UNPROPOSED
    from foretell.lm.function import NAME as FUNCTION

    if name in (UNPROPOSED, FUNCTION) or (warm and name == ALONE):
        return None
    by_hand = f"foretell ask RUN --task {'FILE' if task.files else task.name} --language {config.language}"
    with _as_bad_input():
        try:
            return make_proposer(name, task, config.language, config.start)
        except NoKnobs as error:
            what, _, expected = str(error).partition("; ")
            raise BadInput(
                what,
                expected,
                "give a number such a name (constexpr int UNROLL = 4, BLOCK: tl.constexpr), or have kernels written: "
                f"--proposer MODEL, or {by_hand}",
            ) from error
        except NoTemplate as error:
            if warm:
                return None
            raise BadInput(
                str(error),
                f"one of the {len(templates_of(config.language))} tasks with a template in {config.language}, a kernel "
                "to start from (--start FILE), or a language model that writes candidates (--proposer)",
                f"--start FILE, or write candidates yourself: {by_hand}",
            ) from error


@contextmanager
def _as_bad_input() -> Iterator[None]:
    """A name or number that the parts refuse is the user's to mend."""
    try:
        yield
    except BadInput:
        raise
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
    kind: str, without_gpu: str = "--language cpp runs on the CPU; or use a machine with a GPU", candidates: int = 1
) -> Iterator[Bench]:
    """This machine's bench of a kind. Raises BadInput with the advice `without_gpu` if a GPU is needed and absent.

    For more than one of the `candidates` all visible GPUs are used.
    """
    if kind == "cpu":
        from foretell.kernels.bench.cpu import CpuBench

        bench: Bench = CpuBench()
    else:
        from foretell.kernels.bench.gpu.bench import GpuBench
        from foretell.kernels.bench.gpu.device import NoGpu, visible_gpus

        try:
            bench = _farm() if candidates > 1 and len(visible_gpus()) > 1 else GpuBench()
        except NoGpu as error:
            raise BadInput(str(error), "a CUDA GPU to measure on", without_gpu) from error
    try:
        yield bench
    finally:
        bench.close()


def _farm() -> Bench:
    from foretell.kernels.bench.gpu.farm import GpuFarm

    return GpuFarm()
