"""`foretell tell`: programs from outside for a run, answered with forecast, decision and, if measured, result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli import names
from foretell.cli.errors import FAILED, BadInput, plainly
from foretell.cli.options import RunName
from foretell.cli.output import AsJson, command_line, document, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.protocols import Bench
    from foretell.kernels.search import Node, RunState, Search

INTERVAL = 0.8
ELSEWHERE = "continue this run on the machine that it was started on"
_ENDINGS = {"cpp": (".cpp", ".cc", ".cxx")}
_PATCHES = (".diff", ".patch")

_Told = list[tuple[Path, "Candidate"]]


@plainly
def tell(
    run: RunName,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Programs, or .diff files against the parent.", show_default=False),
    ] = None,
    author: Annotated[
        str,
        typer.Option(
            metavar="AUTHOR",
            help="Who wrote them: person or language-model.",
            autocompletion=names.one_of(names.AUTHORS),
        ),
    ] = "person",
    parent: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The candidate they were made from.", show_default="the one last asked for"),
    ] = None,
    finish: Annotated[bool, typer.Option("--finish", help="Measure the winners again and end the run.")] = False,
    use_catalogue: Annotated[
        bool, typer.Option("--catalogue/--no-catalogue", help="Reuse measurements made here before, and keep new ones.")
    ] = True,
    forecaster: Annotated[
        str | None,
        typer.Option(metavar="FORECASTER", help="The run's own, to confirm that of a run that was not started here."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Submit candidates to a run: each is built, forecast and, where that pays, measured."""
    from foretell.cli.runs import find_run
    from foretell.cli.told import asked_parent, candidate_of, check_open, is_over, parent_named, spent
    from foretell.kernels.search import load_run

    given = files or []
    if bool(given) == finish:
        raise BadInput(
            "--finish takes no files" if finish else "there is nothing to tell",
            "files that were written, or --finish",
            f"{command_line('tell', run, 'FILE')}, and at the end {command_line('tell', run, '--finish')}",
        )
    run_dir = find_run(run)
    state = before = load_run(run_dir)
    if finish:
        _end(state, run_dir, use_catalogue, forecaster, as_json)
        return
    above = asked_parent(run_dir, state) if parent is None else parent_named(state, parent)
    told = [(path, _candidate(state, candidate_of(state, above), path, author)) for path in given]
    fresh = any(candidate.id not in state.known for _, candidate in told)
    if fresh:
        check_open(state, run_dir)
    if fresh or (state.pending and not is_over(state) and spent(state) is None):
        state = _step(state, run_dir, [candidate for _, candidate in told], above, use_catalogue, forecaster)
    if as_json:
        document(_document(before, state, run_dir, told))
    else:
        _show(before, state, run_dir, told)
    if not all(_fine(state, candidate) for _, candidate in told):
        raise typer.Exit(FAILED)


def _candidate(state: RunState, parent: Candidate, path: Path, author: str) -> Candidate:
    """The candidate in a file; BadInput where it cannot be one of this run."""
    from foretell.cli.inputs import read_text
    from foretell.cli.tasks import reference_command
    from foretell.kernels.candidate import Candidate

    task, language = str(state.config["task"]), str(state.config["language"])
    hint = "" if "task_spec" in state.config else reference_command(task, state.device.kind)
    text = read_text(path, f"a program in {language}", hint)
    if path.suffix.lower() in _PATCHES:
        text = _patched(path, text, parent, language)
    else:
        _check_language(path, text, language)
    return Candidate(state.reference.task, language, text, _origin(author, path), (parent.id,))


def _origin(author: str, path: Path) -> Origin:
    from foretell.kernels.candidate import Origin

    name = author.lower().replace(" ", "-")
    if name not in names.AUTHORS:
        raise BadInput(f"there is no author {author!r}", f"one of {', '.join(names.AUTHORS)}")
    if name == "person":
        return Origin("person", {"file": path.name})
    return Origin("model", {"by": "language model", "file": path.name})


def _patched(path: Path, patch: str, parent: Candidate, language: str) -> str:
    from foretell.kernels.propose.patch import Unapplied, apply_patch

    start = f"the program it was made from ({parent.id})"
    if parent.language != language:
        raise BadInput(f"{path} is a patch of {start}, which is {parent.language}", f"a whole program in {language}")
    text = apply_patch(parent.source, patch)
    if isinstance(text, Unapplied):
        what = f"{path} cannot be applied to {start}: {text.message}"
        raise BadInput(what, "a unified diff that fits exactly", "tell the whole program, or give --parent")
    return text


