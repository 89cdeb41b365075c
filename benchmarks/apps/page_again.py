"""The part of docs/results/apps.md on applications recorded anew, judged by everything that today's guard weighs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.apps.split import RESULTS

FILES = {"pixels": "apps_again.json", "with evidence": "apps_again_evidence.json"}
DEVELOPMENT = {"pixels": "apps_again_dev.json", "with evidence": "apps_again_dev_evidence.json"}
_ROWS = (
    ("AUROC", "auroc", "0.88; 0.93"),
    ("recall with at most 2 % false interruptions", "recall_at_2_percent", "0.45; 0.60"),
    ("recall at the shipped threshold", "recall", ""),
    ("false interruptions there", "false_interruptions", "0.02"),
    ("wrong ones interrupted, or executed and the agent told of a doubt", "wrong_doubted", ""),
    ("right ones so", "right_doubted", ""),
    ("ECE", "ece", "0.05"),
    ("error class named right, of those caught", "named_right_of_caught", "0.55"),
)


def section() -> Iterator[str]:
    """The lines of the section; none if there was no such evaluation."""
    parts = {"held out": _read(FILES), "development": _read(DEVELOPMENT)}
    parts = {half: found for half, found in parts.items() if found}
    if "held out" not in parts:
        return
    counts = ", ".join(f"{next(iter(found.values()))['rows']:,} proposals {half}" for half, found in parts.items())
    yield from (
        "## Recorded anew, judged by the whole guard of today",
        "",
        "The figures after this section are of the models alone, on the recordings of their time. Since then what is "
        "weighed against a model has changed: contradictions, names against clear labels, actions that no recording "
        "shows, ends of batches. So the applications were installed and walked through again, and every proposal was "
        "judged by the critic as a guard asks it (`python -m benchmarks.apps.evaluate DATA/heldout --held-out --guard "
        f"ANSWERS.jsonl`): {counts}. The models are the same. On larger screens a score interrupts only with a reason "
        "that can be named: the recall and the false interruptions at the shipped threshold count what is interrupted, "
        "the other figures are of the score. What scripts get wrong without contradicting a word (another element "
        "under words that name it, a needless step) is advice since.",
        "",
        "Held-out rows were judged so four times, each [logged](../../benchmarks/results/apps_evaluations.jsonl) (the "
        "last answers were counted twice, the second time with what is advised), and "
        "between them three things were found that were not the guard's. Pictures were taken in a way that gave pages "
        "another screen, so that they showed another layout than the one that was acted on (17 of 165 right actions on "
        "adminer were interrupted then); this was a mistake of the product too, and is mended. A tenth of the right "
        "proposals asked for what the walk had done already, which careful readers called wrong; the suite asks for "
        "nothing of that kind any more. And two applications had fewer than 100 right proposals. The rules of the "
        "guard changed between the looks by what newcomers met elsewhere, not by these rows.",
        "",
    )
    titles = [f"{name}, {half}" for half, found in parts.items() for name in found]
    columns = [one for found in parts.values() for one in found.values()]
    yield "| figure | " + " | ".join(titles) + " | target (pixels; evidence) |"
    yield "| --- |" + " --- |" * (len(titles) + 1)
    for title, key, target in _ROWS:
        yield f"| {title} | " + " | ".join(f"{one[key]:.3f}" for one in columns) + f" | {target} |"
    above = (_above(one) for one in columns)
    yield "| applications whose lower 95 % bound is above 2 % | " + " | ".join(above) + " | none |"
    yield from (
        "",
        "| held out | right ones interrupted by pixels | with evidence |",
        "| --- | --- | --- |",
    )
    held_out = list(parts["held out"].values())
    for name in held_out[0]["by_application"]:
        cells = (one["by_application"][name] for one in held_out)
        yield f"| {name} | " + " | ".join(f"{one['interrupted']} of {one['right']}" for one in cells) + " |"
    yield ""


def _above(found: Mapping[str, Any]) -> str:
    names = [name for name, one in found["by_application"].items() if one.get("lower_bound", 0.0) > found["bound"]]
    return f"{len(names)} ({', '.join(names)})" if names else "none"


def _read(files: Mapping[str, str]) -> dict[str, Any]:
    paths = {name: RESULTS / file for name, file in files.items()}
    return {name: json.loads(path.read_text("utf-8")) for name, path in paths.items() if path.is_file()}
