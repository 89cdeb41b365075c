"""A trace judged again, as `foretell gui rescore` shows it: a table whose rows add up to the sentences below it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from foretell.cli.output import line
from foretell.report.numbers import count, percent

if TYPE_CHECKING:
    from foretell.gui.rescore import Again, Rescored

NONE = "–"


def show_rescored(console: Console, rescored: Rescored) -> None:
    """The table of proposals, what both critics objected to, and by which thresholds."""
    console.print(_table(rescored))
    for sentence in _sentences(rescored):
        console.print(line(sentence), soft_wrap=True)


def rows(rescored: Rescored) -> list[dict[str, Any]]:
    """Every proposal for programs; an infinite threshold is null."""
    return [
        {
            "episode": one.episode,
            "step": one.step,
            "revision": one.revision,
            "threshold_before": _finite(one.threshold_before),
            "threshold_now": _finite(one.threshold_now),
            "objected_before": one.objected,
            "objects_now": one.objects,
            "p_bad_before": None if one.before is None else one.before.p_bad,
            "p_bad_now": None if one.now is None else one.now.p_bad,
            "error_now": None if one.now is None or one.now.error is None else one.now.error.value,
            "redacted": one.redacted,
            "fault": one.fault,
        }
        for one in rescored.rounds
    ]


def _table(rescored: Rescored) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    several = any(one.episode for one in rescored.rounds)
    headings = (
        *(("episode",) if several else ()),
        "step",
        "proposal",
        "P(bad)\nbefore",
        "objected\nbefore",
        "P(bad)\nnow",
        "objects\nnow",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    table.add_column("suspected error")
    for one in rescored.rounds:
        cells = (*((str(one.episode + 1),) if several else ()), str(one.step + 1), str(one.revision + 1))
        chances = [NONE if said is None else percent(said.p_bad) for said in (one.before, one.now)]
        table.add_row(*cells, chances[0], _mark(one.objected), chances[1], _mark(one.objects), _error(one))
    return table


def _mark(objection: bool) -> str:
    return "yes" if objection else "no"


def _error(one: Again) -> str:
    """The class of error that an objection names; nothing for a proposal that passes."""
    if one.fault:
        return line(one.fault)
    return one.now.error.value if one.objects and one.now is not None and one.now.error is not None else ""


def _sentences(rescored: Rescored) -> list[str]:
    summary = rescored.summary()
    lines = [
        f"before  {', '.join(rescored.before)} objected to {summary['objections_before']} of "
        f"{count(summary['proposals'], 'proposal')}, {summary['sent_back_before']} of them sent back; "
        f"threshold {_thresholds([one.threshold_before for one in rescored.rounds])}",
        f"now     {rescored.critic} objects to {summary['objections_now']} of "
        f"{count(summary['proposals'], 'proposal')}; "
        f"threshold {_thresholds([one.threshold_now for one in rescored.rounds])}",
    ]
    if summary["judged_by_both"]:
        lines.append(
            f"agree   on {summary['agreed']} of {count(summary['judged_by_both'], 'proposal')} that both judged "
            f"({percent(summary['agreement'])})"
        )
    if summary["faults"]:
        lines.append(f"faults  {count(summary['faults'], 'proposal')} could not be judged now")
    if summary["redacted"]:
        lines.append(
            f"note    the trace has dots for secrets in {count(summary['redacted'], 'proposal')}: "
            "P(bad) may differ from before for that reason alone"
        )
    return lines


def _thresholds(values: list[float]) -> str:
    """P(bad) that an objection needs: one number, or a range where kinds of proposals have their own."""
    known = sorted({value for value in values if math.isfinite(value)})
    if not known:
        return "none: nothing is objected to"
    if len(known) == 1:
        return f"P(bad) > {known[0]:.2f}"
    return f"P(bad) > {known[0]:.2f} to {known[-1]:.2f}, by kind of proposal"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
