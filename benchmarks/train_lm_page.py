"""docs/results/training.md, from the figures that benchmarks.train_lm left (benchmarks/results/train_lm.jsonl).

python -m benchmarks.train_lm_page
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path("benchmarks/results/train_lm.jsonl")
STACKED = Path("benchmarks/results/train_lm_stack.json")
PAGE = Path("docs/results/training.md")
SPLITS = {"held_operation": "operations", "held_family": "families", "held_written": "written kernels"}
TOLD = ("accuracy", "within_one", "rps", "ece_outcomes", "spearman", "recovery_10", "aurc")
FORMS = {
    "told": "Direct probabilities, with what the trees of `features` expect told in the question",
    "direct": "Direct probabilities, alone",
    "distribution": "Written distributions, alone",
}
REWARDS = ("correctness", "correctness+brier", "correctness+crps", "crps")
FLOORS = (
    ("spearman", "held_operation", 0.75, "Spearman on operations"),
    ("recovery_10", "held_operation", 0.95, "recovery at 10 %"),
    ("ece_outcomes", "held_operation", -0.06, "ECE"),
    ("spearman", "held_family", 0.5, "Spearman on families"),
)  # less than nothing: at most

_INTRODUCTION = """# Training language models to forecast

Made by `python -m benchmarks.train_lm_page` from what `python -m benchmarks.train_lm` left in
`benchmarks/results/train_lm.jsonl`. Base: Qwen2.5-Coder-0.5B-Instruct (4-bit GGUF, unpacked to bfloat16), one H200.
Nothing of the operations, families and written kernels below was learnt from or calibrated by. Intervals are 95 %,
bootstrapped over operations. Up to 32 candidates of each operation are asked about (1,488 in all), so figures of
`features` are not those on all candidates. What the columns mean: [evaluation](../evaluation.md). Tokens a second are
the median of windows of ten steps.
"""


def page(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _INTRODUCTION
    yield from _trained(rows)
    for form, words in FORMS.items():
        told = [row for row in rows if row["what"] == f"eval {form}"]
        if not told:
            continue
        yield from (f"## {words}", "", "| stage | on | " + " | ".join(TOLD) + " |")
        yield "| --- |" + " --- |" * (len(TOLD) + 1)
        for row in told:
            for split, name in SPLITS.items():
                figures = row["splits"].get(split)
                if figures:
                    yield f"| {row['stage']} | {name} | " + " | ".join(_cell(figures[key]) for key in TOLD) + " |"
        yield ""
    yield from _reached(rows)
    yield from _rewards(rows)
    yield from _stacked()
    for row in rows:
        if row["what"] == "note":
            yield from (row["text"], "")
    missing = _missing(rows)
    if missing:
        yield "Not measured yet: " + "; ".join(missing) + "."


def _trained(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from ("| stage | steps | seconds | tokens a second |", "| --- | --- | --- | --- |")
    for row in rows:
        if row["what"] == "trained":
            rate = row.get("tokens_per_s") or row.get("sampled_tokens_per_s")
            kind = "" if "tokens_per_s" in row else " (sampled)"
            yield f"| {row['stage']} | {row['steps']} | {row['seconds']:.0f} | {rate:,}{kind} |"
    yield ""
    for row in rows:
        if row["what"] == "speed":
            yield f"Direct forecasts: {row['forecasts_per_s']} a second, of {row['tokens']} tokens each (asked: 60);"
            yield f"{row['unmerged_forecasts_per_s']} with the adapter beside the weights instead of added to them."
            if "sampled_tokens_per_s" in row:
                yield f"Sampling for the policy stage: {row['sampled_tokens_per_s']:,} tokens a second (asked: 8,000)."
    yield ""


def _rewards(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The policy stage by its rewards: the mean of the seeds, and what each seed came to."""
    judged = {row["stage"]: row["splits"] for row in rows if row["what"] == "eval distribution"}
    by_reward = {r: [judged[stage] for stage in sorted(judged) if stage.startswith(f"grpo-{r}-")] for r in REWARDS}
    if not any(by_reward.values()):
        return
    by_stage = {"before (*sft*)": [judged["sft"]], **{f"`{r}`": found for r, found in by_reward.items()}}
    yield from ("## What each reward teaches", "")
    yield "Written answers; the mean of the seeds, and each seed in brackets."
    yield from ("", "| on | reward | " + " | ".join(TOLD) + " |", "| --- |" + " --- |" * (len(TOLD) + 1))
    for split, name in SPLITS.items():
        for words, found in by_stage.items():
            if found:
                yield (
                    f"| {name} | {words} | "
                    + " | ".join(_mean([one[split][key] for one in found]) for key in TOLD)
                    + " |"
                )
    yield ""


def _mean(figures: Sequence[Mapping[str, Any]]) -> str:
    values = [figure["value"] for figure in figures if figure["value"] is not None]
    if not values:
        return ""
    each = f" ({', '.join(f'{value:.3f}' for value in values)})" if len(values) > 1 else ""
    return f"{sum(values) / len(values):.3f}{each}"


def _reached(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What was asked of the shipped surrogate, and what it does."""
    shipped = next((row for row in rows if (row["what"], row["stage"]) == ("eval told", "sft")), None)
    if shipped is None:
        return
    told = []
    for figure, split, floor, words in FLOORS:
        value = shipped["splits"][split][figure]["value"]
        held = value >= floor if floor > 0 else value <= -floor
        told.append(f"{words} {value:.3f} ({'asked' if held else '**missed**, asked'} {abs(floor)})")
    yield f"The shipped surrogate (`adapters/kernels-0.5b`, *sft* with the trees' word told): {', '.join(told)}."
    yield ""


def _stacked() -> Iterator[str]:
    """Whether the model adds to `features`."""
    if not STACKED.exists():
        return
    found = json.loads(STACKED.read_text())
    told = ("spearman", "recovery_10", "crps", "ece_outcomes")
    yield from ("## Beside `features`", "", "| on | forecaster | " + " | ".join(told) + " |", "| --- |" + " --- |" * 5)
    for split, name in SPLITS.items():
        for who, words in (("features", "features"), ("model", "the model"), ("stacked", "both")):
            cells = " | ".join(_cell(found[split][who][key]) for key in told)
            yield f"| {name} | {words} | {cells} |"
    weights = ", ".join(f"{found[split]['weight']:.2f} on {name}" for split, name in SPLITS.items())
    yield ""
    yield (
        f"*Both*: a linear pool (`python -m benchmarks.train_lm_stack`), its weight chosen for each operation by the "
        f"CRPS of the others. The model's weight came out as {weights}. The model is the one that is told the trees' "
        "word. It has learnt to pass that word on and to change little of it: what it reads in the sources beyond the "
        "trees' numbers is worth no more, on operations that neither knows, than what it loses in passing on."
    )
    yield ""


def _cell(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return ""
    return f"{figure['value']:.3f} [{figure['low']:.2f}, {figure['high']:.2f}]"


def _missing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    stages = {row["stage"] for row in rows if row["what"].startswith("eval")}
    found = [] if "base" in stages else ["the base as it comes"]
    for reward in REWARDS:
        seeds = sum(stage.startswith(f"grpo-{reward}-") for stage in stages)
        if seeds < 2:
            found.append(f"the policy stage with the reward {reward} ({seeds} of 2 seeds)")
    return found


def main() -> None:
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    PAGE.write_text("\n".join(page(rows)) + "\n")


if __name__ == "__main__":
    main()
