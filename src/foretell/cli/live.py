"""A search as it goes: one live table on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from foretell.cli.output import marked
from foretell.kernels.measurement import Measurement
from foretell.kernels.profiles import Budgets
from foretell.kernels.search import Event, Finished, Measured, Round, RunState, Verified
from foretell.report.candidates import KINDS, forecast_text, short
from foretell.report.numbers import count, seconds, times

LAST_DECISIONS = 5
REFRESH_PER_S = 4


@dataclass(frozen=True)
class Snapshot:
    """What the table shows, copied out of the state so that drawing never meets a change half-way."""

    task: str
    device: str
    best: str
    phase: str
    rounds: int
    charged: int
    reused: int
    considered: int
    device_s: float
    counts: str
    share: float
    decisions: tuple[tuple[str, str, str], ...]


class View(Protocol):
    """Shows events as they come; a context manager around the search."""

    def __enter__(self) -> View: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def on_event(self, event: Event, state: RunState) -> None: ...


def make_view(console: Console, budgets: Budgets) -> View:
    """The live table on a terminal, plain lines otherwise."""
    return LiveView(console, budgets) if console.is_terminal else PlainView(console)


def snapshot(state: RunState, budgets: Budgets, decisions: tuple[tuple[str, str, str], ...]) -> Snapshot:
    """The table's values for a state."""
    best = state.best
    found = best.measurement if best else None
    best_text = "none yet"
    if best is not None and found is not None:
        best_text = f"{times(found.speedup, sign='x')}  {times(found.low, sign='')} to {times(found.high, sign='')}"
        best_text += f"  {short(best.id)}, round {best.round + 1}"
    failed = sum(state.failures.values())
    share = max(
        state.charged / budgets.measurements,
        state.device_s / budgets.seconds,
        state.considered / budgets.candidates if not state.pending else 0.0,
    )
    return Snapshot(
        task=str(state.config["task"]),
        device=state.device.name,
        best=best_text,
        phase=_phase(state, share),
        rounds=state.rounds,
        charged=state.charged,
        reused=state.reused,
        considered=state.considered,
        device_s=state.device_s,
        counts=f"{state.measured} measured  {state.trusted} trusted  {state.dropped} dropped  "
        f"{failed} failed  {state.audited} audited",
        share=min(1.0, share),
        decisions=decisions,
    )


def _phase(state: RunState, share: float) -> str:
    if share >= 1.0 or any(node.verified for node in state.nodes.values()):
        return "verifying the winners"
    if state.pending:
        return f"measuring, {len(state.pending)} waiting"
    return "proposing, building and forecasting"


def table(shot: Snapshot, budgets: Budgets, left_s: float | None) -> RenderableType:
    """The live table: best, budgets, counts and the last decisions."""
    grid = Table.grid(padding=(0, 2))
    grid.add_row("best", Text(shot.best, style="bold green"))
    reused = f" ({shot.reused} reused)" if shot.reused else ""
    rows = (
        ("measured", shot.charged, budgets.measurements, f"{shot.charged} of {budgets.measurements}{reused}"),
        ("device", shot.device_s, budgets.seconds, f"{seconds(shot.device_s)} of {seconds(budgets.seconds)}"),
        ("considered", shot.considered, budgets.candidates, f"{shot.considered} of {budgets.candidates}"),
    )
    for name, done, total, words in rows:
        bar = ProgressBar(total=total, completed=min(done, total), width=30, complete_style="green")
        line = Table.grid(padding=(0, 2))
        line.add_row(bar, words)
        grid.add_row(name, line)
    grid.add_row("so far", shot.counts)
    left = f"about {seconds(float(round(left_s)))} left" if left_s is not None else "time left not known yet"
    grid.add_row("now", marked("{}  [dim]{}, Ctrl-C keeps everything[/]", shot.phase, left))
    heading = marked("[bold]{}[/] on {}  [dim]round {}[/]", shot.task, shot.device, shot.rounds)
    last = Table.grid(padding=(0, 2))
    for action, candidate, why in shot.decisions:
        last.add_row(
            marked("[dim]{}[/]", action),
            marked("[dim]{}[/]", candidate),
            Text(why, style="dim", no_wrap=True, overflow="ellipsis"),
        )
    return Group(heading, "", grid, "", last)


class _Decisions:
    """The last few decisions and outcomes, newest last."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, str, str]] = []

    def add(self, event: Event, state: RunState) -> tuple[tuple[str, str, str], ...]:
        match event:
            case Round():
                for again in event.again[:2]:
                    self._kept.append(("again", short(again.id), again.reason))
                # Those to be measured come first: show some of both ends.
                for child in (*event.children[:3], *event.children[3:][-2:]):
                    self._kept.append((child.action.value, short(child.candidate.id), child.reason))
            case Measured():
                words = f"{outcome_words(event.measurement)}, forecast {forecast_text(state.nodes[event.id], sign='x')}"
                self._kept.append(("measured", short(event.id), words))
            case Verified():
                self._kept.append(("verified", short(event.id), outcome_words(event.measurement)))
            case _:
                pass
        del self._kept[:-LAST_DECISIONS]
        return tuple(self._kept)


class LiveView:
    """One table that is drawn over itself."""

    def __init__(self, console: Console, budgets: Budgets) -> None:
        self._budgets = budgets
        self._decisions = _Decisions()
        self._shot: Snapshot | None = None
        self._began: tuple[float, float] | None = None
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=REFRESH_PER_S, transient=True)

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def on_event(self, event: Event, state: RunState) -> None:
        self._shot = snapshot(state, self._budgets, self._decisions.add(event, state))
        if self._began is None:
            self._began = (time.monotonic(), self._shot.share)

    def _draw(self) -> RenderableType:
        if self._shot is None:
            return Text("getting the bench ready", style="dim")
        return table(self._shot, self._budgets, self._left_s(self._shot))

    def _left_s(self, shot: Snapshot) -> float | None:
        """Time until the budget that runs out first is spent, at the pace so far."""
        if self._began is None:
            return None
        began, share = self._began
        gained = shot.share - share
        return (time.monotonic() - began) * (1.0 - shot.share) / gained if gained > 0.02 else None


class PlainView:
    """A line for each round, each candidate that is the fastest so far and each verified winner: for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._best: str | None = None

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def on_event(self, event: Event, state: RunState) -> None:
        match event:
            case Round():
                waiting = sum(state.nodes[i].build.ok for i in state.pending)
                candidates = count(len(event.children), "new candidate") if event.children else "no new candidates"
                earlier = f" ({len(event.again)} of earlier rounds)" if event.again else ""
                self._say(
                    f"round {event.round + 1}: {candidates}, {waiting} to measure{earlier}; in all "
                    f"{state.measured} measured, {state.trusted} trusted, {state.dropped} dropped"
                )
            case Measured() if state.best is not None and state.best.id != self._best and state.best.id == event.id:
                self._best = event.id
                spent = f"{state.measured} measured, {seconds(state.device_s)} of device time"
                spent = f"reused from an earlier run; {spent}" if event.reused else spent
                self._say(f"  fastest so far {outcome_words(event.measurement)} ({short(event.id)}), {spent}")
            case Verified():
                self._say(f"  measured again: {short(event.id)} {outcome_words(event.measurement)}")
            case Finished():
                self._say(f"ended: {event.reason.sentence}")
            case _:
                pass

    def _say(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)


def outcome_words(found: Measurement) -> str:
    """A speedup, or the kind of failure."""
    return times(found.speedup, sign="x") if found.ok else KINDS[found.status]
