"""The tables that `foretell eval` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from foretell.cli.output import marked, people
from foretell.kernels.evaluate.figures import FIGURES, MAIN, POOLED
from foretell.kernels.evaluate.result import Part, Result
from foretell.report.evaluation import best, shown
from foretell.report.numbers import count, percent, seconds

# Figures by GPU and data set that fit beside each other; the JSON document has all of them.
_HEADINGS = {
    "pairs_10": "pairs", "first_pick": "first pick", "accuracy_pools": "bins", "covered_80_pools": "80 %",
    "width_80_pools": "width", "failure_auroc": "AUROC",
}  # fmt: skip
LABEL_WIDTH, INTERVAL_WIDTH = 40, 25  # columns; where they do not fit, the terminal shows no intervals


def show(results: Sequence[Result], foreign: bool) -> None:
    """Figures of each split, of a table of others also by GPU and data set."""
    console = people()
    for split in dict.fromkeys(r.split for r in results):
        ours = [r for r in results if r.split == split]
        one = ours[0]
        judged = f"{count(one.candidates, 'candidate')} of {count(one.operations, 'operation')}"
        head = f"{split}: {judged}, {count(one.failures, 'failure')}"
        table = Table(title=head, title_justify="left", title_style="bold", caption_justify="left")
        if one.operations == 1:
            table.caption = "A single operation does not show how far figures move on others: no intervals."
        table.add_column("")
        roomy = console.width >= LABEL_WIDTH + INTERVAL_WIDTH * len(ours)
        for r in ours:
            table.add_column(r.forecaster, justify="right")
        for name in POOLED if foreign else MAIN:
            figure = FIGURES[name]
            ahead = best(figure, [r.figures[name].value for r in ours])
            cells = []
            for i, r in enumerate(ours):
                value, interval = shown(r.figures[name])
                strong = marked("[bold green]{}[/]", value) if i in ahead else value
                cells.append(marked("{} [dim]{}[/]", strong, interval) if interval and roomy else strong)
            table.add_row(marked("{} [dim]{}[/]", figure.label, figure.arrow), *cells)
        table.add_row("time per forecast", *(seconds(r.seconds_each) for r in ours))
        if any(r.troubles for r in ours):
            table.add_row("forecasts in trouble", *(percent(r.troubles_share, 1) for r in ours))
        console.print(table)
        for r in ours if foreign else ():
            for title, parts in (("GPU", r.by_device), ("data set", r.by_origin)):
                _show_parts(console, f"{r.forecaster} on {split}, by {title}", parts)


def _show_parts(console: Console, title: str, parts: Mapping[str, Part]) -> None:
    """A line of figures for each GPU or data set."""
    if not parts:
        return
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("", no_wrap=True)
    for heading in ("rows", "cells", *_HEADINGS.values()):
        table.add_column(heading, justify="right")
    for key, part in parts.items():
        values = (shown(part.figures[name])[0] for name in _HEADINGS)
        name = key.removeprefix("NVIDIA ").removeprefix("GeForce ") or "–"
        table.add_row(name, str(part.candidates), str(part.pools), *values)
    console.print(table)