def _check_language(path: Path, text: str, language: str) -> None:
    from foretell.kernels.languages.python_source import language_of

    endings = _ENDINGS.get(language, (".py",))
    expected = f"a {language} program in a file ending in {' '.join(endings)} (or a patch in {' '.join(_PATCHES)})"
    if path.suffix.lower() not in endings:
        raise BadInput(f"{path} is not {language} by its ending, and the run is of {language}", expected)
    if language != "cpp" and language_of(text) != language:
        raise BadInput(f"{path} is {language_of(text)} by its text, and the run is of {language}", expected)


def _search(
    state: RunState,
    bench: Bench,
    run_dir: Path,
    told: list[Candidate],
    above: str,
    keep: bool,
    forecaster: str | None,
) -> Search:
    """The run's own search with the told candidates as its proposer's, made from the program they were made from."""
    from foretell.cli.parts import Wishes, catalogue, parts_of_run
    from foretell.cli.told import task_of
    from foretell.kernels.propose.told import NAME, ToldProposer, ToldStrategy
    from foretell.kernels.search import Search, started_here

    task, config = task_of(state), state.config
    wishes = Wishes(forecaster=forecaster)
    parts = parts_of_run(task, run_dir, {**config, "proposer": NAME}, wishes, started_here(state))
    return Search(
        task,
        bench,
        ToldProposer(told, str(config["proposer"])),
        parts.forecaster,
        ToldStrategy(above, str(config["strategy"])),
        parts.policy,
        parts.config,
        run_dir,
        catalogue=catalogue() if keep else None,
    )


def _step(
    state: RunState, run_dir: Path, told: list[Candidate], above: str, keep: bool, forecaster: str | None
) -> RunState:
    from foretell.cli.parts import bench_of

    with bench_of(state.device.kind, ELSEWHERE) as bench, progress_console().status("building, forecasting, measuring"):
        work = _search(state, bench, run_dir, told, above, keep, forecaster)
        state = work.step()
    if work.torn is not None:
        progress_console().print(f"note: {work.torn}", markup=False, soft_wrap=True)
    return state


def _end(state: RunState, run_dir: Path, keep: bool, forecaster: str | None, as_json: bool) -> None:
    from foretell.cli.parts import bench_of
    from foretell.cli.search import conclude
    from foretell.cli.told import is_over

    if not is_over(state):
        with bench_of(state.device.kind, ELSEWHERE) as bench, progress_console().status("measuring the winners again"):
            state = _search(state, bench, run_dir, [], state.reference.id, keep, forecaster).resume()
    conclude(state, run_dir, True, as_json)


def _fine(state: RunState, candidate: Candidate) -> bool:
    """Whether a told candidate is in the run and has not failed."""
    if candidate.id == state.reference.id:
        return True
    node = state.nodes.get(candidate.id)
    return node is not None and (node.measurement is None or node.measurement.ok)


def _document(before: RunState, state: RunState, run_dir: Path, told: _Told) -> dict[str, Any]:
    from foretell.cli.told import budget, is_over, spent

    best, reason = state.best, spent(state)
    return {
        "run": str(run_dir),
        "task": state.config["task"],
        "device": state.device.name,
        "results": [{"file": str(path), **_row(before, state, candidate)} for path, candidate in told],
        "also_measured": [_outcome(node) | {"id": node.id} for node in _also(before, state, told)],
        "best": {"id": best.id, **_outcome(best)} if best is not None else None,
        "budget": budget(state),
        "spent": reason.value if reason else None,
        "finished": is_over(state),
        "next": _next(state, run_dir),
    }


def _row(before: RunState, state: RunState, candidate: Candidate) -> dict[str, Any]:
    node = state.nodes.get(candidate.id)
    known = candidate.id in before.known
    head = {"id": candidate.id, "known": known, "taken": candidate.id in state.known, "author": _author(candidate)}
    if node is None:
        return head | {
            "parent": None, "builds": None, "forecast": None, "decision": None, "result": None, "reused": False,
            "best": False, "note": _absent(state, candidate),
        }  # fmt: skip
    low, high = node.forecast.interval(INTERVAL)
    return head | {
        "author": _author(node.candidate),
        "parent": node.parents[0] if node.parents else None,
        "builds": node.build.ok,
        "forecast": {
            "speedup": 2.0**node.forecast.median,
            "low": 2.0**low,
            "high": 2.0**high,
            "interval": INTERVAL,
            "p_fail": node.forecast.p_fail,
        }
        if node.build.ok
        else None,
        "decision": {"action": node.action.value, "reason": node.reason, "audit": node.audit},
        "result": node.measurement.to_dict() if node.measurement is not None else None,
        "reused": node.reused,
        "best": state.best is not None and state.best.id == node.id,
        "note": _unmeasured(state, node),
    }


