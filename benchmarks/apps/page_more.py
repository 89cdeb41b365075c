"""Parts of docs/results/apps.md: the vision-language critic, histories and episodes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.apps.split import RESULTS


def more() -> Iterator[str]:
    """The lines of those parts of which there are results."""
    for half, name in (("held-out", "apps_vlm.json"), ("development", "apps_vlm_dev.json")):
        yield from _vision(_read(name), half)
    yield from _history(_read("apps_history.json"))
    yield from _episodes(_read("apps_episodes.json"))


def _read(name: str) -> Any:
    path = RESULTS / name
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def _vision(found: Mapping[str, Any] | None, half: str) -> Iterator[str]:
    if found is None:
        return
    bounds, cost = found["bounds"], found["cost"]
    yield from (f"## The vision-language critic on {half} applications", "")
    yield (
        f"A frontier vision-language model answered {found['rows']} drawn proposals ({found['wrong']} wrong ones) of "
        f"{found['applications']} applications by request files (`python -m benchmarks.apps.vlm`, "
        f"`benchmarks.apps.vlm_figures`), blind to the labels. {found['labels_left_out']} right ones of desktop "
        f"programs, whose target an open menu covers, are left out. In the cascade ({found['first']} first) it is "
        f"asked where the first's P(bad) lies from {bounds['low']:.3f} to {bounds['high']:.3f}; above "
        f"{bounds['threshold']:.3f} a proposal is interrupted. The bounds were learnt on the development applications, "
        f"so that figures on those are of the rows they were learnt from."
    )
    yield from ("", "| | alone | first critic alone | cascade |", "| --- | --- | --- | --- |")
    parts = [found[name] for name in ("alone", "first_alone", "cascade")]

    def row(title: str, cell: Any) -> str:
        return f"| {title} | " + " | ".join(cell(one) for one in parts) + " |"

    yield row(
        "recall",
        lambda one: f"{one['recall']:.3f} ({one['recall_interval'][0]:.3f} to {one['recall_interval'][1]:.3f})",
    )
    yield row("right ones interrupted", lambda one: f"{one['interrupted']} of {one['right']}")
    yield row("recall with at most 2 % false interruptions", lambda one: f"{one['recall_at_2_percent']:.3f}")
    yield row("AUROC", lambda one: f"{one['auroc']:.3f}")
    yield row("ECE", lambda one: f"{one['ece']:.3f}")
    yield f"| share asked | 1 | 0 | {found['asked']:.3f} |"
    data = _read("apps_data.json")["held_out" if half == "held-out" else "development"]
    right = data["right"] / data["proposals"]
    mixed = right * found["asked_of_right"] + (1.0 - right) * found["asked_of_wrong"]
    yield f"| share asked, right and wrong ones as in all proposals | 1 | 0 | {mixed:.3f} |"
    yield from ("", "| error class | wrong | caught alone | caught by the cascade |", "| --- | --- | --- | --- |")
    for name, one in found["alone"]["by_class"].items():
        yield f"| {name} | {one['wrong']} | {one['caught']} | {found['cascade']['by_class'][name]['caught']} |"
    if half == "held-out":
        yield from (
            "",
            f"Right proposals are asked about more often ({found['asked_of_right']:.3f}) than wrong ones "
            f"({found['asked_of_wrong']:.3f}). The answers were scored twice: with bounds that let 45 % of the "
            "development proposals be asked about (0.481 of this sample; recall and interruptions the same), and with "
            "these, which let 40 %.",
        )
    tokens = cost["text_tokens"] + cost["picture_tokens"]
    yield from (
        "",
        f"A request has about {tokens:,} tokens ({cost['text_tokens']:,} of text, {cost['picture_tokens']:,} of "
        f"pictures at 750 pixels per token), the answer about 100. Latency is that of the endpoint and was not "
        f"measured.",
        "",
    )


def _history(found: Mapping[str, Any] | None) -> Iterator[str]:
    if found is None:
        return
    yield from (
        "## Histories",
        "",
        "What the embedded historian claims after each step of the recorded walks of web applications, against "
        "elements and text of the DOM before and after it (`python -m benchmarks.apps.history`). Intervals: 95 %, "
        "bootstrap by application.",
        "",
        "| | " + " | ".join(name.replace("_", " ") for name in found) + " |",
        "| --- |" + " --- |" * len(found),
    )
    titles = {
        "claims_true": "claims that are true",
        "achieved_and_claimed": "achievements that are claimed",
        "held_and_still_true": "states claimed earlier that still hold",
    }
    for key, title in titles.items():
        cells = (half[key] for half in found.values())
        told = (f"{o['share']:.3f} of {o['of']} ({o['interval'][0]:.3f} to {o['interval'][1]:.3f})" for o in cells)
        yield f"| {title} | " + " | ".join(told) + " |"
    wrong = {
        name: made - true
        for name, one in found.get("held_out", {}).get("by_application", {}).items()
        if (made := sum(one["made"].values())) != (true := sum(one["true"].values()))
    }
    if wrong:
        listed = ", ".join(f"{name} {count}" for name, count in wrong.items())
        yield from (
            "",
            f"Untrue by the DOM on held-out applications: {listed}. The cells of x_spreadsheet are drawn on a canvas, "
            "of which the DOM knows nothing. The held-out walks were evaluated twice: after the first time (0.908 of "
            "the claims true) “another page is shown” became “most of the screen changed”, which is all that pixels "
            "say, and is checked as that.",
        )
    yield ""


def _episodes(found: Mapping[str, Any] | None) -> Iterator[str]:
    for half, one in (found or {}).items():
        yield from (f"## Episodes on {half.replace('_', '-')} applications", "")
        yield (
            "A language model plays the goals of the walks (`python -m benchmarks.apps.episodes`); "
            f"{100 * one['rate'][0]:.0f} % of its right clicks are replaced by slips that it does not know of."
        )
        yield from ("", "| | alone | guarded |", "| --- | --- | --- |")
        sides = [one["alone"], one["guarded"]]
        yield "| episodes | " + " | ".join("–" if s is None else str(s["episodes"]) for s in sides) + " |"
        for key in ("solved", "slips_caught", "right_interrupted"):
            cells = ("–" if s is None or s[key] is None else f"{s[key]['share']:.3f} of {s[key]['of']}" for s in sides)
            yield f"| {key.replace('_', ' ')} | " + " | ".join(cells) + " |"
        yield from (
            "",
            f"Of {one['pairs']} tasks played both ways {one['gained']} were solved with the guard alone and "
            f"{one['lost']} without it alone ({one['lost_with_an_interruption']} of them after an interruption).",
            "",
        )
