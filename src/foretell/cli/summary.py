"""What a search came to: a few lines for a newcomer, or one JSON document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from foretell.cli.lm_report import LmReport
from foretell.cli.output import command_line, marked
from foretell.kernels.languages.extension.bare import is_bare
from foretell.kernels.policy import is_over_budget
from foretell.kernels.search import RunState, StopReason
from foretell.report.candidates import KINDS, shown
from foretell.report.conditions import contention, disagreement, measurements_of, trust_note
from foretell.report.numbers import count, seconds, times
from foretell.report.start import over_start, start_trouble

_ENDINGS = {"cpp": ".cpp"}  # candidates in other languages are Python modules, or bare CUDA files


def best_path(state: RunState, run_dir: Path) -> Path:
    """The file of the winner, with the ending of its language."""
    best = state.best
    bare = best is not None and is_bare(best.candidate.source)
    return run_dir / f"best{_ENDINGS.get(str(state.config['language']), '.cu' if bare else '.py')}"


def print_summary(
    console: Console,
    state: RunState,
    run_dir: Path,
    report: Path | None,
    language_models: LmReport | None = None,
    uses_catalogue: bool = True,
    wall_s: float | None = None,
) -> None:
    """What came out, what it took, where it is, and what to do next."""
    task = str(state.config["task"])
    console.print(marked("[bold]{}[/]  {}", task, _outcome(state)), soft_wrap=True)
    gain = over_start(state)
    if gain is not None or start_trouble(state):
        console.print(f"  {gain.sentence if gain else start_trouble(state)}", soft_wrap=True)
    unmeasured = f"{state.trusted} trusted on their forecast, {state.dropped} dropped"
    over = sum(is_over_budget(state.nodes[one].reason) for one in state.reserves)
    unmeasured += f" ({over} of them past the budget)" if over else ""
    measured = f"measured {state.measured} of {state.considered} considered"
    if state.verified:
        measured += f", {len(state.verified)} of them again at the end"
    console.print(f"  {measured}; {unmeasured}, {failures_text(state)}", soft_wrap=True)
    took = f" in {seconds(wall_s)} of wall time" if wall_s is not None else ""
    saved = f", about {seconds(state.saved_s)} of device time saved" if state.saved_s else ""
    reused = f", {count(state.reused, 'measurement')} reused from earlier runs" if state.reused else ""
    console.print(
        f"  {seconds(state.device_s + state.verify_s)} of device time spent{took}{saved}{reused}", soft_wrap=True
    )
    for line in (language_models or LmReport()).lines():
        console.print(f"  {line}", soft_wrap=True)
    if state.finished is not None:
        console.print(f"  ended because {state.finished.reason.sentence}")
    disturbance = contention(measurements_of(state), uses_catalogue)
    if disturbance:
        console.print(marked("  [yellow]{}[/]", disturbance), soft_wrap=True)
    if apart := disagreement(state):
        console.print(marked("  [yellow]{}[/]", apart), soft_wrap=True)
    console.print()
    rows = [("report", str(report))] if report else []
    if state.best is not None:
        rows.append(("source", str(best_path(state, run_dir))))
    rows.append(("next", _next(state, run_dir)))
    for name, value in rows:
        console.print(marked("  [dim]{}[/]  {}", f"{name:<6}", value), soft_wrap=True)


def _outcome(state: RunState) -> str | Text:
    best = state.best
    found = shown(best) if best else None
    if best is None or found is None or found.speedup is None:
        return marked("[red]no candidate that was measured works[/]") if state.measured else "nothing was measured"
    held = "verified" if best.verified is not None and best.verified.ok else "not yet verified"
    held += "; first measured in an earlier run" if best.reused else ""
    trust = trust_note(found)
    held += f"; {trust}" if trust else ""
    note = f"(95 % interval {times(found.low, sign='')} to {times(found.high, sign='')}, {held})"
    if not state.shown_faster:
        closest = f"the closest: {times(found.speedup, sign='x')} {note}"
        return f"no candidate is shown to be faster than the reference; {closest}"
    return marked("[bold green]{} times as fast as the reference[/] [dim]{}[/]", times(found.speedup, sign=""), note)


def failures_text(state: RunState) -> str:
    """How many candidates failed, and how."""
    kinds = ", ".join(f"{number} {KINDS[status]}" for status, number in state.failures.most_common())
    return f"{sum(state.failures.values())} failed{f' ({kinds})' if kinds else ''}"


def _next(state: RunState, run_dir: Path) -> str:
    task = state.config["task"]
    if state.finished is None or state.finished.reason is StopReason.INTERRUPTED:
        told = state.config.get("proposer") == "told"
        resume = ("tell", run_dir, "--finish") if told else ("search", "--resume", run_dir)
        return command_line(*resume)
    if "task_spec" in state.config:  # its file may be anywhere by now
        more = 2 * int(state.config["budgets"]["measurements"])
        return command_line("search", "--resume", run_dir, "--measurements", more)
    if state.best is not None:
        return command_line("measure", task, best_path(state, run_dir))
    seed = int(state.config["seed"]) + 1
    return command_line("search", task, "--language", state.config["language"], "--profile", "thorough", "--seed", seed)


def summary_document(
    state: RunState,
    run_dir: Path,
    report: Path | None,
    language_models: LmReport | None = None,
    uses_catalogue: bool = True,
) -> dict[str, Any]:
    """The outcome for programs."""
    best = state.best
    found = shown(best) if best else None
    gain = over_start(state)
    return {
        "task": state.config["task"],
        "device": state.device.to_dict(),
        "run": str(run_dir),
        "report": str(report) if report else None,
        "ended": state.finished.reason.value if state.finished else None,
        "best": {
            "id": best.id,
            "speedup": found.speedup,
            "low": found.low,
            "high": found.high,
            "verified": best.verified is not None and best.verified.ok,
            "shown_faster": state.shown_faster,
            "trust": found.trust,
            "file": str(best_path(state, run_dir)),
            "origin": {"kind": best.candidate.origin.kind, "detail": dict(best.candidate.origin.detail)},
        }
        if best is not None and found is not None
        else None,
        "over_start": gain.to_dict() if gain else None,
        "considered": state.considered,
        "measured": state.measured,
        "reused": state.reused,
        "trusted": state.trusted,
        "dropped": state.dropped,
        "audited": state.audited,
        "unbuilt": state.unbuilt,
        "faults": state.faults,
        "failures": {status.value: number for status, number in state.failures.items()},
        "device_s": state.device_s,
        "verify_s": state.verify_s,
        "saved_s": state.saved_s,
        "language_models": (language_models or LmReport()).to_dict(),
        "contention": contention(measurements_of(state), uses_catalogue),
        "disagreement": disagreement(state),
        "config": dict(state.config),
    }
