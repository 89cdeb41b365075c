"""The loop of a search: propose, build, forecast, decide, measure, write down, learn; at the end verify the winners.

All decisions are made elsewhere, by pure functions of the state; this file does what they say. Every step is in the
journal before the next one, what the loop knows is only what a reader of the journal would know, and the randomness of
round r comes from (seed, r) alone: so a run that is killed anywhere and resumed decides as one that was not.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import Protocol, runtime_checkable

import numpy as np

from foretell import __version__
from foretell.belief import Forecast
from foretell.kernels.candidate import PYTHON_LANGUAGES, Candidate, Origin
from foretell.kernels.measurement import Cost, Measurement
from foretell.kernels.policy import Action, Choice, Policy, View
from foretell.kernels.protocols import Bench, Build, Forecaster, Proposer, Subject
from foretell.kernels.search.asking import Question, ask, is_over
from foretell.kernels.search.child import Child
from foretell.kernels.search.config import SearchConfig, completed, differences, extended, last_refit, refit_level
from foretell.kernels.search.events import (
    Again,
    Event,
    Extended,
    Finished,
    Measured,
    Round,
    RunStarted,
    StopReason,
    Verified,
)
from foretell.kernels.search.journals import RunJournal
from foretell.kernels.search.judge import Judge
from foretell.kernels.search.state import Node, RunState
from foretell.kernels.search.strategy import Strategy
from foretell.kernels.store.catalogue import Catalogue
from foretell.kernels.store.errors import NoRun, OtherRun, RunExists
from foretell.kernels.store.journal import Torn
from foretell.kernels.store.lines import uninterrupted
from foretell.kernels.store.seal import seal
from foretell.kernels.task import Task

UNPROPOSED = "told"  # in the place of a proposer's name, in a run whose candidates all come from outside
OnEvent = Callable[[Event, RunState], None]


@runtime_checkable
class Informed(Protocol):
    """A proposer that reads where the run stands: `inform` is called before each `propose`, and only reads."""

    def inform(self, state: RunState) -> None: ...


class Search:
    """One run of a search, in one journal.

    `run` starts it, `resume` goes on with it; both return the state at the end. Whoever wants the loop for themselves
    calls `ask` and `tell` as often as they like, and `finish`. `on_event` is called after each event is written, with
    the event and the state it led to. Budgets, batch sizes and the rest are in `config.profile`. The bench is the
    caller's: close it afterwards. Without a proposer, candidates come by `tell` alone.
    """

    def __init__(
        self,
        task: Task,
        bench: Bench,
        proposer: Proposer | None,
        forecaster: Forecaster,
        strategy: Strategy,
        policy: Policy,
        config: SearchConfig,
        journal: RunJournal,
        *,
        catalogue: Catalogue | None = None,
        on_event: OnEvent | None = None,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._task = task
        self._bench = bench
        self._judge = Judge(task, bench, config.profile, catalogue)
        self._proposer = proposer
        self._forecaster = forecaster
        self._strategy = strategy
        self._policy = policy
        self._profile = config.profile
        self._config = config
        self._journal = journal
        self._on_event = on_event
        self._timer = timer
        self._state = RunState()
        self._learnt = 0

    @property
    def torn(self) -> Torn | None:
        """After opening: the line that a crash had cut short, if there was one."""
        return self._journal.torn

    @property
    def state(self) -> RunState:
        """Where the run stands, as far as this object knows."""
        return self._state

    def run(self) -> RunState:
        """Start the run and carry it to its end. Raises RunExists if the journal already holds one."""
        with self._journal:
            if self._journal.state().started is not None:
                raise RunExists(self._journal.place)
            return self._carry_on()

    def resume(self) -> RunState:
        """Go on with a run that was killed or interrupted, or finished with smaller budgets than these.

        A run that is finished, and whose budgets are these, is returned as it is.

        Raises:
            NoRun: There is none.
            OtherRun: It is one with another task, device or configuration, or with larger budgets.
        """
        with self._existing():
            return self._carry_on() if self._take_up() else self._state

    def start(self) -> RunState:
        """Start the run if there is none, or take up the one there is, and leave it open."""
        with self._journal:
            self._begin()
            return self._state

    def ask(self, parent: str | None = None) -> Question:
        """The question for the next candidate; starts the run if there is none. Asking changes nothing else."""
        if self._state.started is None:
            self.start()
        return ask(self._state, self._task, parent, strategy=self._strategy)

    def tell(self, candidates: Sequence[Candidate], parent: str) -> RunState:
        """Put candidates into the run as children of one of its programs, and leave it open.

        Each is built, forecast and, where that pays, measured, within the budgets. What a step before left pending
        comes first. Starts the run if there is none; a finished one is returned as it is. Ctrl-C leaves the rest
        pending: the next call begins with it. Raises OtherRun as `resume` does.
        """
        with self._journal:
            if not self._begin():
                return self._state
            self._ready()
            fresh = list({c.id: c for c in candidates if c.id not in self._state.known}.values())
            while fresh and self._stop_reason() is None and (count := self._room()) > 0:
                batch, fresh = fresh[:count], fresh[count:]
                self._round(batch, [parent])
                self._settle()
            return self._state

    def finish(self) -> RunState:
        """Settle what is pending, measure the winners again and end the run; a finished one is returned as it is.

        Raises NoRun and OtherRun as `resume` does.
        """
        with self._existing():
            if self._take_up():
                self._to_the_end(self._closing)
            return self._state

    def _existing(self) -> RunJournal:
        if not self._journal.exists():
            raise NoRun(self._journal.place)
        return self._journal

    def _begin(self) -> bool:
        """Take up the run, or start it; False if it is over."""
        if self._journal.state().started is not None:
            return self._take_up()
        self._state = RunState()
        self._record(self._run_started())
        return True

    def _take_up(self) -> bool:
        """Take in what the journal holds; False if the run is over."""
        self._state = self._journal.state()
        if self._state.started is None:
            raise NoRun(self._journal.place)
        self._check_same_run()
        if self._extends():
            self._record(Extended(asdict(self._profile.budgets)))
        if is_over(self._state):
            return False
        self._judge.keep_missing(self._state.nodes.values(), self._state.seals)
        return True

    def _extends(self) -> bool:
        """Whether these budgets are larger than the run's."""
        return dict(self._state.config["budgets"]) != asdict(self._profile.budgets)

    def _closing(self) -> StopReason:
        self._ready()
        return self._stop_reason() or StopReason.ENDED

    def _carry_on(self) -> RunState:
        self._to_the_end(self._advance)
        return self._state

    def _to_the_end(self, work: Callable[[], StopReason]) -> None:
        try:
            reason = work()
            self._verify()
            self._finish(reason)
        except KeyboardInterrupt:
            if self._state.started is None:
                raise
            if self._state.finished is None:
                self._finish(StopReason.INTERRUPTED)

    def _ready(self) -> None:
        """Teach the forecaster what the run knew at its last round, and settle what is pending."""
        self._learnt = last_refit(self._state.lessons_at_round, self._profile)
        self._forecaster.learn(self._task, self._bench.device, self._state.lessons[: self._learnt])
        self._settle()

    def _advance(self) -> StopReason:
        """Settle what is pending, then round after round; why there is no further one."""
        if self._state.started is None:
            self._record(self._run_started())
        self._ready()
        start = self._config.start
        if start is not None and start.id not in self._state.known and self._stop_reason() is None:
            self._round([start], [self._state.reference.id])
            self._settle()
        while (reason := self._stop_reason()) is None:
            if not self._round():
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
        proposer = UNPROPOSED if self._proposer is None else self._proposer.name
        config = self._config.resolved(task, self._policy.name, self._strategy.name, self._forecaster.name, proposer)
        return RunStarted(config, self._bench.device, reference, __version__)

    def _check_same_run(self) -> None:
        here, there = self._run_started(), completed(self._state.config)
        if self._proposer is None:  # candidates from outside may be put into any run
            there = {**there, "proposer": UNPROPOSED}
        if _covers(asdict(self._profile.budgets), there["budgets"]):
            there = extended(there, asdict(self._profile.budgets))
        found = differences(there, here.config)
        if self._state.device.id != here.device.id:
            found.append(f"its device is {self._state.device.id!r}, not {here.device.id!r}")
        if not found and self._state.reference.id != here.reference.id:
            found.append("its reference program has changed since")
        if any(candidate.id != replace(candidate).id for candidate in self._candidates()):
            found.append(
                "a candidate of it has an id that is not its text's: another version wrote it, or it was changed"
            )
        if found:
            raise OtherRun(self._journal.place, found)

    def _candidates(self) -> list[Candidate]:
        return [self._state.reference, *(node.candidate for node in self._state.nodes.values())]

    def _stop_reason(self) -> StopReason | None:
        state, budgets = self._state, self._profile.budgets
        if state.charged >= budgets.measurements:
            return StopReason.MEASUREMENTS
        if state.device_s >= budgets.seconds:
            return StopReason.SECONDS
        if self._to_consider() <= 0 and not (self._policy.reconsiders and state.reserves):
            return StopReason.CANDIDATES
        return None

    def _to_consider(self) -> int:
        return self._profile.budgets.candidates - self._state.considered

    def _room(self) -> int:
        """How many candidates the next round may have."""
        return min(self._profile.batch_size, self._to_consider())

    def _round(self, told: Sequence[Candidate] | None = None, above: Sequence[str] = ()) -> bool:
        """Make and write down one selection; False if there is nothing new, nor anything to look at again.

        `told` are candidates from outside, made from the programs `above`; without them the proposer is asked.
        """
        number = self._state.rounds
        seeds = np.random.SeedSequence([self._config.seed, number]).spawn(3)
        strategy_rng, proposer_rng, policy_rng = (np.random.default_rng(seed) for seed in seeds)
        started = self._timer()
        self._refit()
        parents = self._parents(strategy_rng) if told is None else list(above)
        decide_s = self._timer() - started
        candidates = self._propose(parents, proposer_rng) if told is None else list(told)
        if not candidates and not self._policy.reconsiders:
            return False
        builds = self._judge.build(candidates)
        started = self._timer()
        fresh = [Subject(candidate, build) for candidate, build in zip(candidates, builds, strict=True)]
        kept = self._reserves()
        seen = [Subject(node.candidate, node.build) for node in kept]
        forecasts = self._forecaster.forecast(self._task, self._bench.device, [*fresh, *seen])
        built = [i for i, build in enumerate(builds) if build.ok]
        shown = [*built, *range(len(fresh), len(forecasts))]
        # Nobody knows whether more will be told: candidates from outside are judged as if they were the last.
        to_consider = self._to_consider() - len(candidates) if candidates and told is None else 0
        view = self._view(number, tuple(forecasts[i] for i in shown), len(built), to_consider)
        decided = dict(zip(shown, self._policy.decide(view, policy_rng), strict=True))
        choices = [decided.get(i) or _unbuilt(build) for i, build in enumerate(builds)]
        choices = [self._first_if_start(candidates[i], choices[i], builds[i]) for i in range(len(choices))]
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
        expanded = tuple(parents) if candidates else ()
        self._record(Round(number, expanded, children, self._forecaster.name, decide_s, again))
        return True

    def _first_if_start(self, candidate: Candidate, choice: Choice, build: Build) -> Choice:
        """The choice, which is to measure if the candidate is the kernel to start from."""
        start = self._config.start
        if start is None or candidate.id != start.id or not build.ok:
            return choice
        return Choice(Action.MEASURE, "the kernel to start from is measured first")

    def _view(self, number: int, forecasts: tuple[Forecast, ...], fresh: int, to_consider: int) -> View:
        state, budgets = self._state, self._profile.budgets
        return View(
            forecasts=forecasts,
            incumbent=state.incumbent,
            learnt=self._learnt,
            pending=len(state.pending),
            mean_cost_s=state.mean_cost_s,
            remaining_measurements=budgets.measurements - state.charged,
            remaining_s=budgets.seconds - state.device_s,
            round=number,
            fresh=fresh,
            to_consider=to_consider,
            fastest=state.fastest,
            measured=state.charged,
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
        if not parents or self._proposer is None:
            return []
        state = self._state
        count = self._room()
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
        """The next winner to measure again; at last the kernel that the run started from, to compare with."""
        start = self._state.start
        to_compare = start is not None and start.verified is None and start.measurement is not None
        return self._next_winner() or (start if to_compare and start and start.value is not None else None)

    def _next_winner(self) -> Node | None:
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
        if self._journal.durable:
            with uninterrupted():
                event = self._journal.append(self._sealed(event))
                self._state.apply(event)
                if isinstance(event, Verified) or (isinstance(event, Measured) and not event.reused):
                    self._judge.keep(self._state.nodes[event.id], event.measurement)
        else:
            self._state.apply(self._journal.append(event))
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


def _covers(larger: Mapping[str, float], smaller: Mapping[str, float]) -> bool:
    """Whether no budget is smaller than the other's."""
    return all(larger[name] >= smaller[name] for name in larger)
