"""Forecasters on measurements kept from them: held-out operations, families and language-model-written kernels.

    python -m benchmarks.forecasters run                    # the corpus in data/, every contender
    python -m benchmarks.forecasters foreign FILE.parquet   # kernels of others on other GPUs, never trained on
    python -m benchmarks.forecasters page                   # docs/results/forecasters.md from the JSON

Figures go to benchmarks/results/forecasters.json and forecasters_foreign.json.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from foretell.kernels.evaluate.controls import control
from foretell.kernels.evaluate.data import read
from foretell.kernels.evaluate.judge import judge
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.forecast import make
from foretell.kernels.forecast.static import forget

RESULTS = Path("benchmarks/results")
PAGE = Path("docs/results/forecasters.md")
SPLITS = ("held_operation", "held_family", "held_written")
RESAMPLES = 500
LEARN = 20
# name shown, forecaster, tier, measurements of the pool it learns from
CONTENDERS = (
    ("constant", "constant", "build", 0),
    ("random", "random", "build", 0),
    ("roofline", "roofline", "build", 0),
    ("features, source only", "features", "source", 0),
    ("features, after the build", "features", "build", 0),
    (f"online:roofline, after {LEARN} measurements", "online:roofline", "build", LEARN),
    (f"online, after {LEARN} measurements", "online", "build", LEARN),
)
ASKED = {
    "spearman": (0.85, 0.65, 0.60),
    "recovery_10": (0.97, 0.92, 0.90),
    "ece_outcomes": (0.05, 0.08, 0.08),
    "covered_80": ("0.77–0.83", "0.74–0.86", "0.74–0.86"),
    "failure_auroc": (0.90, 0.80, 0.75),
}
LABELS = {
    "spearman": "Spearman within operation (mean)",
    "recovery_10": "best of the top 10 % / best of the pool (mean)",
    "ece_outcomes": "ECE, most likely of nine outcomes",
    "covered_80": "coverage of the 80 % interval",
    "failure_auroc": "failure AUROC",
    "accuracy": "most likely bin right",
    "within_one": "within one bin",
    "crps": "CRPS (log2)",
}


_INTRODUCTION = """Made by `python -m benchmarks.forecasters run` (and `foreign`), page by `... page`; figures in
`benchmarks/results/forecasters*.json`. What each means: [docs/evaluation.md](../evaluation.md). Rows are those of the
[corpus](corpus.md) on the H200 that no training saw: 23 whole operations, 4 whole families, and the kernels that a
language model wrote for 24 operations. Intervals are 95 %, bootstrapped over operations. Forecasters see stripped
sources. The reference's own times are known to all, as they are when a search begins."""


_COSTS = ("asked", "asked_again", "seconds", "prompt_tokens", "answer_tokens")
_MODELS = """Made by `python -m benchmarks.forecasters_lm` on an H200 (Qwen2.5-Coder Instruct, weights of about four
bits), figures in `benchmarks/results/forecasters_lm_*.json`. Up to 24 candidates of each pool, drawn at random: 1,176,
all asked about in the form *direct* (the model's own probabilities of eight letters and of failure after one reading,
no reasoning). The form *distribution* (reasoning, then JSON) was cut off by time after the share shown, drawn at random
too; an answer that cannot be read counts as no forecast. Where a model was told its mistake and asked once more, few
answers got better (last table). The others below were asked about the same candidates."""


_SHORT = """- On new operations the 80 % intervals are too wide. Learning errors from models that saw nine tenths of the
  operations, not four fifths, did not narrow them.
- `held_written` has four failures and ten kernels an operation: its AUROC, and the best of one in ten (which is the
  first pick of ten), mean little; the latter is below what was asked, and was above it for the model before this one.
- The source alone says much less than source and build.
- For kernels of others on other GPUs, from the source alone and without the reference's time, it is of little use:
  pairs are ordered as by chance, and it doubts more than it need.
- Language models of 0.5B and 1.5B parameters, asked without training, order kernels as chance does; most of their
  written distributions cannot be read, or are the same for all.
"""


def run() -> None:
    data = read(Path("data/corpus_gpu.parquet"))
    rows = []
    for shown, name, tier, learn in CONTENDERS:
        for split in SPLITS:
            if learn and split == "held_written":
                continue  # ten kernels an operation: nothing would be left
            pools = data.pools(split, tier)
            teller = control(name, data.past(), 0) if name in ("constant", "random") else make(name, 0)
            result = assess(judge(teller, pools, learn, 0), shown, split, 0, RESAMPLES).to_dict()
            rows.append({k: v for k, v in result.items() if k not in ("curves", "by_pool")})
            print(shown, split, {k: round(result["figures"][k]["value"], 3) for k in ASKED}, flush=True)
    speed = {tier: _speed(data.pools("held_operation", tier), tier) for tier in ("source", "build")}
    _write("forecasters.json", {"rows": rows, "per_second": speed})


def _speed(pools: list[Pool], tier: str) -> float:
    """Forecasts a CPU second; after the build with the source read already, as it is in a search."""
    teller = make("features", 0)
    chosen = pools[:8]
    if tier == "source":
        forget()
    else:
        for pool in chosen:
            teller.forecast(pool.task, pool.device, pool.subjects)
    began = time.process_time()
    for pool in chosen:
        teller.forecast(pool.task, pool.device, pool.subjects)
    return sum(len(pool) for pool in chosen) / (time.process_time() - began)


