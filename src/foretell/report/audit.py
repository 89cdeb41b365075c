"""The audit: candidates that the policy would not have measured, measured anyway. How wrong were we about them?"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from foretell.kernels.measurement import Status
from foretell.kernels.search.state import Node, RunState
from foretell.report.calibration import INTERVAL
from foretell.report.candidates import ACTIONS, forecast_text, result_text, short
from foretell.report.numbers import count, percent, times


@dataclass(frozen=True)
class AuditRow:
    """One audited candidate."""

    id: str
    action: str
    forecast: str
    measured: str
    verdict: str


def audited(state: RunState) -> list[Node]:
    """Audited candidates that the device judged."""
    return [
        node
        for node in state.nodes.values()
        if node.audit
        and node.build.ok
        and node.measurement is not None
        and node.measurement.status is not Status.INFRASTRUCTURE
    ]


def audit_rows(state: RunState) -> tuple[AuditRow, ...]:
    return tuple(
        AuditRow(short(node.id), ACTIONS[node.action], forecast_text(node), result_text(node), _verdict(state, node))
        for node in audited(state)
    )


def audit_story(state: RunState) -> str:
    """The audit in a few sentences, with its size, so that nobody reads much into little."""
    nodes = audited(state)
    left = state.trusted + state.dropped
    if not nodes:
        if left:
            return f"No audit fell into this run: none of {count(left, 'unmeasured candidate')} was drawn for it."
        return "There was nothing to audit: no candidate was settled by its forecast alone."
    share = len(nodes) / (len(nodes) + left)
    parts = [
        f"Of {count(len(nodes) + left, 'candidate')} that the forecasts had settled, {len(nodes)} ({percent(share)}) "
        f"{'was' if len(nodes) == 1 else 'were'} measured anyway."
    ]
    held = sum(_held(node) for node in nodes)
    parts.append(f"{held} of {len(nodes)} came out within the 80 % interval.")
    misses = [
        abs(node.measurement.log2_speedup - node.forecast.median)
        for node in nodes
        if node.measurement is not None and node.measurement.ok
    ]
    if misses:
        parts.append(f"Half of them were within a factor of {times(2.0 ** statistics.median(misses), sign='')}.")
    missed = sum(_would_have_won(state, node) for node in nodes)
    if missed:
        parts.append(
            f"{missed} beat everything the policy chose: without the audit the search would have passed it over."
        )
    else:
        parts.append("None of them was faster than the winner: nothing is known to have been missed.")
    return " ".join(parts)


def _held(node: Node) -> bool:
    """Whether the outcome was what the forecast allowed for; a failure counts as allowed where it was likely."""
    if node.measurement is None or not node.measurement.ok:
        return node.forecast.p_fail >= 0.5
    low, high = node.forecast.interval(INTERVAL)
    return low <= node.measurement.log2_speedup <= high


def _would_have_won(state: RunState, node: Node) -> bool:
    best = state.best
    if best is None or best.measurement is None or node.measurement is None or not node.measurement.ok:
        return False
    return node.id == best.id or node.measurement.log2_speedup > best.measurement.log2_speedup


def _verdict(state: RunState, node: Node) -> str:
    if _would_have_won(state, node):
        return "missed: faster than anything the policy chose"
    if node.measurement is None or not node.measurement.ok:
        said = f"{percent(node.forecast.p_fail)} chance of failure was forecast"
        return f"as expected: {said}" if _held(node) else f"a surprise: only {said}"
    off = node.measurement.log2_speedup - node.forecast.median
    if _held(node):
        return "as forecast"
    return f"{times(2.0 ** abs(off), sign='')} times {'faster' if off > 0 else 'slower'} than forecast"