def _author(candidate: Candidate) -> str:
    return {"model": "language model"}.get(candidate.origin.kind, candidate.origin.kind)


def _absent(state: RunState, candidate: Candidate) -> str:
    from foretell.cli.told import spent

    if candidate.id == state.reference.id:
        return "this is the reference: its speedup is 1"
    reason = spent(state)
    return f"not taken in: {reason.sentence if reason else 'the run takes no more'}"


def _unmeasured(state: RunState, node: Node) -> str:
    """Why a candidate that was to be measured was not; nothing for all others."""
    from foretell.cli.told import spent

    reason = spent(state)
    waiting = node.id in state.pending
    return f"to be measured, but {reason.sentence}" if waiting and reason else "waiting" if waiting else ""


def _outcome(node: Node) -> dict[str, Any]:
    from foretell.report.candidates import shown

    found = shown(node)
    if found is None:
        return {"status": None, "speedup": None, "low": None, "high": None}
    return {"status": found.status.value, "speedup": found.speedup, "low": found.low, "high": found.high}


def _also(before: RunState, state: RunState, told: _Told) -> list[Node]:
    """What else was measured: left over from a step that was cut short, or looked at again."""
    own = {candidate.id for _, candidate in told}
    fresh = [node for node in state.nodes.values() if node.measurement is not None and node.id not in own]
    return [node for node in fresh if node.id not in before.nodes or before.nodes[node.id].measurement is None]


def _next(state: RunState, run_dir: Path) -> str:
    from foretell.cli.told import is_over, spent

    if is_over(state):
        return command_line("report", run_dir)
    return command_line("tell", run_dir, "--finish") if spent(state) else command_line("ask", run_dir)


def _show(before: RunState, state: RunState, run_dir: Path, told: _Told) -> None:
    from rich.markup import escape

    from foretell.cli.live import outcome_words
    from foretell.cli.told import left
    from foretell.report.candidates import short

    console = people()
    console.print(f"[bold]{escape(str(state.config['task']))}[/] on {escape(state.device.name)}\n", soft_wrap=True)
    for path, candidate in told:
        _show_one(before, state, path, candidate)
    for node in _also(before, state, told):
        if node.measurement is not None:
            words = f"{outcome_words(node.measurement)}, forecast earlier, measured now"
            console.print(f"also  {short(node.id)}  {words}", markup=False, soft_wrap=True)
    best = state.best
    if best is not None and best.measurement is not None:
        console.print(f"best  {short(best.id)}  {outcome_words(best.measurement)}", markup=False, soft_wrap=True)
    console.print(f"spent {left(state)}", markup=False, soft_wrap=True)
    console.print(f"next  [bold]{escape(_next(state, run_dir))}[/]", soft_wrap=True)


def _show_one(before: RunState, state: RunState, path: Path, candidate: Candidate) -> None:
    from rich.markup import escape

    from foretell.cli.measure import show_outcome
    from foretell.report.candidates import ACTIONS, forecast_text, short
    from foretell.report.numbers import percent

    console, node = people(), state.nodes.get(candidate.id)
    row = _row(before, state, candidate)
    notes = [
        *(["known before"] if row["known"] else []),
        *(["the best so far"] if row["best"] else []),
        *(["measured in an earlier run"] if row["reused"] else []),
    ]
    aside = f"  {', '.join(notes)}" if notes else ""
    console.print(f"[bold]{escape(str(path))}[/]  [dim]{short(candidate.id)}{aside}[/]", soft_wrap=True)
    if row["note"]:
        console.print(f"  {row['note']}", markup=False, soft_wrap=True)
    if node is None:
        console.print()
        return
    if node.build.ok:
        told = f"{forecast_text(node, sign='x')}, {percent(node.forecast.p_fail)} chance that it fails"
        console.print(f"  forecast  {told}", markup=False, soft_wrap=True)
        action = "audited" if node.audit else ACTIONS[node.action]
        console.print(f"  decision  {action}: {node.reason}", markup=False, soft_wrap=True)
    if node.measurement is not None:
        show_outcome(path, node.measurement)
    else:
        console.print()
