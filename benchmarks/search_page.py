"""docs/results/search.md and its curves, from the JSON of corpus_replay, tuning_spaces and live_search.

python -m benchmarks.search_page
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import live_search, lm_loop, utilisation
from foretell.report.svg import Scale, drawing, element, line, path, words

RESULTS = Path("benchmarks/results")
PAGE = Path("docs/results/search.md")
CURVES = Path("docs/images/search_curves.svg")
MODES = {
    "stream": "Candidates come 16 at a time",
    "whole": "All candidates are there from the start",
    "unlimited": "As many measurements as there are candidates",
}
CHARTED = ("stream", "whole")
DRAWN = ("random", "top, frozen", "selective, learning", "value, learning")
COLOURS = ("#777777", "#e08214", "#5aae61", "#b2182b")
TOLD = (1, 5, 12, 30)  # measurements

_INTRODUCTION = """# Searching with few measurements

Made by `python -m benchmarks.search_page` from the JSON in `benchmarks/results/` that the scripts named below write.

## Recorded measurements

`python -m benchmarks.corpus_replay`: {operations} operations of the [corpus](corpus.md) that no training saw (on the
H200 and on a CPU), {seeds} seeds each, through the driver of a search. {considered} candidates are considered for
each that may be measured. *Until within 5 %* counts measurements until one is
at least {near} times as fast as the pool's best: the median over operations of the median over seeds, with a 95 %
interval over operations; *best so far* is a share of the pool's best, the mean over operations and seeds. *Frozen*:
the shipped model's forecasts as they are; *learning*: corrected by the run's own measurements (`online`).

