"""docs/results/apps.md, from results/apps_data.json, apps_evaluation.json and apps_evaluations.jsonl.

python -m benchmarks.apps.page
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.apps.install import by_name
from benchmarks.apps.page_more import more
from benchmarks.apps.split import RESULTS, draw

PAGE = Path(__file__).parents[2] / "docs" / "results" / "apps.md"
_INTRODUCTION = """# The GUI guard on real applications

Made by `python -m benchmarks.apps.page`. Applications that other people wrote, installed from PyPI, npm and Debian, run
on loopback with demo data and walked through by seeded steps at three sizes, light and dark. What is right comes from
the DOM, or from the accessibility tree of desktop programs: role, name, box, disabled, covered, focus. Critics see
pixels, goal, history and the proposal.

    python -m benchmarks.apps.install FOLDER             # Debian packages need root
    python -m benchmarks.apps.collect FOLDER DATA
    python -m benchmarks.apps.check DATA --installed FOLDER
    python -m benchmarks.apps.evaluate DATA/dev

The two halves were [drawn by application](../../benchmarks/results/apps_split.json) before any was started. Held-out
applications are validated by script alone; their screens and proposals are not looked at, and every evaluation on them
is [logged](../../benchmarks/results/apps_evaluations.jsonl).
"""
_LIMITS = """## Limits of the data

- Goals are sequences of one to four steps, each of which names its target. Longer plans, and goals that say what but
  not how, are not among them.
- Steps that delete, download, print, leave the application or open another tab are not taken; drop-down lists, sliders
  and drags are not acted on. Right key presses are few.
- Busy screens are covers laid over the page (spinner, dimmed page, skeleton, progress bar, text), not slow servers.
  There are none of desktop programs.
- Wrong proposals are not carried out. What could be right after all (same name, same address, overlap, asked for later)
  is left out by rule.
- Desktop programs run without a window manager. The scripts count what lies under an open menu or beside a modal dialog
  as covered; the five recorded programs were walked through before they did, so some of their "right" proposals are
  wrong (two of about eight of gnumeric that were looked at).
- The critic was evaluated before scrolls to what lies below were labelled and before the last applications were
  recorded: its rows are a part of those counted above, without the class `vector`.
- Some of the applications are JavaScript components (calendars, tables, editors) in a small page of this repository.
  Themes are what the application makes of `prefers-color-scheme` or of GTK's dark theme: many have one theme only.
"""


def page() -> Iterator[str]:
    """The lines of the page."""
    yield _INTRODUCTION
    yield from _data(_read("apps_data.json"))
    yield from _evaluation(_read("apps_evaluation.json"))
    yield from more()
    yield _LIMITS


def _data(found: Mapping[str, Any] | None) -> Iterator[str]:
    if found is None:
        return
    yield from ("## Data", "", "| | development | held out |", "| --- | --- | --- |")
    halves = [found.get(name) for name in ("development", "held_out")]

    def row(title: str, key: str) -> str:
        return f"| {title} | " + " | ".join("–" if one is None else str(one[key]) for one in halves) + " |"

    yield row("applications", "applications")
    yield row("of them desktop programs", "desktop_programs")
    yield row("proposals", "proposals")
    yield row("right ones", "right")
    yield row("screens", "pictures")
    for error in halves[0]["classes"] if halves[0] else ():
        cells = ("–" if one is None else str(one["classes"][error]) for one in halves)
        yield f"| {error} | " + " | ".join(cells) + " |"
    titles = {one.name: f"{one.name} ({one.source})" for one in by_name([])}
    for name in ("development", "held_out"):
        half, words = found.get(name), name.replace("_", " ")
        missing = set(half["missing"]) if half else set(draw()[name])
        yield from (
            "",
            f"{words.capitalize()}: " + ", ".join(titles[one] for one in draw()[name] if one not in missing) + ".",
        )
        if missing:
            yield f"Drawn but not recorded: {', '.join(sorted(missing))}."
    yield ""


def _evaluation(found: Mapping[str, Any] | None) -> Iterator[str]:
    if found is None:
        return
    low, high = found["auroc_interval"]
    below, above = found["recall_at_2_percent_interval"]
    half = found["half"].replace("_", " ")
    yield from (f"## The critic “{found['name']}” on {half} applications", "")
    yield (
        f"{found['rows']} proposals of {found['applications']} applications "
        f"({found['pictures_per_application']} screens of each), pixels only. "
        "Intervals: 95 %, bootstrap by application."
    )
    yield from ("", "| figure | value |", "| --- | --- |")
    yield f"| AUROC | {found['auroc']:.3f} ({low:.3f} to {high:.3f}) |"
    best = f"{found['recall_at_2_percent']:.3f} ({below:.3f} to {above:.3f})"
    yield f"| recall with at most 2 % false interruptions | {best} |"
    yield f"| recall at the model's own threshold | {found['recall']:.3f} |"
    yield f"| false interruptions there | {found['false_interruptions']:.3f} |"
    yield f"| ECE | {found['ece']:.3f} |"
    yield f"| error class named right, of those caught | {found['named_right_of_caught']:.3f} |"
    yield from (
        "",
        "| application | rows | AUROC | recall | right ones interrupted | lower 95 % bound |",
        "| --- |" + " --- |" * 5,
    )
    for name, one in found["by_application"].items():
        yield (
            f"| {name} | {one['rows']} | {_number(one.get('auroc'))} | {_number(one.get('recall'))} | "
            f"{one['interrupted']} of {one['right']} | {one['lower_bound']:.3f} |"
        )
    yield from (
        "",
        "| error class | rows | AUROC against right ones | recall | named right |",
        "| --- |" + " --- |" * 4,
    )
    for name, one in found["by_class"].items():
        yield (
            f"| {name} | {one['rows']} | {_number(one.get('auroc'))} | {_number(one.get('recall'))} | "
            f"{_number(one.get('named_right'))} |"
        )
    for title, key in (("size", "by_size"), ("theme", "by_theme"), ("action", "by_kind")):
        yield from ("", f"| {title} | rows | AUROC | recall | false interruptions | ECE |", "| --- |" + " --- |" * 5)
        for name, one in found[key].items():
            cells = (_number(one.get(cell)) for cell in ("auroc", "recall", "false_interruptions", "ece"))
            yield f"| {name} | {one['rows']} | " + " | ".join(cells) + " |"
    yield from ("", "A critique on a screen not seen before, on the machine as it was (others used its two cores):", "")
    yield from ("| size | screens | median | p95 |", "| --- | --- | --- | --- |")
    for name, one in found["latency"].items():
        yield f"| {name} | {one['pictures']} | {one['median_ms']} ms | {one['p95_ms']} ms |"
    yield ""


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _read(name: str) -> dict[str, Any] | None:
    path = RESULTS / name
    found: dict[str, Any] | None = json.loads(path.read_text("utf-8")) if path.is_file() else None
    return found


def main() -> None:
    PAGE.write_text("\n".join(page()).rstrip() + "\n", encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
