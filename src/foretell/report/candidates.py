"""One candidate in words: its name, where it came from, what was forecast and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.policy import Action
from foretell.kernels.search.state import Node, RunState
from foretell.report.calibration import INTERVAL
from foretell.report.conditions import trust_note
from foretell.report.numbers import count, percent, times

TOP_ROWS = 10
ACTIONS = {Action.MEASURE: "measured", Action.TRUST: "trusted", Action.DROP: "dropped"}
KINDS = {
    Status.OK: "ok",
    Status.COMPILE_ERROR: "did not compile",
    Status.LAUNCH_ERROR: "did not start",
    Status.WRONG: "wrong result",
    Status.TIMEOUT: "took too long",
    Status.CRASH: "crashed",
    Status.CHEAT: "cheated",
    Status.INFRASTRUCTURE: "machine failed",
}


@dataclass(frozen=True)
class TopRow:
    """A row in the table of the fastest; `workloads` stand in the order of the table's heading."""

    id: str
    speedup: str
    interval: str
    workloads: tuple[str, ...]
    origin: str
    note: str
    best: bool


@dataclass(frozen=True)
class DecisionRow:
    """A row in a round's table."""

    id: str
    action: str
    forecast: str
    p_fail: str
    result: str
    reason: str
    best: bool


@dataclass(frozen=True)
class RoundRows:
    """One round, numbered from one, with a line that sums it up."""

    number: int
    summary: str
    rows: tuple[DecisionRow, ...]


def short(candidate_id: str) -> str:
    """Enough of an id to find it again."""
    return candidate_id[:8]


def origin_text(node: Node) -> str:
    """Who wrote it, and with which knobs."""
    origin = node.candidate.origin
    knobs = origin.detail.get("knobs")
    if knobs:
        return ", ".join(f"{name}={value}" for name, value in knobs.items())
    detail = ", ".join(str(value) for value in origin.detail.values())
    return f"{origin.kind}: {detail}" if detail else origin.kind


def forecast_text(node: Node, sign: str = "×") -> str:
    """Median and 80 % interval as speedups."""
    low, high = node.forecast.interval(INTERVAL)
    return f"{times(2.0**node.forecast.median, sign=sign)} ({times(2.0**low, sign='')} to {times(2.0**high, sign='')})"


def result_text(node: Node) -> str:
    """What was measured, a failure's kind, or a dash where nothing was paid."""
    if node.measurement is None:
        return "–"
    return times(node.measurement.speedup) if node.measurement.ok else KINDS[node.measurement.status]


def tip(node: Node) -> str:
    """What a mark on a chart says when it is pointed at."""
    lines = [f"{short(node.id)}, round {node.round + 1}", f"forecast {forecast_text(node)}"]
    if node.measurement is not None:
        lines.append(f"measured {result_text(node)}{_interval(node.measurement)}{', an audit' if node.audit else ''}")
    else:
        lines.append(f"{ACTIONS[node.action]}, not measured")
    return "\n".join([*lines, origin_text(node)])


def shown(node: Node) -> Measurement | None:
    """The measurement that counts for a node: the verification where there is a valid one, else the first."""
    again = node.verified
    return again if again is not None and again.status is not Status.INFRASTRUCTURE else node.measurement


def top_rows(state: RunState, workloads: Sequence[str]) -> tuple[TopRow, ...]:
    """The fastest that work: the winner, then those measured again, then the rest."""
    best = state.best
    works = [(node, found) for node in state.ranking() if (found := shown(node)) is not None and found.ok]
    works.sort(key=lambda pair: (pair[0] is not best, pair[0].verified is None, -pair[1].log2_speedup))
    return tuple(_top_row(node, found, workloads, best) for node, found in works[:TOP_ROWS])


def round_rows(state: RunState) -> tuple[RoundRows, ...]:
    """Every round with every decision, in order."""
    best = state.best
    by_round: dict[int, list[Node]] = {number: [] for number in range(state.rounds)}
    for node in state.nodes.values():
        by_round[node.round].append(node)
    rounds = []
    for number, nodes in by_round.items():
        rows = tuple(_decision_row(node, node is best) for node in nodes)
        rounds.append(RoundRows(number + 1, _round_summary(nodes), rows))
    return tuple(rounds)


def _top_row(node: Node, found: Measurement, workloads: Sequence[str], best: Node | None) -> TopRow:
    each = {timing.workload: times(timing.speedup) for timing in found.timings}
    notes = []
    if node.verified is not None and node.verified.ok:
        notes.append(f"verified, {times(node.measurement.speedup if node.measurement else None)} at first")
    if node.audit:
        notes.append("audit")
    if found.stopped_early:
        notes.append("stopped early")
    if note := trust_note(found):
        notes.append(note)
    if node.reused:
        notes.append("from an earlier run")
    interval = f"{times(found.low, sign='')} to {times(found.high, sign='')}" if found.low and found.high else ""
    return TopRow(
        short(node.id),
        times(found.speedup),
        interval,
        tuple(each.get(name, "–") for name in workloads),
        _beside(node, best),
        "; ".join(notes),
        node is best,
    )


def _beside(node: Node, best: Node | None) -> str:
    """Where it came from; next to a winner of the same template only the knobs that differ are worth reading."""
    knobs, others = (n.candidate.origin.detail.get("knobs") if n else None for n in (node, best))
    if node is best or not knobs or not others or knobs.keys() != others.keys():
        return origin_text(node)
    differing = ", ".join(f"{name}={value}" for name, value in knobs.items() if value != others[name])
    return f"like the winner, but {differing}"


def _decision_row(node: Node, best: bool) -> DecisionRow:
    action = "did not build" if not node.build.ok else ACTIONS[node.action]
    if node.audit:
        action += ", audited"
    elif node.to_measure and node.measurement is None:
        action = "waiting"
    built = node.build.ok
    return DecisionRow(
        short(node.id),
        action,
        forecast_text(node) if built else "–",
        percent(node.forecast.p_fail) if built else "–",
        result_text(node),
        node.reason,
        best,
    )


def _round_summary(nodes: Sequence[Node]) -> str:
    if not nodes:
        return "no new candidates; what it measured is of earlier rounds, and stands there"
    measured = [node.measurement for node in nodes if node.measurement is not None and node.build.ok]
    parts = [f"{count(len(nodes), 'candidate')}", f"{len(measured)} measured"]
    works = [found.speedup for found in measured if found.ok and found.speedup]
    if works:
        parts.append(f"best {times(max(works))}")
    failed = sum(found.status.is_failure for found in measured)
    if failed:
        parts.append(f"{failed} failed")
    return ", ".join(parts)


def _interval(found: Measurement) -> str:
    return f" ({times(found.low, sign='')} to {times(found.high, sign='')})" if found.low and found.high else ""
