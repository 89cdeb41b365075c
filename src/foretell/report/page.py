"""The report's page as values: everything the template prints, decided here and tested without HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from foretell.kernels.library import UnknownTask
from foretell.kernels.measurement import Status
from foretell.kernels.search.state import RunState
from foretell.kernels.task import Task
from foretell.kernels.tasks import BadTask, of_run
from foretell.report import charts, story
from foretell.report.audit import AuditRow, audit_rows, audit_story
from foretell.report.calibration import FEWEST, Calibration, Judged, calibrate
from foretell.report.candidates import RoundRows, TopRow, origin_text, round_rows, short, shown, tip, top_rows
from foretell.report.clock import Clock
from foretell.report.diff import Diff, compare
from foretell.report.fates import Failure, Fate, failures, fates
from foretell.report.method import Term, costs, method_text, settings, terms
from foretell.report.numbers import count, times


@dataclass(frozen=True)
class Page:
    """What the template prints. Charts are SVG text, None where there is nothing to draw."""

    version: str
    title: str
    run: str
    ended: str
    task: str
    summary: str
    speedup: str
    no_speedup: str
    lead: str
    notices: tuple[str, ...]
    figures: tuple[story.Figure, ...]
    considered: str
    ruler: str | None
    progress: str | None
    progress_note: str
    no_progress: str
    fates: tuple[Fate, ...]
    failures: tuple[Failure, ...]
    judged_note: str
    reused: int
    scatter: str | None
    coverage: str | None
    coverage_verdict: str
    n_speedups: int
    forecast_facts: tuple[story.Figure, ...]
    no_forecasts: str
    audit_story: str
    audits: tuple[AuditRow, ...]
    workloads: tuple[str, ...]
    top: tuple[TopRow, ...]
    diff: Diff | None
    winner_origin: str
    rounds: tuple[RoundRows, ...]
    method: str
    terms: tuple[Term, ...]
    settings: tuple[Term, ...]
    costs: tuple[Term, ...]


def build_page(state: RunState, run: str = "", clock: Clock | None = None) -> Page:
    """Read a run's state into a page; `run` is where the run is kept, for the reader's next command."""
    task = _task(state)
    tips = {node.id: tip(node) for node in state.nodes.values()}  # each is shown in up to three charts
    steps = _steps(state, tips)
    winner = _winner(state, steps)
    marks = _marks(state, tips)
    calibration = calibrate(_judged(state, tips))
    workloads = _workloads(state, task)
    best = state.best
    name = str(state.config["task"])
    return Page(
        version=state.started.version if state.started else "",
        title=f"{name}: {times(winner.speedup)}" if winner and state.shown_faster else name,
        run=run,
        ended=story.ended(state, clock),
        task=name,
        summary=task.summary if task else "",
        speedup=times(winner.speedup, sign="") if winner and state.shown_faster else "",
        no_speedup=story.no_speedup(state),
        lead=story.lead(state),
        notices=story.notices(state, run),
        figures=story.figures(state, calibration),
        considered=count(state.considered, "candidate"),
        ruler=charts.ruler(marks, winner) if marks or winner else None,
        progress=charts.progress(steps, winner) if any(step.speedup for step in steps) else None,
        progress_note=story.progress_note(state),
        no_progress=story.no_progress(len(steps)),
        fates=fates(state),
        failures=failures(state),
        judged_note=story.judged_note(calibration, state.reused),
        reused=state.reused,
        scatter=charts.forecast_scatter(calibration.pairs) if calibration.pairs else None,
        coverage=_coverage(calibration),
        coverage_verdict=story.coverage_verdict(calibration),
        n_speedups=calibration.n_speedups,
        forecast_facts=story.forecast_facts(calibration),
        no_forecasts=story.no_forecasts(calibration),
        audit_story=audit_story(state),
        audits=audit_rows(state),
        workloads=workloads,
        top=top_rows(state, workloads),
        diff=compare(state.reference.source, best.candidate.source, short(best.id)) if best else None,
        winner_origin=f"Made with {origin_text(best)}." if best else "",
        rounds=round_rows(state),
        method=method_text(state),
        terms=terms(state, workloads),
        settings=settings(state.config),
        costs=costs(state, clock),
    )


def _task(state: RunState) -> Task | None:
    """The task, if this version still knows it: an old run stays readable."""
    try:
        return of_run(state.config, state.device.kind)
    except (UnknownTask, BadTask):
        return None


def _workloads(state: RunState, task: Task | None) -> tuple[str, ...]:
    for node in state.ranking():
        if node.measurement is not None and node.measurement.timings:
            return tuple(timing.workload for timing in node.measurement.timings)
    return tuple(workload.name for workload in task.workloads) if task else ()


def _steps(state: RunState, tips: Mapping[str, str]) -> list[charts.Step]:
    """The measurements of built candidates in journal order."""
    steps: list[charts.Step] = []
    for subject, found in state.lessons:
        node = state.nodes[subject.candidate.id]
        if node.build.ok:
            low, high = (found.low, found.high) if found.ok else (None, None)
            speedup = found.speedup if found.ok else None
            steps.append(charts.Step(len(steps) + 1, node.id, speedup, low, high, node.audit, tips[node.id]))
    return steps


def _winner(state: RunState, steps: list[charts.Step]) -> charts.Winner | None:
    best = state.best
    found = shown(best) if best else None
    if best is None or found is None or not found.speedup:
        return None
    number = next((step.number for step in steps if step.id == best.id), 1)
    return charts.Winner(number, found.speedup, best.verified is not None and best.verified.ok)


def _marks(state: RunState, tips: Mapping[str, str]) -> list[charts.Mark]:
    """The others where they were measured or, unmeasured, forecast to be; failures have no place."""
    marks = []
    best = state.best
    for node in state.nodes.values():
        if not node.build.ok or node is best:
            continue
        if node.measurement is None:
            marks.append(charts.Mark(2.0**node.forecast.median, False, tips[node.id]))
        elif node.measurement.ok and node.measurement.speedup:
            marks.append(charts.Mark(node.measurement.speedup, True, tips[node.id]))
    return [mark for mark in marks if math.isfinite(mark.speedup)]


def _judged(state: RunState, tips: Mapping[str, str]) -> list[Judged]:
    """Forecasts of candidates that were built and then judged by the device, whatever came out."""
    judged = []
    for subject, found in state.lessons:
        node = state.nodes[subject.candidate.id]
        if node.build.ok and found.status is not Status.INFRASTRUCTURE:
            judged.append(Judged(node.forecast, found.speedup if found.ok else None, node.audit, tips[node.id]))
    return judged


def _coverage(calibration: Calibration) -> str | None:
    if calibration.n_speedups < FEWEST:
        return None
    return charts.coverage_curve(calibration.coverages, calibration.n_speedups)
