"""`foretell tell`: programs from outside for a run, answered with forecast, decision and, if measured, result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foretell.cli import names
from foretell.cli.errors import FAILED, BadInput, plainly
from foretell.cli.options import RunName
from foretell.cli.output import AsJson, command_line, document, line, marked, people, progress_console
from foretell.cli.search import conclude

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.search import Node, RunState

INTERVAL = 0.8

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
            "--author",
            metavar="AUTHOR",
            help="Who wrote them: person or language-model.",
            autocompletion=names.one_of(names.AUTHORS),
        ),
    ] = "person",
    parent: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The program they were made from, as ask names it.", show_default="the next"),
    ] = None,
    finish: Annotated[bool, typer.Option("--finish", help="Measure the winners again and end the run.")] = False,
    use_catalogue: Annotated[
        bool, typer.Option("--catalogue/--no-catalogue", help="Reuse measurements made here before, and keep new ones.")
    ] = True,
    forecaster: Annotated[
        str | None,
        typer.Option(
            "--forecaster",
            metavar="FORECASTER",
            help="The run's own, to confirm that of a run that was not started here.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Submit candidates to a run: each is built, forecast and, where that pays, measured."""
    from foretell import api
    from foretell.kernels.search import UNPROPOSED
    from foretell.kernels.search.asking import next_parent, parent_named, program_of
    from foretell.runs import find_run
    from foretell.told import file_candidate

    given = files or []
    if bool(given) == finish:
        raise BadInput(
            "--finish takes no files" if finish else "there is nothing to tell",
            "files that were written, or --finish",
            f"{command_line('tell', run, 'FILE')}, and at the end {command_line('tell', run, '--finish')}",
        )
    name = author.lower().replace(" ", "-")
    if name not in names.AUTHORS:
        raise BadInput(f"there is no author {author!r}", f"one of {', '.join(names.AUTHORS)}")
    run_dir = find_run(run)
    chosen = api.open_run(
        run_dir, proposer=UNPROPOSED, forecaster=forecaster, use_catalogue=use_catalogue, must_exist=True
    )
    if finish:
        with chosen, progress_console().status("measuring the winners again"):
            chosen.finish()
        conclude(chosen.state, run_dir, True, as_json, uses_catalogue=use_catalogue)
        return
    state = chosen.state
    above = next_parent(state) if parent is None else parent_named(state, parent)
    language, start = str(state.config["language"]), program_of(state, above)
    candidates = [file_candidate(path, chosen.task, language, start, name) for path in given]
    with chosen, progress_console().status("building, forecasting, measuring"):
        answer = chosen.tell(candidates, above)
    if chosen.torn is not None:
        progress_console().print(f"note: {chosen.torn}", soft_wrap=True)
    told = list(zip(given, answer.candidates, strict=True))
    if as_json:
        document(_document(answer.before, answer.state, run_dir, told))
    else:
        _show(answer.before, answer.state, run_dir, told)
    if not all(_fine(answer.state, candidate) for candidate in answer.candidates):
        raise typer.Exit(FAILED)


def _fine(state: RunState, candidate: Candidate) -> bool:
    """Whether a told candidate is in the run and has not failed."""
    if candidate.id == state.reference.id:
        return True
    node = state.nodes.get(candidate.id)
    return node is not None and (node.measurement is None or node.measurement.ok)


def _document(before: RunState, state: RunState, run_dir: Path, told: _Told) -> dict[str, Any]:
    from foretell.cli.told import budget
    from foretell.kernels.search import is_over, spent

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
    from foretell.kernels.search import spent

    if candidate.id == state.reference.id:
        return "this is the reference: its speedup is 1"
    reason = spent(state)
    return f"not taken in: {reason.sentence if reason else 'the run takes no more'}"


def _unmeasured(state: RunState, node: Node) -> str:
    """Why a candidate that was to be measured was not; nothing for all others."""
    from foretell.kernels.search import spent

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
    from foretell.kernels.search import is_over, spent

    if is_over(state):
        return command_line("report", run_dir)
    return command_line("tell", run_dir, "--finish") if spent(state) else command_line("ask", run_dir)


def _show(before: RunState, state: RunState, run_dir: Path, told: _Told) -> None:

    from foretell.cli.live import outcome_words
    from foretell.report.candidates import short, shown
    from foretell.told import spent_words

    console = people()
    console.print(marked("[bold]{}[/] on {}\n", state.config["task"], state.device.name), soft_wrap=True)
    for path, candidate in told:
        _show_one(before, state, path, candidate)
    for node in _also(before, state, told):
        if node.measurement is not None:
            words = f"{outcome_words(node.measurement)}, forecast earlier, measured now"
            console.print(f"also  {short(node.id)}  {words}", soft_wrap=True)
    best = state.best
    if best is not None and (latest := shown(best)) is not None:
        console.print(f"best  {short(best.id)}  {outcome_words(latest)}", soft_wrap=True)
    console.print(f"spent {spent_words(state)}", soft_wrap=True)
    console.print(marked("next  [bold]{}[/]", _next(state, run_dir)), soft_wrap=True)


def _best_words(best: Node) -> str:
    slower = best.measurement is not None and best.measurement.log2_speedup < 0.0
    return "the fastest so far, but slower than the reference" if slower else "the best so far"


def _show_one(before: RunState, state: RunState, path: Path, candidate: Candidate) -> None:

    from foretell.cli.measure import show_outcome
    from foretell.report.candidates import ACTIONS, forecast_text, short
    from foretell.report.numbers import percent

    console, node = people(), state.nodes.get(candidate.id)
    row = _row(before, state, candidate)
    notes = [
        *(["known before"] if row["known"] else []),
        *([_best_words(node)] if row["best"] and node is not None else []),
        *(["measured in an earlier run"] if row["reused"] else []),
    ]
    aside = f"  {', '.join(notes)}" if notes else ""
    console.print(marked("[bold]{}[/]  [dim]{}{}[/]", path, short(candidate.id), aside), soft_wrap=True)
    if row["note"]:
        console.print(f"  {line(row['note'])}", soft_wrap=True)
    if node is None:
        console.print()
        return
    if node.build.ok:
        told = f"{forecast_text(node, sign='x')}, {percent(node.forecast.p_fail)} chance that it fails"
        console.print(f"  forecast  {told}", soft_wrap=True)
        action = "audited" if node.audit else ACTIONS[node.action]
        console.print(f"  decision  {action}: {line(node.reason)}", soft_wrap=True)
    if node.measurement is not None:
        show_outcome(path, node.measurement)
    else:
        console.print()
