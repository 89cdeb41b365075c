"""What someone who had never seen this project found with the guard around applications of their own choice.

    python -m benchmarks.apps.played LOG.jsonl ... --round NAME --about TEXT

The player gets the docs and no tests, picks applications that are in neither half, plays right and wrong actions with
truthful words, and writes a line per judged proposal: app, mode (`pixels` or `evidence`), action, right, first (not a
revision), interrupted, p_bad, error, seconds, and disputed for one whose label the player doubted afterwards, which is
left out. A round goes into benchmarks/results/apps_played.json, with the critic
that judged.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.apps.split import RESULTS as FOLDER

RESULTS = FOLDER / "apps_played.json"
MODES = ("pixels", "evidence")
_KEPT = ("app", "mode", "right", "first", "interrupted", "p_bad", "error", "seconds")


def rows(lines: Sequence[str]) -> list[dict[str, Any]]:
    """The judged proposals of a log whose labels are not disputed, without what was on the screens."""
    found = []
    for row in map(json.loads, lines):
        if row.get("disputed") or row.get("dispute"):
            continue
        found.append({name: row.get(name) for name in _KEPT} | {"kind": row["action"]["kind"]})
    return found


def shares(part: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Interruptions of right and of wrong proposals that were made for the first time, and seconds."""
    first = [row for row in part if row["first"]]
    right, wrong = ([row for row in first if bool(row["right"]) is side] for side in (True, False))
    seconds = [row["seconds"] for row in part if row["seconds"] is not None]
    return {
        "right": len(right),
        "interrupted": sum(bool(row["interrupted"]) for row in right),
        "wrong": len(wrong),
        "caught": sum(bool(row["interrupted"]) for row in wrong),
        "median_s": float(np.median(seconds)) if seconds else None,
        "p95_s": float(np.quantile(seconds, 0.95)) if seconds else None,
    }


def section(found: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    """The part of docs/results/apps.md."""
    if not found:
        return
    yield from (
        "## Played by newcomers on applications of their own choice",
        "",
        "A language model that had seen neither this project nor its tests read the docs, picked applications that are "
        "in neither half, and played right and wrong actions with truthful words, by pixels and with evidence, in the "
        "mode `enforce` with a bound of 2 % (`python -m benchmarks.apps.played`). Goals say what is wanted, as people "
        "do, and not every step. Proposals made for the first time; revisions are not counted.",
        "",
        "| round | application | mode | right ones interrupted | wrong ones caught | median, p95 seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    )
    for one in found:
        for mode in MODES:
            part = [row for row in one["rows"] if row["mode"] == mode]
            by_app = {
                app: shares([row for row in part if row["app"] == app]) for app in sorted({r["app"] for r in part})
            }
            if not one["rows"]:  # of a round whose rows were lost its counts are left
                by_app = one["by_application"].get(mode, {})
            for app, counts in by_app.items():
                yield _line(one["name"], app, mode, counts)
            if by_app:
                keys = ("right", "interrupted", "wrong", "caught")
                total = {key: sum(counts[key] for counts in by_app.values()) for key in keys}
                yield _line(one["name"], "**all**", mode, shares(part) if part else total)
    yield ""
    for one in found:
        yield from (f"Round {one['name']}: {one['about']}", "")


def _line(name: str, app: str, mode: str, one: Mapping[str, Any]) -> str:
    times = "–" if one.get("median_s") is None else f"{one['median_s']:.2f}, {one['p95_s']:.2f}"
    right, wrong = f"{one['interrupted']} of {one['right']}", f"{one['caught']} of {one['wrong']}"
    return f"| {name} | {app} | {mode} | {right} | {wrong} | {times} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--round", required=True)
    parser.add_argument("--about", required=True, help="what was found, and what was done about it since")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    before = json.loads(arguments.output.read_text()) if arguments.output.exists() else []
    played = rows([line for log in arguments.logs for line in log.read_text(encoding="utf-8").splitlines()])
    by_app = {
        mode: {
            app: shares([row for row in played if row["app"] == app and row["mode"] == mode])
            for app in sorted({row["app"] for row in played})
        }
        for mode in MODES
    }
    new = {"name": arguments.round, "about": arguments.about, "by_application": by_app, "rows": played}
    kept = [one for one in before if one["name"] != arguments.round]
    arguments.output.write_text(json.dumps([*kept, new], indent=1) + "\n")


if __name__ == "__main__":
    main()
