"""Recorded calls on a guard, judged again by the guard of today: by pixels, and with the evidence that was recorded.

    python -m benchmarks.apps.replayed FOLDER [FOLDER ...]

A folder holds one folder per application, and that one pickle per call, in order: `call` names a guard's method,
`values` are its arguments, and a judged proposal has a `label` with `right` and `first` (not a revision), and
`disputed` where the player's label is in doubt. Pickles run code when they are read: replay your own recordings only.
Every call goes to a fresh guard in the mode `enforce` with a bound of 2 %; disputed proposals are counted apart.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from foretell.gui.critic import EmbeddedCritic
from foretell.gui.guard import Guard
from foretell.gui.history import Historian
from foretell.gui.observation import Observation
from foretell.gui.ocr import Ocr
from foretell.gui.sight import Eyes
from foretell.gui.threshold import DEFAULT_BOUND
from foretell.gui.verdict import Mode

MODES = ("pixels", "evidence")
_METHODS = ("reset", "before_action", "after_proposal", "executed", "finished")


def calls(folder: Path) -> Iterator[Mapping[str, Any]]:
    """The recorded calls of one application, in order; what a guard wrote into its own trace is passed over."""
    for path in sorted(folder.glob("*.pkl")):
        call = pickle.loads(path.read_bytes())
        if call["call"] in _METHODS and not any(isinstance(value, Mapping) for value in call["values"]):
            yield call


def replayed(recorded: Iterable[Mapping[str, Any]], guard: Guard, mode: str) -> list[dict[str, Any]]:
    """A row per judged proposal: what it was, how it was labelled, and what the guard says of it today."""
    rows: list[dict[str, Any]] = []
    for call in recorded:
        values = [_seen(value, mode) for value in call["values"]]
        verdict = getattr(guard, call["call"])(*values)
        if call["call"] != "after_proposal":
            continue
        observation, proposal = values
        judgement, label = verdict.judgement, call.get("label") or {}
        rows.append(
            {
                "goal": observation.goal,
                "intent": proposal.intent,
                "kind": proposal.actions[0].kind.value if proposal.actions else "",
                "right": bool(label.get("right")),
                "first": bool(label.get("first", True)),
                "disputed": bool(label.get("disputed")),
                "interrupted": verdict.intervene,
                "reason": verdict.reason.value,
                "p_bad": None if judgement is None else judgement.p_bad,
                "error": None if judgement is None or judgement.error is None else judgement.error.value,
                "feedback": verdict.feedback,
            }
        )
    return rows


def counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Interruptions of right and of wrong proposals that were made for the first time; disputed ones apart."""
    first = [row for row in rows if row["first"]]
    sure = [row for row in first if not row["disputed"]]
    right, wrong = ([row for row in sure if row["right"] is side] for side in (True, False))
    return {
        "right": len(right),
        "interrupted": sum(row["interrupted"] for row in right),
        "wrong": len(wrong),
        "caught": sum(row["interrupted"] for row in wrong),
        "disputed": len(first) - len(sure),
    }


def replay(
    folders: Sequence[Path], new_guard: Callable[[], Guard], modes: Sequence[str] = MODES
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The rows by mode and application."""
    apps = [app for folder in folders for app in sorted(folder.iterdir()) if app.is_dir()]
    return {mode: {app.name: replayed(calls(app), new_guard(), mode) for app in apps} for mode in modes}


def table(found: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]) -> Iterator[str]:
    """The counts by application and over all, as Markdown."""
    yield "| application | mode | right ones interrupted | wrong ones caught | disputed |"
    yield "| --- | --- | --- | --- | --- |"
    for mode, by_app in found.items():
        for app, rows in (*by_app.items(), ("**all**", list(chain.from_iterable(by_app.values())))):
            one = counts(rows)
            right, wrong = f"{one['interrupted']} of {one['right']}", f"{one['caught']} of {one['wrong']}"
            yield f"| {app} | {mode} | {right} | {wrong} | {one['disputed']} |"


def _seen(value: Any, mode: str) -> Any:
    return replace(value, evidence=None) if isinstance(value, Observation) and mode == "pixels" else value


def _enforcing(reader: Ocr) -> Guard:
    critic = EmbeddedCritic(eyes=Eyes(reader), pictures=False)
    return Guard(critic, Historian(reader), critic.threshold(DEFAULT_BOUND), mode=Mode.ENFORCE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--mode", choices=MODES, action="append", help="both without it")
    parser.add_argument("--output", type=Path, help="JSON with a row per judged proposal")
    arguments = parser.parse_args()
    reader = Ocr()
    found = replay(arguments.folders, lambda: _enforcing(reader), arguments.mode or MODES)
    if arguments.output:
        arguments.output.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
