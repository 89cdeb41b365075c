"""The live table and its plain counterpart."""

from __future__ import annotations

import io

from rich.console import Console

from foretell.cli.live import LiveView, PlainView, make_view, snapshot, table
from foretell.kernels.policy import Action
from foretell.kernels.profiles import QUICK
from foretell.kernels.search import Round, RunState
from foretell.kernels.search.events import Again
from tests.report.synthetic import events_of_a_run, state_of


def terminal(is_terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=is_terminal, width=120)


def text_of(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_terminal_gets_the_table_and_a_pipe_gets_lines() -> None:
    assert isinstance(make_view(terminal(True), QUICK.budgets), LiveView)
    assert isinstance(make_view(terminal(False), QUICK.budgets), PlainView)


def test_the_table_tells_best_budgets_counts_and_decisions() -> None:
    state = state_of(events_of_a_run(rounds=3, verify=False))
    console = terminal(False)
    shot = snapshot(state, QUICK.budgets, (("drop", "abcd1234", "only [0.1%] chance"),))
    console.print(table(shot, QUICK.budgets, 90.0))
    text = text_of(console)
    assert state.best is not None and state.best.id[:8] in text
    assert f"{state.measured} of 32" in text and f"{state.considered} of 128" in text
    assert f"{state.trusted} trusted" in text and "only [0.1%] chance" in text and "90 s left" in text


def test_every_event_of_a_run_can_be_shown() -> None:
    events = events_of_a_run(rounds=3)
    for console in (terminal(True), terminal(False)):
        state = RunState()
        with make_view(console, QUICK.budgets) as view:
            for event in events:
                state.apply(event)
                view.on_event(event, state)
        assert text_of(console)


def test_a_round_without_new_candidates_says_so() -> None:
    console = terminal(False)
    view, state = PlainView(console), RunState()
    started, first, *_ = events_of_a_run(rounds=2)
    assert isinstance(first, Round)
    reserve = next(child for child in first.children if child.build.ok and child.action is Action.DROP)
    again = Again(reserve.candidate.id, reserve.forecast, "after all")
    for event in (started, first, Round(1, (), (), "fake", 0.0, (again,))):
        state.apply(event)
        view.on_event(event, state)
    assert "round 2: no new candidates, " in text_of(console) and " to measure (1 of earlier rounds);" in text_of(
        console
    )


def test_lines_name_rounds_and_new_bests_once() -> None:
    console = terminal(False)
    view, state = PlainView(console), RunState()
    for event in events_of_a_run(rounds=3):
        state.apply(event)
        view.on_event(event, state)
    lines = text_of(console).splitlines()
    assert sum(line.startswith("round ") for line in lines) == 3
    best = [line for line in lines if "fastest so far" in line]
    assert len(best) == len(set(best)) >= 1
    assert sum("measured again" in line for line in lines) == 3
    assert lines[-1].startswith("ended: ")