![Best so far against measurements](../images/search_curves.svg)
"""


def replayed(found: Mapping[str, Any]) -> Iterator[str]:
    yield _INTRODUCTION.format(**found)
    at = [found["places"].index(k) for k in TOLD]
    for mode, title in MODES.items():
        after = " | ".join(f"after {k}" for k in TOLD)
        yield from (f"### {title}", "", f"| policy | measurements until within 5 % | reached | {after} |")
        yield "| --- |" + " --- |" * (2 + len(TOLD))
        for row in (row for row in found["rows"] if row["mode"] == mode):
            span = f"{_count(row['until'])} [{_count(row['until_low'])}, {_count(row['until_high'])}]"
            cells = " | ".join(f"{row['after'][i]:.3f}" for i in at)
            yield f"| {row['contender']} | {span} | {row['reached']:.0%} | {cells} |"
        yield ""
    yield from _asked(found)


def _asked(found: Mapping[str, Any]) -> Iterator[str]:
    """What was asked of `value`, and what came of it."""
    rows = {(row["mode"], row["contender"]): row["until"] for row in found["rows"]}
    value, top = rows["stream", "value, learning"], rows["stream", "top, frozen"]
    chance = rows["unlimited", "random order"]
    yield (
        "Asked: `value` needs at most 1/5 of what `random` needs (in random order, as many as it takes) and at most "
        "1/2 of what `top` with frozen forecasts needs. "
        f"As candidates come: {value / chance:.2f} and {value / top:.2f}."
    )
    at_once, best = rows["whole", "top, frozen"], rows["whole", "value, learning"]
    yield (
        f"With all candidates there from the start the forecasts alone name one within 5 % after {at_once:g} "
        f"measurement{'' if at_once == 1 else 's'} in the median, which nothing can halve (`value`: {best:g})."
    )


def _count(value: float | None) -> str:
    return "never" if value is None else f"{value:g}"


def curves(found: Mapping[str, Any]) -> str:
    """Best so far against measurements, as candidates come and all at once."""
    width, height, top, bottom = 900.0, 380.0, 70.0, 320.0
    places: Sequence[int] = found["places"]
    parts = [element("style", _STYLE), element("rect", width=width, height=height, fill="#fff")]
    for number, mode in enumerate(CHARTED):
        left = 60.0 + number * 430.0
        x = Scale(0.0, math.log2(places[-1]), left, left + 370.0)
        y = Scale(0.3, 1.0, bottom, top)
        parts.append(words(MODES[mode], left, top - 14, "head"))
        for share in (0.4, 0.6, 0.8, 0.95, 1.0):
            parts.append(line(left, y(share), left + 370.0, y(share), "one" if share == 0.95 else "grid"))
            parts.append(words(f"{share:.0%}", left - 6, y(share) + 4, "tick", "end"))
        for place in places:
            parts.append(words(str(place), x(math.log2(place)), bottom + 16, "tick", "middle"))
        for index, name in enumerate(DRAWN):
            row = next((r for r in found["rows"] if (r["mode"], r["contender"]) == (mode, name)), None)
            if row is None:
                continue
            points = [(x(math.log2(k)), y(share)) for k, share in zip(places, row["after"], strict=True)]
            parts.append(path(points, f"curve c{index}"))
        parts.append(words("measurements", left + 185.0, bottom + 36, "axis", "middle"))
    for index, name in enumerate(DRAWN):
        at = 60.0 + 200.0 * index
        parts += [line(at, 24.0, at + 26.0, 24.0, f"curve c{index}"), words(name, at + 32.0, 28.0, "tick")]
    under = "Mean over held-out operations and seeds of the best speedup so far, as a share of the best of the pool."
    text = drawing("search", "Best so far against measurements", under, width, height, *parts)
    size = f'xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}"'
    return text.replace("<svg ", f"<svg {size} ", 1) + "\n"


_STYLE = """
text { font: 12px "DejaVu Sans", Verdana, Arial, sans-serif; fill: #333; }
text.head { font-weight: bold; fill: #111; }
text.axis { fill: #111; }
line.grid { stroke: #ddd; }
line.one { stroke: #555; stroke-dasharray: 4 3; }
.curve { fill: none; stroke-width: 2.5; }
""" + "\n".join(f".c{i} {{ stroke: {colour}; }}" for i, colour in enumerate(COLOURS))


def _replay_speed(found: Mapping[str, Any]) -> Iterator[str]:
    """How fast the driver is when nothing has to be measured."""
    yield from ("", "## How fast a replay is", "")
    script = "`python -m benchmarks.replay_speed`"
    yield f"{script}, one core, a recorded tuning space (asked: 2,000 measurements per second):"
    yield from (
        "",
        "| policy | measured | considered | measured per second | considered per second |",
        "| --- |" + " --- |" * 4,
    )
    for row in found["rows"]:
        considered = row["considered"] * row["measured_per_s"] / row["measured"]
        cells = (row["measured"], row["considered"], row["measured_per_s"], round(considered))
        yield f"| {row['policy']} | " + " | ".join(f"{cell:,}" for cell in cells) + " |"
    yield ""
    yield "`selective` and `value` look at many candidates for each that they measure: their time goes into looking."


def main() -> None:
    found = json.loads((RESULTS / "corpus_replay.json").read_text())
    lines = list(replayed(found))
    CURVES.write_text(curves(found))
    lines += [
        "",
        "## Tuning spaces",
        "",
        "Given tables of other people's kernels on other GPUs: [their page](tuning_spaces.md).",
    ]
    for kind in live_search.TASKS:
        path = RESULTS / f"live_search_{kind}.json"
        if path.exists():
            lines += live_search.section(kind, json.loads(path.read_text()))
        else:
            lines += ["", f"## Live on a {kind.upper()}", "", _MISSING]
    lines += _replay_speed(json.loads((RESULTS / "replay_speed.json").read_text()))
    lines += utilisation.section(json.loads((RESULTS / "utilisation.json").read_text()))
    lines += lm_loop.section(json.loads((RESULTS / "lm_loop.json").read_text())["rows"])
    PAGE.write_text("\n".join(lines) + "\n")


_MISSING = "Not measured yet: `python -m benchmarks.live_search` is ready."


if __name__ == "__main__":
    main()
