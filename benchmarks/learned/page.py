"""Make docs/results/real_kernels.md from the figures of `benchmarks.learned`.

python -m benchmarks.learned.page
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.kernels.corpus import labels, real

RESULTS, PAGE = Path("benchmarks/results"), Path("docs/results/real_kernels.md")
LOG = Path("benchmarks/learned/held_out_log.jsonl")
# Figure, label, whether it is a share of 1, asked on the H200 and on other GPUs.
FIGURES = (
    ("pairs_10", "pairs > 10 % apart (mean of pools)", "≥ 0.86", "≥ 0.82"),
    ("first_pick", "first pick / best", "≥ 0.95", "≥ 0.93"),
    ("accuracy", "bin accuracy", "≥ 0.62", "≥ 0.52"),
    ("within_one", "within one bin", "≥ 0.92", "≥ 0.85"),
    ("ece_bins", "ECE", "≤ 0.05", "≤ 0.07"),
    ("covered_80", "80 % interval: coverage", "0.80", "0.80"),
    ("width_80", "80 % interval: mean width, doublings", "≤ 1.3", "≤ 2"),
    ("failure_auroc", "failure AUROC, pooled", "", ""),
    ("failure_auroc_within", "failure AUROC within pools", "≥ 0.80", "≥ 0.75"),
)
ASKED = {"blind": "blind", "blind, stacked": "blind, stacked", "facts": "with facts",
         "facts, stacked": "**with facts, stacked**"}  # fmt: skip
STACKED = "target for forecasters without a language model"
ARMS = {"written": "no surrogate (as written)", "random": "random-k", "newest": "newest first",
        "top": "top-k by `program`", "top_calibrated": "top-k by `calibrated`",
        "value": "**`value`** (`online:program`)",
        "value_calibrated": "`value` (`online:calibrated`)",
        "value_unlearned": "`value` (`program`, nothing learnt)"}  # fmt: skip
ENOUGH = 8  # kernels that a problem is to have
TITLES = {"device": "H200", "eager": "other GPUs"}
EXPERIMENTS = {
    "held_out_pools": "The paper's experiment: pools of 40 kernels for held-out problems",
    "development": "The same on development problems, forecasts cross-validated",
    "held_out": "The same on other kernels of held-out problems",
}
OUTCOMES = (
    ("top_tenth", "best of the first tenth"),
    ("first_third", "best of the first third"),
    ("third_of_seconds", "after a third of the device seconds"),
    ("mean_over_seconds", "mean over device seconds"),
    ("until_2", "measurements until within 2 %"),
    ("until_5", "within 5 %"),
    ("until_20", "within 20 %"),
)
BUDGETS = (1, 3, 6, 9, 13, 19)  # places of the curve that are shown: 10, 20, 35, 50, 70 and 100 % of the seconds
_HEAD = """\
# Forecasts of kernels that language models wrote