def foreign(path: Path) -> None:
    data = read(path)
    past = read(Path("data/corpus_gpu.parquet")).past()
    rows = []
    for shown, name in (("constant", "constant"), ("random", "random"), ("features, source only", "features")):
        for split in data.splits():
            pools = data.pools(split, "source")
            teller = control(name, past, 0) if name in ("constant", "random") else make(name, 0)
            result = assess(judge(teller, pools, 0, 0), shown, split, 0, RESAMPLES).to_dict()
            rows.append({k: v for k, v in result.items() if k not in ("curves", "by_pool")})
            print(shown, split, {k: result["figures"][k]["value"] for k in (*ASKED, "pairwise_any")}, flush=True)
    _write("forecasters_foreign.json", {"rows": rows})


def _write(name: str, found: dict[str, Any]) -> None:
    (RESULTS / name).write_text(json.dumps(found, indent=1) + "\n")


def cell(figures: dict[str, Any], name: str, interval: bool = False) -> str:
    one = figures.get(name) or {}
    if one.get("value") is None:
        return "–"
    text = f"{one['value']:.3f}"
    return f"{text} [{one['low']:.2f}, {one['high']:.2f}]" if interval and one.get("low") is not None else text


def page() -> None:
    found = json.loads((RESULTS / "forecasters.json").read_text())
    main = {r["split"]: r for r in found["rows"] if r["forecaster"] == "features, after the build"}
    lines = [
        "# Forecasters on what was kept from them",
        "",
        *_INTRODUCTION.splitlines(),
        "",
        "## The shipped model, after the build",
        "",
        "| | operations | asked | families | asked | written | asked |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, asked in ASKED.items():
        cells = [f"**{cell(main[s]['figures'], name)}** | {a}" for s, a in zip(SPLITS, asked, strict=True)]
        lines.append(f"| {LABELS[name]} | {' | '.join(cells)} |")
    for split in SPLITS:
        rows = [r for r in found["rows"] if r["split"] == split]
        one = rows[0]
        lines += [
            "",
            f"## {split}: {one['candidates']} candidates of {one['operations']} operations, {one['failures']} failures",
            "",
            "| | " + " | ".join(LABELS) + " |",
            "| --- |" + " --- |" * len(LABELS),
        ]
        lines[-2] = "| forecaster | " + " | ".join(LABELS.values()) + " |"
        for r in rows:
            lines.append(f"| {r['forecaster']} | " + " | ".join(cell(r["figures"], n, True) for n in LABELS) + " |")
    lines += ["", "## What falls short", "", *_SHORT.splitlines()]
    speed = found["per_second"]
    lines += [
        "",
        "## Speed",
        "",
        f"On one core: {speed['source']:.0f} forecasts per second from the source alone (asked: 300), "
        f"{speed['build']:.0f} after the build with the source read before (asked: 2,000).",
    ]
    lines += _model_lines()
    other = RESULTS / "forecasters_foreign.json"
    if other.exists():
        lines += _foreign_lines(json.loads(other.read_text())["rows"])
    PAGE.write_text("\n".join(lines) + "\n")


def _model_lines() -> list[str]:
    """Language models and, on the same sample, forecasters that look at nothing, at physics, and at features."""
    controls = json.loads((RESULTS / "forecasters_lm_control.json").read_text())
    models = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("forecasters_lm_qwen*.json"))]
    lines = ["", "## Language models from open weights, zero-shot", "", *_MODELS.splitlines()]
    for split in SPLITS:
        lines += ["", f"### {split}", "", f"| forecaster | candidates | unreadable | {' | '.join(LABELS.values())} |"]
        lines.append("| --- |" + " --- |" * (len(LABELS) + 2))
        for r in [row for found in (controls, *models) for row in found["rows"] if row["split"] == split]:
            unread = f"{sum(r['troubles'].values()) / r['candidates']:.0%}" if "model" in r else "–"
            cells = " | ".join(cell(r["figures"], name, True) for name in LABELS)
            lines.append(f"| {r['forecaster']} | {r['candidates']} | {unread} | {cells} |")
    lines += ["", "| model | form | forecasts per second | tokens read | written | asked again | of those mended |"]
    lines.append("| --- |" + " --- |" * 6)
    for found in models:
        for form in ("direct", "distribution"):
            rows = [row for row in found["rows"] if row["form"] == form]
            costs = {key: sum(row["language_model"][key] for row in rows) for key in _COSTS}
            first = sum(sum(row["language_model"]["first_troubles"].values()) for row in rows)
            mended = first - sum(sum(row["troubles"].values()) for row in rows)
            speed, again = costs["asked"] / costs["seconds"], costs["asked_again"]
            cells = f"{speed:.1f} | {costs['prompt_tokens']:,} | {costs['answer_tokens']:,} | {again} | {mended}"
            lines.append(f"| {found['model']} | {form} | {cells} |")
    return lines


def _foreign_lines(rows: list[dict[str, Any]]) -> list[str]:
    names = ("pairwise_any", "spearman", "recovery_10", "covered_80", "ece_outcomes", "failure_auroc")
    lines = [
        "",
        "## Kernels of others, on other GPUs",
        "",
        "Language-model-written kernels from public repositories, measured there on eleven other GPUs; none was",
        "trained on. Only the source is known. Pools are cells (one data set, operation and GPU) and mostly tiny.",
        "",
        "| forecaster | data set | candidates | pairs in the right order | Spearman | recovery at 10 % | 80 % held | ECE | failure AUROC |",  # noqa: E501
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for r in rows:
        cells = " | ".join(cell(r["figures"], name, name == "pairwise_any") for name in names)
        lines.append(f"| {r['forecaster']} | {r['split']} | {r['candidates']} | {cells} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "foreign", "page"))
    parser.add_argument("file", nargs="?", type=Path)
    chosen = parser.parse_args()
    if chosen.what == "foreign":
        foreign(chosen.file)
    else:
        run() if chosen.what == "run" else page()


if __name__ == "__main__":
    main()
