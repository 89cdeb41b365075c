"""docs/results/training.md, from the figures that benchmarks.train_lm left (benchmarks/results/train_lm.jsonl).

python -m benchmarks.train_lm_page
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.train.lm.rewards import NAMED

RESULTS = Path("benchmarks/results/train_lm.jsonl")
STACKED = Path("benchmarks/results/train_lm_stack.json")
REWARDED = Path("benchmarks/results/train_lm_rewards.json")
PAGE = Path("docs/results/training.md")
SPLITS = {"held_operation": "operations", "held_family": "families", "held_written": "written kernels"}
TOLD = ("accuracy", "within_one", "rps", "ece_outcomes", "spearman", "recovery_10", "aurc")
FORMS = {
    "told": "Direct probabilities, with what the trees of `features` expect told in the question",
    "direct": "Direct probabilities, alone",
    "distribution": "Written distributions, alone",
}
REWARDS = tuple(NAMED)
SHAPED = REWARDS[1:]
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
`features` are not those on all candidates. What the columns mean: [evaluation](../evaluation.md). Tokens per second of
*sft* are the median of windows of ten steps. Policy runs (*grpo*, by reward and seed) began from *sft* and shared the
device by fours, which is why each sampled slower than one alone does.
"""

_UNREADABLE = """The most likely line that the model writes. Where it cannot be read, physics alone (`roofline`) answers
in its place: more than half of the base's figures are not its own."""