Made by `python -m benchmarks.learned.page`. `calibrated` is `program` with a learnt correction, spread and chances of
failure ([how](../real_kernels.md#learning)). Two sets are reported separately: *H200*, our own problems and kernels,
device time by graph replay; *other GPUs*, other people's kernels for other problems, timed eagerly. Brackets: 95 %
bootstrap intervals by problem. A pool is the kernels of one problem on one GPU.

"""
_ANSWERED = """\
A frontier language model read each candidate's text, *blind* or with the step tables of `program` (*facts*), and gave
probabilities. *Stacked*: `calibrated` is moved towards its medians by the weight that is best on the other problems.
Asked of the stack with facts: pairs at least 0.91 on the H200 and 0.89 on other GPUs. On the H200 its levels are better
than those of `calibrated`, its order is not, and the step tables made it no better: they pull its answers towards what
`program` says. 50 other kernels on the H200, asked about before, are in the log.
"""


_TRAINED = """\
Qwen2.5-Coder-Instruct (4-bit GGUF, unpacked to bfloat16) with a low-rank adapter, trained on one H200 on kernels of
development problems (`benchmarks/learned/lm`). The question shows both texts (long ones without their middle), both
step tables of `program`, its estimate, and the nearest measured kernels of other problems. *sft*: the supervised stage,
*policy*: the policy stage after it, with the reward `correctness+brier`; *direct*: probabilities of one letter,
*written*: the mean of four written answers. *Recalibrated* on other development problems that training did not see.
*Stacked*: `calibrated` is moved towards the recalibrated medians by the weight that is best on the other problems.
Within a bin a model says nothing; there the forecast has the shape of that of `program`.
"""
_STATES = ("as answered", "recalibrated", "stacked")
_LIVE = """\
A language model wrote six candidates a round for three rounds; each arm measured two a round, and the next prompts
showed what that arm had measured (`benchmarks/learned/live.py`). Writers saw letters, not arms.
"""
_CURVE = """\
`calibrated` on the H200, development problems that were left out, by how many of our own kernels it learnt from (drawn
at random; `benchmarks/learned/curve.py`).

"""
_COMPILED = """\
Speedups over the eager reference by graph replay on one H200, geometric means over problems with measured kernels
(`benchmarks/real/compiled.py`; `benchmarks/results/real_compiled.json` has each problem).

"""


def cell(figure: Mapping[str, float | None] | None) -> str:
    if not figure or figure["value"] is None:
        return "–"
    if figure["low"] is None or figure["high"] is None:
        return f"{figure['value']:.2f}"
    return f"{figure['value']:.2f} [{figure['low']:.2f}, {figure['high']:.2f}]"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(each)} |" for each in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


def figures(report: Mapping[str, Any], with_asked: bool) -> str:
    """Both columns of one report, `program` beside `calibrated`."""
    columns = [name for name in ("device", "eager") if name in report["calibrated"]]
    head = ["figure"]
    for column in columns:
        head += [f"{TITLES[column]}: `program`", "**`calibrated`**", *(["target"] if with_asked else [])]
    rows = []
    for key, label, *asked in FIGURES:
        row = [label]
        for column, aim in zip(("device", "eager"), asked, strict=True):
            if column in columns:
                row += [cell(report[name][column].get(key)) for name in ("program", "calibrated")]
                row += [aim] if with_asked else []
        rows.append(row)
    counts = ", ".join(
        f"{TITLES[c]}: {r['candidates']} kernels, {r['failures']} of them failing, in {r['pools']} pools of "
        f"{r['operations']} problems"
        for c, r in ((c, report["calibrated"][c]) for c in columns)
    )
    return f"{counts}.\n\n{table(head, rows)}"


def failures(chances: Mapping[str, Sequence[float]]) -> str:
    rows = [[finding, *(f"{chance:.2f}" for chance in each)] for finding, each in sorted(chances.items())]
    return table(["finding, stated chance", "compilation", "launch", "wrong", "timeout"], rows)


def experiment(report: Mapping[str, Any]) -> str:
    """All arms over the same pools: outcomes, the best over device seconds, what `value` gains, and calibration."""
    about, arms = report["about"], report["arms"]
    pools = ", ".join(
        f"`{name}` ({count} kernels, best {best:.2f} x)"
        for name, count, best in zip(about["pools"], about["kernels"], about["best"], strict=True)
    )
    text = f"{len(about['pools'])} pools, {sum(about['kernels'])} kernels, {about['seeds']} seeds: {pools}. "
    text += "Shares are of the pool's best speedup.\n\n"
    rows = [[ARMS[arm], *(cell(columns[key]) for key, _ in OUTCOMES)] for arm, columns in arms.items()]
    rows += [
        [f"`value` minus {ARMS[arm]}", *(cell(columns[key]) for key, _ in OUTCOMES)]
        for arm, columns in report["value less"].items()
    ]
    text += table(["arm", *(label for _, label in OUTCOMES)], rows)
    text += "\nBest so far, as a share of the pool's best, over device seconds (share of those of the whole pool):\n\n"
    head = [f"{5 * (place + 1)} %" for place in BUDGETS]
    curves = report["curves"].items()
    text += table(["arm", *head], [[ARMS[arm], *(cell(curve[i]) for i in BUDGETS)] for arm, curve in curves])
    text += "\nCalibration of what was forecast when a kernel was chosen:\n\n"
    stated = [(arm, each) for arm, each in report["calibration"].items() if each]
    keys = (("covered", "80 % interval covers"), ("width", "its width, doublings"), ("p_fail", "stated failures"),
            ("failed", "failures"))  # fmt: skip
    return text + table(
        ["arm", *(label for _, label in keys)],
        [[ARMS[arm], *(cell(each[key]) for key, _ in keys)] for arm, each in stated],
    )


def answered(report: Mapping[str, Any]) -> str:
    """A language model's answers, blind and with the step tables, alone and stacked, for each column."""
    text = ""
    for column, title in (("device", "H200"), ("eager", "other GPUs")):
        if column in report:
            own = report[column]
            arms = [name for name in ("program", "calibrated", *ASKED) if name in own]
            rows = [
                [label, *(cell(own[arm][key]) for arm in arms), asked[column == "eager"]]
                for key, label, *asked in FIGURES
                if key in own["calibrated"]
            ]
            text += f"\n{title}: {own['candidates']} kernels in {own['pools']} pools.\n\n"
            text += table(["figure", *(ASKED.get(arm, f"`{arm}`") for arm in arms), STACKED], rows)
    return text


def trained(report: Mapping[str, Any]) -> str:
    """Models that were trained here: what training was like, and every model as answered, recalibrated and stacked."""
    rows = []
    for model, stages in report["training"].items():
        for stage, note in stages.items():
            speed = note.get("tokens_per_s") or note.get("sampled_tokens_per_s")
            answers = ", ".join(f"{rate:.0f} {form}" for form, rate in note.get("answers_per_s", {}).items())
            steps = f"{note['steps']} of {note['of']}" if "of" in note else str(note.get("steps", "–"))
            took = str(note.get("seconds", "–"))
            rows.append([f"{model} {stage}", steps, took, f"{speed:,}" if speed else "–", answers or "–"])
    text = _TRAINED + "\n" + table(["model", "steps", "seconds", "tokens a second", "answers a second"], rows)
    named = {
        name for part in ("kept_back", "held_out") for own in report.get(part, {}).values() for name in own["models"]
    }
    silent = [f"{model} {stage}" for model, stages in report["training"].items() for stage in stages
              if not any(name.startswith(f"{model} {stage} ") for name in named)]  # fmt: skip
    text += f"\nTrained, without answers yet: {', '.join(silent)}.\n" if silent else ""
    judged = {"kept_back": "development problems that training did not see", "held_out": "held-out problems"}
    for part, column in ((name, each) for name in judged for each in report.get(name, {})):
        own = report[part][column]
        keys = [(key, label) for key, label, *_ in FIGURES if key in own["program"]]
        rows = [[f"`{name}`", *(cell(own[name][key]) for key, _ in keys)] for name in ("program", "calibrated")]
        for name, figure in own["models"].items():
            unread = f", {figure['unanswered']} not readable" if figure["unanswered"] else ""
            rows += [[f"{name}, {state}{unread}", *(cell(figure[state][key]) for key, _ in keys)] for state in _STATES]
        text += f"\n{TITLES[column]}, {judged[part]}: {own['candidates']} kernels in {own['pools']} pools.\n\n"
        text += table(["forecaster", *(label for _, label in keys)], rows)
    return text


def live(report: Mapping[str, Any]) -> str:
    """Searches in which what was measured went into the next prompts."""
    rows = []
    for arm, figure in report["arms"].items():
        own = [row for row in report["rows"] if row["arm"] == arm]
        rounds = max(len(row["best_by_round"]) for row in own)
        best = [
            ", ".join(f"{row['best_by_round'][min(k, len(row['best_by_round']) - 1)]:.2f}" for row in own)
            for k in range(rounds)
        ]
        share = dict(zip(("value", "low", "high"), figure["share"], strict=True))
        device_s = sum(row["device_s"] for row in own)
        measured = sum(row["measured"] for row in own)
        rows.append([f"`{arm}`", cell(share), "; ".join(best), str(measured), f"{device_s:.1f}"])
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(row["problem"] for row in report["rows"]))
    head = [
        "arm",
        "share of the best of all arms",
        "best speedup by round, one of each problem",
        "measured",
        "device s",
    ]
    return f"{_LIVE}Problems: {names}.\n\n{table(head, rows)}"


def curve(report: Mapping[str, Any]) -> str:
    keys = [(key, label) for key, label, *_ in FIGURES if key in report["program"]]
    rows = [["0 (`program`)", *(f"{report['program'][key]:.3f}" for key, _ in keys)]]
    rows += [[str(point["kernels"]), *(f"{point[key]:.3f}" for key, _ in keys)] for point in report["points"]]
    return _CURVE + table(["kernels learnt from", *(label for _, label in keys)], rows)


def compiled(report: Mapping[str, Any]) -> str:
    rows = []
    for part, each in report["summary"].items():
        means = [each[f"{name}_geometric_mean"] for name in ("compiled_beside", "best_kernel")]
        shown = [f"{mean:.2f}" if mean else "–" for mean in means]
        counts = [each[key] for key in ("problems", "compiled", "with_kernels")]
        ends = [each[key] for key in ("best_kernel_faster", "compiled_faster")]
        rows.append([part.replace("_", "-"), *map(str, counts), *shown, *map(str, ends)])
    head = ["problems", "tried", "compiled", "with measured kernels", "`torch.compile`", "best kernel",
            "kernel faster by 5 %", "`torch.compile` faster by 5 %"]  # fmt: skip
    return _COMPILED + table(head, rows)


def corpus() -> str:
    """How many kernels and labels there are."""
    kernels, measured = real.read(), labels.read()
    languages = Counter(kernel["language"] for kernel in kernels).most_common()
    statuses = Counter(label["status"] for label in measured).most_common()
    splits = Counter(kernel["split"] for kernel in kernels).most_common()
    few = Counter(kernel["problem"] for kernel in kernels)
    return (
        f"{len(kernels):,} kernels of {len(few)} problems, {len({kernel['near'] for kernel in kernels}):,} of them "
        f"distinct, {sum(n >= ENOUGH for n in few.values())} problems with at least {ENOUGH} ({_counts(splits)}; "
        f"{_counts(languages)}). Measured on an H200: {len(measured):,} ({_counts(statuses)}).\n\n"
    )


def _counts(pairs: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in pairs)


def read(name: str) -> Any:
    path = RESULTS / name
    return json.loads(path.read_text()) if path.exists() else None


def page() -> str:
    parts = [_HEAD, corpus()]
    looks = [json.loads(line) for line in LOG.read_text().splitlines()] if LOG.exists() else []
    held, development = read("learned_held_out.json"), read("learned_development.json")
    if held:
        parts.append("## Held-out problems\n\n")
        parts.append(f"Evaluations on them, each logged in `benchmarks/learned/held_out_log.jsonl`: {len(looks)}")
        parts.append(f" ({'; '.join(look['why'] for look in looks)}). ")
        parts.append(figures(held, with_asked=True))
    if development:
        parts.append("\n## Development problems, cross-validated by problem\n\n")
        parts.append(figures(development, with_asked=False))
        for column, groups in development["groups"].items():
            parts.append(f"\n{TITLES[column]}: intervals are calibrated within the groups {'; '.join(groups)}. ")
            parts.append("Chances of failure by finding of `program` and the chance that it states:\n\n")
            parts.append(failures(development["failures"][column]))
    if report := read("learned_answers.json"):
        parts.append(f"\n## A language model's answers, held-out problems\n\n{_ANSWERED}{answered(report)}")
    if report := read("learned_lm.json"):
        parts.append(f"\n## Small models trained on the corpus\n\n{trained(report)}")
    for name, title in EXPERIMENTS.items():
        if report := read(f"learned_experiment_{name}.json"):
            parts.append(f"\n## {title}\n\n{experiment(report)}")
    for name, title, shown in (
        ("learned_live", "Live searches", live),
        ("learned_curve", "Learning curve", curve),
        ("real_compiled", "`torch.compile` as a baseline", compiled),
    ):
        if report := read(f"{name}.json"):
            parts.append(f"\n## {title}\n\n{shown(report)}")
    parts.append(Path(__file__).with_name("caveats.md").read_text())
    return "".join(parts)


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
