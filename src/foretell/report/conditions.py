"""What state the machine was in while measurements were taken, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foretell.kernels.measurement import IN_PROCESS, LIVE, Measurement
from foretell.kernels.search.state import RunState
from foretell.report.numbers import count, percent

CONTENDED = 0.1  # share of the processors used by others, from which on it is worth a word


def measurements_of(state: RunState) -> Iterator[Measurement]:
    """Everything that a run had its device measure itself."""
    for node in state.nodes.values():
        if node.measurement is not None and not node.reused:
            yield node.measurement
        if node.verified is not None:
            yield node.verified


def trust_note(measurement: Measurement) -> str:
    """A warning if the candidate's host code was at work while it was timed, or beside the clock; else empty."""
    if measurement.trust == LIVE:
        return "live: timed from outside while its host code ran, not replayed"
    if measurement.trust == IN_PROCESS:
        return "timed in the process of its host code, not replayed"
    return ""


def contention(measurements: Iterable[Measurement], uses_catalogue: bool = True) -> str:
    """How other processes got in the way of timing, in one clause; empty if they did not.

    Says that what was disturbed is not kept, unless nothing is kept anyway (`uses_catalogue`).
    """
    timed = [m.conditions for m in measurements if "others" in m.conditions]
    contended = [c for c in timed if c["others"] >= CONTENDED]
    if not contended:
        return ""
    worst = max(contended, key=lambda c: float(c["others"]))
    disturbed = sum(bool(c["disturbed"]) for c in contended)
    wide = f"intervals of {disturbed} of {count(len(timed), 'measurement')} are wide"
    kept = ", and these are not kept in the catalogue" if uses_catalogue else ""
    effect = f"{wide}{kept}" if disturbed else "no harm seen"
    return (
        f"load {worst['load']:.0f} on {count(worst['cores'], 'core')}, up to {percent(worst['others'])} of them "
        f"used by others: {effect}"
    )


def processes_note(measurement: Measurement) -> str:
    """A warning if the speedup differed from process to process; else empty."""
    if not measurement.processes_disagree:
        return ""
    return "differs from process to process by more than the spread within one: the interval is wider for it"


def disturbed_note(measurement: Measurement) -> str:
    """A warning if other processes disturbed the timing, so that the catalogue refuses it; else empty."""
    if measurement.conditions.get("disturbed") is not True:
        return ""
    return "disturbed by other processes: not kept in the catalogue; measure it again on a quieter machine"


def pooled_note(measurement: Measurement) -> str:
    """What a speedup pooled over several measurements has to do with its workloads' times; else empty."""
    number = measurement.conditions.get("combined")
    if not isinstance(number, int):
        return ""
    return f"pooled over {count(number, 'measurement')}; the table shows the latest of them alone"


def disagreement(state: RunState) -> str:
    """How many winners did not repeat, in one sentence; empty if all did."""
    again = [(node.measurement, node.verified) for node in state.nodes.values() if node.verified and node.verified.ok]
    apart = sum(bool(first and second.contradicts(first)) for first, second in again)
    torn = sum(second.processes_disagree for _, second in again)
    parts = [
        *([f"{apart} contradict their first measurement (intervals do not overlap)"] if apart else []),
        *([f"{torn} differ between processes by more than the spread within one"] if torn else []),
    ]
    return f"of {count(len(again), 'candidate')} measured again, {' and '.join(parts)}" if parts else ""
