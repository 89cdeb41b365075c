"""The state of a run: a pure fold over its events, so that resuming is replaying."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate
from foretell.kernels.deferred import deferrable
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.policy import Action
from foretell.kernels.protocols import Build, Subject
from foretell.kernels.search.child import Child
from foretell.kernels.search.config import extended
from foretell.kernels.search.descriptor import cell_of
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
from foretell.kernels.search.strategy import Archive, Cell
from foretell.kernels.typed import unchecked


@deferrable("candidate", "build", "forecast")
@dataclass(frozen=True)
class Node:
    """One candidate of a run with all that is known of it.

    It belongs to the state of the run, which alone changes it, in place, when more is known.
    """

    candidate: Candidate
    build: Build
    forecast: Forecast
    action: Action
    reason: str
    audit: bool
    round: int
    parents: tuple[str, ...]
    measurement: Measurement | None = None
    reused: bool = False
    verified: Measurement | None = None

    @staticmethod
    def of(child: Child, round_: int, parents: tuple[str, ...]) -> Node:
        """The node of a child that nothing was measured of yet."""
        fields = {"round": round_, "parents": parents, "measurement": None, "reused": False, "verified": None}
        return unchecked(Node, vars(child) | fields)

    @cached_property
    def id(self) -> str:
        return self.candidate.id

    @cached_property
    def built(self) -> bool:
        return self.build.ok

    @property
    def to_measure(self) -> bool:
        """Whether the device is to judge it: decided so or audited, and built."""
        return self.built and (self.audit or self.action is Action.MEASURE)

    @property
    def value(self) -> float | None:
        """Measured log2 speedup, or the forecast's median where it is trusted; failures and dropped have none."""
        if self.measurement is not None and self.measurement.status is not Status.INFRASTRUCTURE:
            return self.measurement.log2_speedup if self.measurement.ok else None
        return self.forecast.median if self.action is Action.TRUST else None


