"""The sections of docs/results/programs.md about our own corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SPLITS = {"held_operation": "operations", "held_family": "families", "held_written": "written kernels"}


def shown(figures: Mapping[str, Any], key: str, form: str) -> str:
    value = figures.get(key)
    return "–" if value is None else form.format(value)


def _by_bound(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    lines = [
        "| bound by | candidates: before | now | error, doublings: before | now | with sign: before | now |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    keys = (("candidates", "{}"), ("median_error_log2", "{:.2f}"), ("median_off_log2", "{:+.2f}"))
    for name in sorted({*now["by_bound"], *before["by_bound"]}):
        pair = [each["by_bound"].get(name, {}) for each in (before, now)]
        lines.append(f"| {name} | {' | '.join(shown(each, *key) for key in keys for each in pair)} |")
    return lines


def all_operations(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """A stratified sample of all operations, before and after the last changes."""
    families = {name: (before["by_family"][name][0], ranks[0]) for name, ranks in now["by_family"].items()}
    worst = sorted(families.items(), key=lambda pair: pair[1][1])[:8]
    languages = " and ".join(f"{count} {name}" for name, count in sorted(now["by_language"].items()))
    ranks, dry, old = (f"{each:.2f}" for each in (now["spearman_within_operation"],
        now["spearman_within_operation_dry_run"], before["spearman_within_operation"]))  # fmt: skip
    return [
        "",
        "## Our own corpus",
        "",
        f"Spearman within operations on the H200: `program` **{ranks}** (before {old}), the dry run alone {dry}, on",
        f"{now['candidates']} candidates ({languages}) of all {now['operations']} operations (0.78 asked, **missed**).",
        f"Median error of time: {now['median_error_log2']:.2f} doublings, before {before['median_error_log2']:.2f}.",
        "The sample (`benchmarks/programs/collect.py`) has about ten candidates of each operation and takes kernels",
        "that a language model wrote first: half of all are bound by memory and differ by little.",
        "",
        "What changed: atomic operations on shared memory were taken for traffic;",
        "lanes that load their own index go to sectors of their own, and the buffer is known; loops that only data",
        "ends are left after eight rounds, and waiting at a barrier is not followed; tiles that tensor maps store are",
        "traffic; loads of one basic block that touch the same sectors go to the cache once; waits are counted by",
        "loads that need each other, and shared among copies that are on their way at a time; memory and waiting",
        "overlap less than other parts, blocks start at a rate, and atomics of a sector follow each other, as kernels",
        "made for nothing else show (`benchmarks/programs/latencies.py`). No constant was fitted to the corpus, but",
        "classes were found by looking at this sample, and a change that made it worse (merging stores) was left",
        "out: **it is not blind**. Still too slow by forecast: products of matrices that many multiprocessors",
        "load the same tiles for (`cache`).",
        "",
        *_by_bound(now, before),
        "",
        "Families with the lowest rank correlation, before and now: "
        + ", ".join(f"{name} {old:.2f} → {new:.2f}" for name, (old, new) in worst) + ".",
    ]  # fmt: skip


def step_times(report: Mapping[str, Any]) -> list[str]:
    """What step times are worth to the trained forecaster."""
    names = list(report["splits"]["held_operation"]["spearman"])
    lines = [
        "",
        "### Step times as columns of `features`",
        "",
        "Recording and following the whole corpus does not fit on the machines at hand. On the sample, models were",
        f"trained on its {report['trained_on']} rows for training and judged by Spearman within operations on its",
        f"held-out rows (mean of {report['seeds']} seeds, `benchmarks/programs/step_times.py`). Figures of all rows",
        "(0.90, 0.76, 0.68 asked) do not compare but for written kernels, all of which are in the sample.",
        "",
        "| model | " + " | ".join(f"{label}" for label in SPLITS.values()) + " |",
        "| --- | --- | --- | --- |",
    ]
    for name in names:
        cells = " | ".join(f"{report['splits'][split]['spearman'][name]:.2f}" for split in SPLITS)
        lines.append(f"| {name} | {cells} |")
    counts = ", ".join(f"{label} {report['splits'][split]['rows']}" for split, label in SPLITS.items())
    lines += [
        "",
        f"Rows held out: {counts}.",
        "Step times help where nothing alike was seen (families, written kernels), even with few rows, and not on new",
        "operations of known families, where more rows count for more. So **nothing of it is shipped**: on operations",
        "it is below the shipped model, and the columns are missing for most rows.",
        "The mean of the shipped model and `program`, with nothing trained, orders a little better than either on all",
        "three; it is not offered as a forecaster yet.",
    ]
    return lines


def first_sample(corpus: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """The Triton candidates of 40 operations that mechanisms were first checked on."""
    return [
        "",
        "### The first sample",
        "",
        f"Spearman within operations on the H200: `program` **{corpus['spearman_within_operation']:.2f}** (before "
        f"{before['spearman_within_operation']:.2f}), the dry run",
        f"alone {corpus['spearman_within_operation_dry_run']:.2f} on the same {corpus['candidates']} candidates of "
        f"{corpus['operations']} operations (asked: 0.78 over 159; **missed**).",
        f"A seeded sample of 40 operations, Triton only: on the machine that recorded, each of the {corpus['refused']}",
        "CUDA candidates of the sample died of SIGSEGV, in NVRTC as it seemed. All CUDA candidates of the sample above",
        "that work were recorded on such a machine since then; the cause is unknown. The rate of type conversions on",
        "Hopper (64 per clock) was set after a first look at this sample, at which `program` had 0.70. Figures are of",
        "the model of launches before the changes above.",
        "",
        "After a second look, at its largest errors, mechanisms were added: loads and stores go through the",
        "network to the cache in opposite directions, requests of neighbours for the same sectors are merged,",
        "a store that fills a sector in part costs a read too, tiles of tensor maps come from buffers of",
        "known size. Their factors follow from the mechanisms, but which were kept was decided by their",
        "effect on this sample and on development problems (a rate at which blocks start was dropped, since",
        "it came from labels of the sample). So **the sample is not blind**.",
        f"Median error of time: {corpus['median_error_log2']:.2f} doublings, before {before['median_error_log2']:.2f}.",
        "",
        *_by_bound(corpus, before),
    ]
