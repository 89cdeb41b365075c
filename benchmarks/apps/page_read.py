"""Parts of docs/results/apps.md: what readers say without the mark, histories that a model writes, live right steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def marker(found: Mapping[str, Any] | None) -> Iterator[str]:
    if found is None:
        return
    marked, bare = found["marked"], found["bare"]
    low, high = found["interval"]
    yield from (
        f"## The vision-language critic without the mark ({found['half'].replace('_', ' ')})",
        "",
        f"{found['rows']} proposals that point at something ({found['wrong']} wrong ones) of {found['applications']} "
        "applications, on screens of at most 1280 pixels' width, each shown to two readers that did not know of each "
        "other: to one as the critic shows it, to the other as the bare screen, without the mark and the magnified "
        "part (`python -m benchmarks.apps.marker`). Both are frontier vision-language models, read the point's pixels "
        f"in the text and are blind to the labels; above {found['threshold']:.2f} a proposal counts as interrupted.",
        "",
        "| | with the mark | bare screen |",
        "| --- | --- | --- |",
    )
    for title, key in (("AUROC", "auroc"), ("recall", "recall"), ("ECE", "ece")):
        yield f"| {title} | {marked[key]:.3f} | {bare[key]:.3f} |"
    right = found["rows"] - found["wrong"]
    yield f"| right ones interrupted | {marked['interrupted']} of {right} | {bare['interrupted']} of {right} |"
    for name, one in marked["by_class"].items():
        caught = one["caught"], bare["by_class"][name]["caught"]
        yield f"| {name} caught | " + " | ".join(f"{count} of {one['wrong']}" for count in caught) + " |"
    yield from ("", f"AUROC with the mark - without: {found['auroc_gain']:+.3f} ({low:+.3f} to {high:+.3f}).", "")


def written(found: Mapping[str, Any] | None) -> Iterator[str]:
    if found is None:
        return
    yield from (
        "## Histories that a vision-language model writes",
        "",
        "Drawn steps of the recorded walks, one at a time: a frontier vision-language model keeps the record as "
        "`LanguageHistorian(..., pictures=True)` asks it to, and another language model, which is told what the DOM "
        "says of the step and not who wrote what, judges its sentences and those of the rules "
        "(`python -m benchmarks.apps.history_lm`). Sentences that the DOM cannot tell are left out of the shares. "
        "Intervals: 95 %, bootstrap by application.",
        "",
        "| | model, development | rules, development | model, held out | rules, held out |",
        "| --- | --- | --- | --- | --- |",
    )
    halves = ("development", "held_out")
    parts = [found[half][author] for half in halves for author in ("model", "rules")]
    steps = [found[half]["steps"] for half in halves for _ in range(2)]
    rows = (
        ("steps", map(str, steps)),
        ("sentences added", (str(one["claims"]) for one in parts)),
        ("of them cannot be told", (str(one["cannot_be_told"]) for one in parts)),
        ("sentences that are true", (share(one["claims_true"]) for one in parts)),
        ("steps whose achievement is told", (share(one["achieved_and_claimed"]) for one in parts)),
    )
    for title, cells in rows:
        yield f"| {title} | " + " | ".join(cells) + " |"
    yield ""


def live(found: Mapping[str, Any] | None) -> Iterator[str]:
    if found is None:
        return
    yield from (
        "## Right steps on live pages",
        "",
        "The recorded walks repeated in a browser, every step judged by the guard as it would be before an agent's "
        "action (`python -m benchmarks.apps.live`): with the evidence that the adapter asks the page for, and by "
        "pixels. Intervals: 95 %, bootstrap by application.",
        "",
        "| | applications | interrupted with evidence | by pixels |",
        "| --- | --- | --- | --- |",
    )
    for half, one in found.items():
        cells = " | ".join(share(one[key]) for key in ("with_evidence", "by_pixels"))
        yield f"| {half.replace('_', ' ')} | {one['applications']} | {cells} |"
    yield ""


def share(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "–"
    low, high = found["interval"]
    return f"{found['share']:.3f} of {found['of']} ({low:.3f} to {high:.3f})"