class RunState:
    """All that follows from the events of a run. Does no I/O; `apply` is the only thing that changes it.

    `nodes` holds every candidate considered, by id, in order of arrival; the reference is not among them but is the
    root of `archive`, with value 0. Of the candidates considered, `measured` were judged by the device (`reused` of
    them in an earlier run), `unbuilt` did not build, `faults` could not be judged because the machine failed, and
    `trusted` and `dropped` were left unmeasured; the rest is `pending`. `reserves` are those left unmeasured, with the
    log2 speedup that one in ten would pass by what was forecast for them when they came. `audited` counts measurements
    made for the audit, `missed` those of them that were surely faster than all before their round, `failures`
    candidates that failed, by status. `seals` are the marks of measurements, by candidate. `verified` are the
    winners measured again, in that order. `device_s` is device time spent searching (`failed_s` of it on failures),
    `verify_s` verifying; `decide_s` is time spent on decisions.
    """

    def __init__(self) -> None:
        self.started: RunStarted | None = None
        self.finished: Finished | None = None
        self._config: Mapping[str, Any] | None = None
        self.nodes: dict[str, Node] = {}
        self.seals: dict[str, str] = {}
        self.archive = Archive()
        self.known: set[str] = set()
        self.pending: dict[str, None] = {}
        self.reserves: dict[str, float] = {}
        self._taught: list[Node] = []
        self._lessons: list[tuple[Subject, Measurement]] = []
        self.lessons_at_round: list[int] = []
        self.round_incumbent = 1.0
        self.considered = self.measured = self.reused = self.audited = self.missed = 0
        self.trusted = self.dropped = self.unbuilt = self.faults = 0
        self.failures: Counter[Status] = Counter()
        self.device_s = self.failed_s = self.verify_s = self.decide_s = 0.0
        self._paid_failures = 0
        self.verified: list[str] = []
        self._leader: str | None = None
        self._leader_value = 0.0

    @classmethod
    def fold(cls, events: Iterable[Event]) -> RunState:
        """The state after these events."""
        state = cls()
        for event in events:
            state.apply(event)
        return state

    def apply(self, event: Event) -> None:
        """Take in one event; ValueError where it cannot follow what came before."""
        if isinstance(event, RunStarted) != (self.started is None):
            raise ValueError(f"event {event.name!r} is out of place: a run starts once, and first")
        if self.finished is not None:
            if self.finished.reason is not StopReason.INTERRUPTED and not isinstance(event, Extended):
                raise ValueError(f"event {event.name!r} is out of place: the run is finished")
            self.finished = None
        match event:
            case RunStarted():
                self.started = event
                self.known.add(event.reference.id)
                self.archive.add(event.reference.id, (), 0.0, partial(cell_of, event.reference))
            case Round():
                self._apply_round(event)
            case Measured():
                self._apply_measured(event)
            case Verified():
                _change(self.nodes[event.id], verified=event.measurement)
                self.verified.append(event.id)
                self.verify_s += event.measurement.device_s
            case Finished():
                self.finished = event
            case Extended():
                self._config = extended(self.config, event.budgets)
                for node_id in self.verified:
                    _change(self.nodes[node_id], verified=None)
                self.verified.clear()

    def _apply_round(self, event: Round) -> None:
        if event.round != self.rounds:
            raise ValueError(f"round {event.round} is out of place: {self.rounds} was expected")
        self.lessons_at_round.append(len(self._taught))
        self.decide_s += event.decide_s
        self.round_incumbent = self.incumbent
        self.archive.expand(event.parents)
        unbuilt, to_measure = [], [self._recalled(one) for one in event.again]
        for child in event.children:
            node_id = child.id
            if node_id in self.known:
                raise ValueError(f"candidate {node_id} is proposed twice")
            parents = tuple([parent for parent in child.made_from if parent in self.known]) or event.parents[:1]
            node = Node.of(child, event.round, parents)
            self.nodes[node_id] = node
            self.archive.add(node_id, parents, node.value, partial(_cell, node))
            if not node.built:
                unbuilt.append(node_id)
            elif node.to_measure:
                to_measure.append(node_id)
            else:
                self.trusted += node.action is Action.TRUST
                self.dropped += node.action is Action.DROP
                self.reserves[node_id] = _promise(node.forecast)
        self.known.update([child.id for child in event.children])
        self.considered += len(event.children)
        self.pending.update(dict.fromkeys((*unbuilt, *to_measure)))

    def _recalled(self, again: Again) -> str:
        """Take a node back from among those left unmeasured."""
        if again.id not in self.reserves:
            raise ValueError(f"candidate {again.id} is measured after all, but was not left unmeasured")
        del self.reserves[again.id]
        node = self.nodes[again.id]
        self.trusted -= node.action is Action.TRUST
        self.dropped -= node.action is Action.DROP
        _change(node, forecast=again.forecast, action=Action.MEASURE, reason=again.reason)
        self.archive.set_value(node.id, node.value)
        return node.id

    def _apply_measured(self, event: Measured) -> None:
        if event.id not in self.pending:
            raise ValueError(f"a measurement of {event.id} is out of place: it is not waiting for one")
        del self.pending[event.id]
        measurement = event.measurement
        if event.seal:
            self.seals[event.id] = event.seal
        node = self.nodes[event.id]
        _change(node, measurement=measurement, reused=event.reused)
        value, is_failure = node.value, measurement.status.is_failure
        self.archive.set_value(event.id, value)
        if not event.reused:
            self.device_s += measurement.device_s
            if is_failure and node.built:
                self.failed_s += measurement.device_s
                self._paid_failures += 1
        self.audited += event.audit
        if event.audit and measurement.ok and (measurement.low or 0.0) > self.round_incumbent:
            self.missed += 1
        if measurement.status is Status.INFRASTRUCTURE:
            self.faults += 1
            return
        self._taught.append(node)
        if is_failure:
            self.failures[measurement.status] += 1
        if not node.built:
            self.unbuilt += 1
            return
        self.measured += 1
        self.reused += event.reused
        if value is not None and (self._leader is None or value > self._leader_value):
            self._leader, self._leader_value = event.id, value

    @property
    def config(self) -> Mapping[str, Any]:
        """The resolved configuration of the run, with its budgets as they were last extended."""
        return self._started.config if self._config is None else self._config

    @property
    def device(self) -> Device:
        return self._started.device

    @property
    def reference(self) -> Candidate:
        return self._started.reference

    @property
    def start(self) -> Node | None:
        """The kernel that the run was started from; None without one, and before it was looked at."""
        given = self.config.get("start")
        return None if given is None else self.nodes.get(given["id"])

    @property
    def lessons(self) -> list[tuple[Subject, Measurement]]:
        """What there is to learn from: every candidate that was judged, in that order."""
        for node in self._taught[len(self._lessons) :]:
            assert node.measurement is not None
            self._lessons.append((Subject(node.candidate, node.build), node.measurement))
        return self._lessons

    @property
    def rounds(self) -> int:
        """How many rounds there were: the number of the next one."""
        return len(self.lessons_at_round)

    @property
    def incumbent(self) -> float:
        """The best measured speedup so far, 1.0 while nothing beats the reference."""
        leader = self.nodes[self._leader].measurement if self._leader else None
        return max(1.0, leader.speedup or 1.0) if leader else 1.0

    @property
    def fastest(self) -> float | None:
        """The best measured speedup so far, below 1.0 too; None before anything has worked."""
        leader = self.nodes[self._leader].measurement if self._leader else None
        return leader.speedup if leader else None

    @property
    def paid(self) -> int:
        """Measurements that were made here, not reused."""
        return self.measured - self.reused

    @property
    def charged(self) -> int:
        """Measurements that count against the budget.

        In a run that is told its candidates only those paid for. In a search reused ones too: its course follows from
        its seed, whatever the catalogue holds.
        """
        return self.paid if self.config.get("proposer") == "told" else self.measured

    @property
    def mean_cost_s(self) -> float | None:
        """Device seconds per measurement paid for; None before the first."""
        return self.device_s / self.paid if self.paid else None

    @property
    def worked_cost_s(self) -> float | None:
        """Device seconds per measurement paid for that worked; None before the first."""
        worked = self.paid - self._paid_failures
        return (self.device_s - self.failed_s) / worked if worked > 0 else None

    @property
    def failed_cost_s(self) -> float | None:
        """Device seconds per measurement paid for that failed; None before the first."""
        return self.failed_s / self._paid_failures if self._paid_failures else None

    @property
    def saved_s(self) -> float:
        """Estimate of the device seconds saved: what measuring the trusted and dropped would have cost."""
        return (self.mean_cost_s or 0.0) * (self.trusted + self.dropped)

    @property
    def best(self) -> Node | None:
        """The winner: the best by re-measurement once winners are verified, the best measured before that.

        Of those measured again, one whose interval lies above 1 comes before a faster one whose interval does not.
        None if nothing works, or nothing that was measured again held up.
        """
        again = [(node, node.verified) for node in map(self.nodes.__getitem__, self.verified) if node.verified]
        judged = [(node, second) for node, second in again if second.status is not Status.INFRASTRUCTURE]
        if judged:
            held = [((second.shown_faster, second.log2_speedup), node) for node, second in judged if second.ok]
            return max(held, key=lambda pair: pair[0])[1] if held else None
        return self.nodes[self._leader] if self._leader else None

    @property
    def shown_faster(self) -> bool:
        """Whether the winner was measured again and the whole interval of that lies above 1."""
        best = self.best
        return best is not None and best.verified is not None and best.verified.shown_faster

    def ranking(self) -> list[Node]:
        """Nodes that were measured and work, fastest first; equals in order of arrival."""
        works = [(node, node.measurement) for node in self.nodes.values() if node.measurement is not None]
        ranked = sorted((pair for pair in works if pair[1].ok), key=lambda pair: -pair[1].log2_speedup)
        return [node for node, _ in ranked]

    @property
    def _started(self) -> RunStarted:
        if self.started is None:
            raise ValueError("the run has not started")
        return self.started


def _change(node: Node, **fields: Any) -> None:
    """Give these fields of a node other values."""
    vars(node).update(fields)


def _cell(node: Node) -> Cell:
    return cell_of(node.candidate, node.build)


def _promise(forecast: Forecast) -> float:
    return forecast.quantile(0.9) if forecast.p_fail < 0.5 else forecast.knots[0]