def page(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _INTRODUCTION
    yield from _trained(rows)
    for form, words in FORMS.items():
        told = [row for row in rows if row["what"] == f"eval {form}"]
        if not told:
            continue
        yield from (f"## {words}", "")
        if form == "distribution":
            yield from (_UNREADABLE, "")
        yield from ("| stage | on | " + " | ".join(TOLD) + " | unreadable |", "| --- |" + " --- |" * (len(TOLD) + 2))
        for row in told:
            for split, name in SPLITS.items():
                figures = row["splits"].get(split)
                if figures:
                    cells = [*(_cell(figures[key]) for key in TOLD), str(sum(figures["troubles"].values()))]
                    yield f"| {row['stage']} | {name} | {' | '.join(cells)} |"
        yield ""
    yield from _reached(rows)
    yield from _rewards(rows)
    yield from _differences(rows)
    yield from _stacked()


def _trained(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from ("| stage | steps | seconds | tokens per second |", "| --- | --- | --- | --- |")
    for row in rows:
        if row["what"] == "trained":
            rate = row.get("tokens_per_s") or row.get("sampled_tokens_per_s")
            kind = "" if "tokens_per_s" in row else " (sampled)"
            yield f"| {row['stage']} | {row['steps']} | {row['seconds']:.0f} | {rate:,}{kind} |"
    yield ""
    for row in rows:
        if row["what"] == "speed":
            yield f"Direct forecasts: {row['forecasts_per_s']} per second, of {row['tokens']} tokens each (asked: 60);"
            yield f"{row['unmerged_forecasts_per_s']} with the adapter beside the weights instead of added to them."
            if "sampled_tokens_per_s" in row:
                sampled = f"{row['sampled_tokens_per_s']:,}"
                yield f"Sampling for the policy stage: {sampled} tokens per second (asked: 8,000)."
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


def _differences(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The rewards held against each other on the same candidates (benchmarks.train_lm_rewards), and what that says."""
    if not REWARDED.exists():
        return
    found = json.loads(REWARDED.read_text())
    told = ("ece_outcomes", "spearman", "rps", "accuracy", "recovery_10")
    yield "Differences on the same candidates, of the means of the seeds (`python -m benchmarks.train_lm_rewards`;"
    yield "intervals are drawn over operations and over seeds):"
    for other, words in (("sft", "the start"), ("correctness", "`correctness` alone")):
        yield from ("", f"| on | reward, less {words} | " + " | ".join(told) + " |")
        yield "| --- |" + " --- |" * (len(told) + 1)
        for split, name in SPLITS.items():
            for reward in REWARDS if other == "sft" else SHAPED:
                cells = (_change(found[split][reward][key][f"against {other}"]) for key in told)
                yield f"| {name} | `{reward}` | {' | '.join(cells)} |"
    yield ""
    yield from _verdict(found, rows)


def _verdict(found: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The paper's finding held against the tables. The words were chosen for these figures: others need others."""

    def less(figure: str, other: str, rewards: Sequence[str]) -> list[Mapping[str, float]]:
        return [found[split][reward][figure][f"against {other}"] for split in SPLITS for reward in rewards]

    def each(figure: str, reward: str) -> str:
        return ", ".join(f"{one['value']:+.2f}" for one in less(figure, "sft", [reward]))

    ece, ranking = less("ece_outcomes", "correctness", SHAPED), less("spearman", "correctness", SHAPED)
    lifted, plain = less("spearman", "sft", REWARDS), less("spearman", "sft", REWARDS[:1])
    sure = {r: ", ".join(f"{value:.2f}" for value in found["confidence"][r]) for r in ("sft", "correctness")}
    means = {key: [found["held_operation"][r][key]["mean"]["value"] for r in REWARDS] for key in TOLD}
    before = found["held_operation"]["sft"]["recovery_10"]["mean"]["value"]
    direct = next(row for row in rows if (row["what"], row["stage"]) == ("eval direct", "sft"))["splits"]
    letter = {key: direct["held_operation"][key]["value"] for key in TOLD}
    distinct = [count for reward in REWARDS for count in found["distinct"][reward]]
    collapsed = [row["stage"] for row in rows if row["what"] == "trained" and row.get("collapsed")]
    steps = [row["steps"] for row in rows if row["what"] == "trained" and row["stage"].startswith("grpo")]
    yield "**The paper's finding in plain words.** It says that rewards shaped by calibration improve both the"
    yield "reliability of confidence and the ranking, and that rewarding correctness alone does not. Here:"
    yield ""
    yield (
        f"- *Reliability: confirmed.* The shaped rewards come to a lower ECE than `correctness` on operations, "
        f"families and written kernels, {sum(one['value'] < 0.0 for one in ece)} of {len(ece)} times ({_range(ece)}; "
        f"{_clear(ece)}), `correctness+brier` most surely. Rewarded for correctness alone the model learns to be sure: "
        f"answers state {sure['correctness']} in the mean, by seed, where they stated {sure['sft']}, and ECE changes "
        f"by {each('ece_outcomes', 'correctness')} from the start; that of `crps` by {each('ece_outcomes', 'crps')}."
    )
    yield (
        f"- *Ranking: refuted.* Rewards improve it whichever they are ({_range(lifted)} in Spearman from the start; "
        f"{_clear(lifted)}). `correctness` alone lifts it by "
        f"{each('spearman', 'correctness')} ({_clear(plain)}), and what shaped rewards do differently is no more than "
        f"chance could do ({_range(ranking)} against it; {_clear(ranking)})."
    )
    yield (
        f"- *What none of them did.* Recovery at 10 % on operations was {before:.2f} and is "
        f"{min(means['recovery_10']):.2f} to {max(means['recovery_10']):.2f}: {found['distinct']['sft'][0]} different "
        f"answers to {found['answers']:,} questions became {min(distinct)} to {max(distinct)}, and candidates that get "
        f"the same line tie at the top. Of {', '.join(collapsed) or 'no run'} the guard said that nearly all answers "
        "state one confidence. Seeds of a reward differ as much as rewards do."
    )
    yield (
        f"- *What it is worth.* One letter whose probabilities are read off stays better than anything written: "
        f"Spearman {letter['spearman']:.2f} and ECE {letter['ece_outcomes']:.2f} on operations after *sft*, against "
        f"{max(means['spearman']):.2f} and {min(means['ece_outcomes']):.2f} at best. The loss of the letter is a "
        "proper score with its exact gradient; the policy stage has eight samples of one. So what is shipped is *sft*."
    )
    yield ""
    yield f"Each run had {min(steps)} to {max(steps)} steps of 32 questions with 8 answers, a rate of 2e-4 and nothing"
    yield "to hold it near its start. A longer or gentler policy stage has not been tried."
    yield ""


def _clear(changes: Sequence[Mapping[str, float]]) -> str:
    beyond = sum(one["low"] > 0.0 or one["high"] < 0.0 for one in changes)
    return f"{beyond} of {len(changes)} intervals without zero"


def _range(changes: Sequence[Mapping[str, float]]) -> str:
    values = [one["value"] for one in changes]
    return f"{min(values):+.2f} to {max(values):+.2f}"


def _change(figure: Mapping[str, Any]) -> str:
    return f"{figure['value']:+.3f} [{figure['low']:+.2f}, {figure['high']:+.2f}]"


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


def main() -> None:
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    PAGE.write_text("\n".join(page(rows)) + "\n")


if __name__ == "__main__":
    main()
