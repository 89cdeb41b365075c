"""The loop of a search: propose, build, forecast, decide, measure, write down, learn; at the end verify the winners.

All decisions are made elsewhere, by pure functions of the state; this file does what they say. Every step is in the
journal before the next one, what the loop knows is only what a reader of the journal would know, and the randomness of
round r comes from (seed, r) alone: so a run that is killed anywhere and resumed decides as one that was not.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from foretell import __version__
from foretell.belief import Forecast
from foretell.kernels.candidate import PYTHON_LANGUAGES, Candidate, Origin
from foretell.kernels.measurement import Cost, Measurement
from foretell.kernels.policy import Action, Choice, Policy, View
from foretell.kernels.protocols import Bench, Build, Forecaster, Proposer, Subject
from foretell.kernels.search.config import SearchConfig, completed, differences, last_refit, refit_level
from foretell.kernels.search.events import (
    Again,
    Child,
    Event,
    Finished,
    Measured,
    Round,
    RunStarted,
    StopReason,
    Verified,
    event_from,
)
from foretell.kernels.search.judge import Judge
from foretell.kernels.search.load import replay
from foretell.kernels.search.state import Node, RunState
from foretell.kernels.search.strategy import Strategy
from foretell.kernels.store.catalogue import Catalogue
from foretell.kernels.store.errors import NoRun, OtherRun, RunExists
from foretell.kernels.store.journal import JOURNAL_NAME, Journal, Torn
from foretell.kernels.store.lines import uninterrupted
from foretell.kernels.store.seal import seal
from foretell.kernels.task import Task

OnEvent = Callable[[Event, RunState], None]


@runtime_checkable
class Informed(Protocol):
    """A proposer that reads where the run stands: `inform` is called before each `propose`, and only reads."""

    def inform(self, state: RunState) -> None: ...


class Search:
    """One run of a search in one directory.

    `run` starts it, `resume` goes on with it; both return the state at the end. `on_event` is called after each event
    is on disk, with the event and the state it led to. Budgets, batch sizes and the rest are in `config.profile`. The
    bench is the caller's: close it afterwards. After opening, `torn` tells of a line that a crash had cut short.
    """

    def __init__(
        self,
        task: Task,
        bench: Bench,
        proposer: Proposer,
        forecaster: Forecaster,
        strategy: Strategy,
        policy: Policy,
        config: SearchConfig,
        run_dir: Path,
        *,
        catalogue: Catalogue | None = None,
        on_event: OnEvent | None = None,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.perf_counter,
        fsync: bool = True,
    ) -> None:
        self.torn: Torn | None = None
        self._task = task
        self._bench = bench
        self._judge = Judge(task, bench, config.profile, catalogue)
        self._proposer = proposer
        self._forecaster = forecaster
        self._strategy = strategy
        self._policy = policy
        self._profile = config.profile
        self._config = config
        self._run_dir = run_dir
        self._on_event = on_event
        self._clock = clock
        self._timer = timer
        self._fsync = fsync
        self._state = RunState()
        self._learnt = 0

    def run(self) -> RunState:
        """Start the run and carry it to its end; RunExists where the directory already holds one."""
        with self._open() as self._journal:
            if self._journal.entries:
                raise RunExists(self._run_dir)
            return self._carry_on()

    def resume(self) -> RunState:
        """Go on with a run that was killed or interrupted; a finished one is returned as it is.

        NoRun where there is none, OtherRun where it is one with another task, device or configuration.
        """
        if not os.path.lexists(self._run_dir / JOURNAL_NAME):
            raise NoRun(self._run_dir)
        with self._open() as self._journal:
            if not self._journal.entries:
                raise NoRun(self._run_dir)
            return self._carry_on() if self._take_up() else self._state

    def step(self) -> RunState:
        """Start the run or go on with it until the proposer has nothing new or a budget is spent, and leave it open.

        For candidates that come from outside, a few at a time. OtherRun as in `resume`; a finished run is returned as
        it is. Ctrl-C leaves the rest pending: the next step begins with it.
        """
        with self._open() as self._journal:
            if not self._journal.entries or self._take_up():
                self._advance(more_to_come=True)
            return self._state

    def _take_up(self) -> bool:
        """Take in what the journal holds; False where the run is over."""
        self._state = replay(self._journal.path, self._journal.entries)
        self._check_same_run()
        if self._state.finished and self._state.finished.reason is not StopReason.INTERRUPTED:
            return False
        self._judge.keep_missing(self._state.nodes.values(), self._state.seals)
        return True

    def _open(self) -> Journal:
        journal = Journal.open(self._run_dir, self._clock, self._fsync)
        self.torn = journal.torn
        return journal

    def _carry_on(self) -> RunState:
        try:
            reason = self._advance()
            self._verify()
            self._finish(reason)
        except KeyboardInterrupt:
            if self._state.started is None:
                raise
            if self._state.finished is None:
                self._finish(StopReason.INTERRUPTED)
        return self._state

    def _advance(self, more_to_come: bool = False) -> StopReason:
        """Settle what is pending, then round after round; why there is no further one."""
        if self._state.started is None:
            self._record(self._run_started())
        self._learnt = last_refit(self._state.lessons_at_round, self._profile)
        self._forecaster.learn(self._task, self._bench.device, self._state.lessons[: self._learnt])
        self._settle()
        while (reason := self._stop_reason()) is None:
            if not self._round(more_to_come):
                return StopReason.CANDIDATES if self._to_consider() <= 0 else StopReason.EXHAUSTED
            self._settle()
        return reason

    def _run_started(self) -> RunStarted:
        task, language = self._task, self._config.language
        if language in PYTHON_LANGUAGES and language not in task.references:
            language = "torch"  # what runs on a GPU is measured against torch, whatever it is written in
        if language not in task.references:
            known = ", ".join(sorted(task.references))
            raise ValueError(f"task {task.name} has no reference in {language!r}; it has one in {known}")
        reference = Candidate(task.key, language, task.references[language], Origin("reference"))
        config = self._config.resolved(
            task, self._policy.name, self._strategy.name, self._forecaster.name, self._proposer.name
        )
        return RunStarted(config, self._bench.device, reference, __version__)

    def _check_same_run(self) -> None:
        here = self._run_started()
        found = differences(completed(self._state.config), here.config)
        if self._state.device.id != here.device.id:
            found.append(f"its device is {self._state.device.id!r}, not {here.device.id!r}")
        if not found and self._state.reference.id != here.reference.id:
            found.append("its reference program has changed since")
        if any(candidate.id != replace(candidate).id for candidate in self._candidates()):
            found.append(
                "a candidate of it has an id that is not its text's: another version wrote it, or it was changed"
            )
        if found:
            raise OtherRun(self._run_dir, found)

    def _candidates(self) -> list[Candidate]:
        return [self._state.reference, *(node.candidate for node in self._state.nodes.values())]

    def _stop_reason(self) -> StopReason | None:
        state, budgets = self._state, self._profile.budgets
        if state.measured >= budgets.measurements:
            return StopReason.MEASUREMENTS
        if state.device_s >= budgets.seconds:
            return StopReason.SECONDS
        if self._to_consider() <= 0 and not (self._policy.reconsiders and state.reserves):
            return StopReason.CANDIDATES
        return None

    def _to_consider(self) -> int:
        return self._profile.budgets.candidates - self._state.considered

    def _round(self, more_to_come: bool) -> bool:
        """Make and write down one selection; False where there is nothing new, nor anything to look at again.

        Where more is to come from outside, candidates of before are looked at again beside new ones only.
        """
        number = self._state.rounds
        seeds = np.random.SeedSequence([self._config.seed, number]).spawn(3)
        strategy_rng, proposer_rng, policy_rng = (np.random.default_rng(seed) for seed in seeds)
        started = self._timer()
        self._refit()
        parents = self._parents(strategy_rng)
        decide_s = self._timer() - started
        candidates = self._propose(parents, proposer_rng)
        if not candidates and (more_to_come or not self._policy.reconsiders):
            return False
        builds = self._judge.build(candidates)
        started = self._timer()
        fresh = [Subject(candidate, build) for candidate, build in zip(candidates, builds, strict=True)]
        kept = self._reserves()
        seen = [Subject(node.candidate, node.build) for node in kept]
        forecasts = self._forecaster.forecast(self._task, self._bench.device, [*fresh, *seen])
        built = [i for i, build in enumerate(builds) if build.ok]
        shown = [*built, *range(len(fresh), len(forecasts))]
        to_consider = self._to_consider() - len(candidates) if candidates else 0
        view = self._view(number, tuple(forecasts[i] for i in shown), len(built), to_consider)
        decided = dict(zip(shown, self._policy.decide(view, policy_rng), strict=True))
        choices = [decided.get(i) or _unbuilt(build) for i, build in enumerate(builds)]
        order = sorted(range(len(choices)), key=lambda i: (not choices[i].to_measure, -choices[i].priority))
        children = tuple(
            Child(candidates[i], builds[i], forecasts[i], choices[i].action, choices[i].reason, choices[i].audit)
            for i in order
        )
        again = tuple(
            Again(node.id, forecasts[i], decided[i].reason)
            for i, node in enumerate(kept, start=len(fresh))
            if decided[i].to_measure
        )
        decide_s += self._timer() - started
        if not children and not again:
            return False
        above = tuple(parents) if candidates else ()
        self._record(Round(number, above, children, self._forecaster.name, decide_s, again))
        return True

    def _view(self, number: int, forecasts: tuple[Forecast, ...], fresh: int, to_consider: int) -> View:
        state, budgets = self._state, self._profile.budgets
        return View(
            forecasts=forecasts,
            incumbent=state.incumbent,
            learnt=self._learnt,
            pending=len(state.pending),
            mean_cost_s=state.mean_cost_s,
            remaining_measurements=budgets.measurements - state.measured,
            remaining_s=budgets.seconds - state.device_s,
            round=number,
            fresh=fresh,
            to_consider=to_consider,
            fastest=state.fastest,
            measured=state.measured,
            considered=state.considered,
            audited=state.audited,
            missed=state.missed,
            worked_cost_s=state.worked_cost_s,
            failed_cost_s=state.failed_cost_s,
            promised=max((2.0 ** state.nodes[i].forecast.median for i in state.pending), default=None),
        )

    def _reserves(self) -> list[Node]:
        """The most promising candidates left unmeasured, as many as the policy would look at again."""
        reserves = self._state.reserves
        best = heapq.nlargest(self._policy.reconsiders, reserves, key=reserves.__getitem__)
        return [self._state.nodes[i] for i in best]

    def _refit(self) -> None:
        count = len(self._state.lessons)
        if refit_level(count, self._profile) > refit_level(self._learnt, self._profile):
            self._forecaster.learn(self._task, self._bench.device, self._state.lessons[:])
            self._learnt = count

    def _parents(self, rng: np.random.Generator) -> list[str]:
        """Whose children to look at; none where no more candidates may be proposed."""
        if self._to_consider() <= 0:
            return []
        return self._strategy.select(self._state.archive, self._profile.parents_per_batch, rng)

    def _propose(self, parents: Sequence[str], rng: np.random.Generator) -> list[Candidate]:
        """New and different candidates; a proposer that only repeats itself is asked a few times."""
        if not parents:
            return []
        state = self._state
        count = min(self._profile.batch_size, self._to_consider())
        reference = state.reference
        above = [reference if i == reference.id else state.nodes[i].candidate for i in parents]
        if isinstance(self._proposer, Informed):
            self._proposer.inform(state)
        for _ in range(self._profile.proposal_attempts):
            proposed = self._proposer.propose(self._task, above, count, rng, state.known)
            fresh: dict[str, Candidate] = {}
            for candidate in proposed:
                if candidate.id not in state.known:
                    fresh.setdefault(candidate.id, candidate)
            if fresh or not proposed:
                return list(fresh.values())[:count]
        return []

    def _settle(self) -> None:
        """Get an outcome for all that is pending, as budgets allow: failed builds, the catalogue, then the device."""
        nodes = [self._state.nodes[i] for i in self._state.pending]
        for node in nodes:
            if not node.build.ok:
                cost = Cost(build_s=node.build.seconds, wall_s=node.build.seconds)
                outcome = Measurement(node.build.status, node.build.message, cost=cost, device=self._bench.device.id)
                self._record(Measured(node.id, outcome))
        waiting = [node for node in nodes if node.build.ok]
        for node in waiting:
            if (kept := self._judge.recall(node)) is not None:
                self._record(Measured(node.id, kept, node.audit, reused=True))
        waiting = [node for node in waiting if node.id in self._state.pending]
        if not waiting or self._must_stop_measuring():
            return
        hopeless_below = self._state.round_incumbent * self._profile.hopeless_share
        with closing(self._judge.outcomes(waiting, hopeless_below)) as outcomes:
            for node, outcome, reused in outcomes:
                self._record(Measured(node.id, outcome, node.audit, reused=reused))
                if self._must_stop_measuring():
                    return

    def _must_stop_measuring(self) -> bool:
        return self._stop_reason() in (StopReason.MEASUREMENTS, StopReason.SECONDS)

    def _verify(self) -> None:
        """Measure the winners again, from the top, until one is shown to be faster and enough have held up.

        If none is, those that may be faster by their first measurement are tried too, up to the profile's attempts.
        """
        while (node := self._next_finalist()) is not None:
            for _, outcome in self._judge.measure([node], None):
                self._record(Verified(node.id, outcome))

    def _next_finalist(self) -> Node | None:
        again = [self._state.nodes[i].verified for i in self._state.verified]
        held = sum(outcome is not None and outcome.ok for outcome in again)
        node = next((node for node in self._state.ranking() if node.verified is None), None)
        if node is None or node.measurement is None or len(again) >= self._profile.verify_attempts:
            return None
        may_be_faster = (node.measurement.high or 0.0) > 1.0
        if held >= self._profile.verify_count and (self._state.shown_faster or not may_be_faster):
            return None
        return node

    def _finish(self, reason: StopReason) -> None:
        best = self._state.best
        self._record(Finished(reason, best.id if best else None, self._state.device_s + self._state.verify_s))

    def _record(self, event: Event) -> None:
        """Write an event, then take it in as read back: a resumed run must know exactly what this one knows."""
        event = self._sealed(event)
        with uninterrupted():
            entry = self._journal.append(event.name, event.to_payload())
            event = event_from(entry.event, entry.payload)
            self._state.apply(event)
            if isinstance(event, Verified) or (isinstance(event, Measured) and not event.reused):
                self._judge.keep(self._state.nodes[event.id], event.measurement)
        if self._on_event is not None:
            self._on_event(event, self._state)

    def _sealed(self, event: Event) -> Event:
        """The event with this user's mark, by which the run and its results are known as one's own again."""
        if isinstance(event, RunStarted):
            return replace(event, seal=seal(event.sealed_content()))
        if isinstance(event, Measured) and not event.reused:
            return replace(event, seal=self._judge.seal(self._state.nodes[event.id], event.measurement))
        return event


def _unbuilt(build: Build) -> Choice:
    words = build.message.strip().splitlines()
    return Choice(Action.DROP, f"does not build ({build.status.value}): {words[0] if words else 'no message'}")
