"""docs/results/corpus.md, its plots and data/README.md, from benchmarks/results/corpus.json.

python -m benchmarks.corpus_page
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import corpus_card, corpus_plots
from benchmarks.corpus_numbers import RESULT
from benchmarks.corpus_operations import operations, roofline, short, small_spread, table
from benchmarks.corpus_plots import LANGUAGES

PAGE = Path("docs/results/corpus.md")
CARD = Path("data/README.md")
ASKED_TRITON = 20_000
HEAD = """\
# The corpus in numbers

Made by `python -m benchmarks.corpus_numbers` and `python -m benchmarks.corpus_page` from the tables in
[`data/`](../../data/README.md); numbers in `benchmarks/results/corpus.json`. How the corpus is made and what its
columns mean: [docs/corpus.md](../corpus.md).

"""


def below_eager(operations: Mapping[str, Any]) -> dict[str, float]:
    """Operations without a candidate as fast as PyTorch eager, nearest first."""
    found = {name: op["best"] for name, op in operations.items() if op["best"] <= 1}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _summary(data: Mapping[str, Any]) -> list[str]:
    gpu, operations, retest, cost = data["gpu"], data["gpu_operations"], data["retest"], data["cost"]
    failed = 1 - gpu["status"]["ok"] / gpu["candidates"]
    faster = len(operations) - len(below_eager(operations))
    triton = gpu["language"]["triton"]
    missing = f", {ASKED_TRITON - triton} short" if triton < ASKED_TRITON else ""
    narrow = len(small_spread(operations))
    return table(
        ("what", "asked", "measured"),
        [
            ("candidates on the H200", "", f"**{gpu['candidates']:,}** of {len(operations)} operations"),
            ("… in Triton", f"{ASKED_TRITON:,}", f"**{triton:,}**{missing}"),
            ("… in CUDA C++", "", f"**{gpu['language']['cuda']:,}**"),
            ("candidates on a CPU (C++)", "", f"**{data['cpu']['candidates']:,}** of {len(data['cpu_operations'])}"),
            ("failures", "5–30 %", f"**{failed:.1%}**"),
            ("operations whose best beats PyTorch eager", "80", f"**{faster}** of {len(operations)}"),
            ("operations with a spread of 2 or more", "", f"**{len(operations) - narrow}** of {len(operations)}"),
            (
                f"measured twice ({retest['ok_in_both']}): apart, median; Spearman",
                "",
                f"**{retest['median']:.2%}; {retest['spearman']:.4f}**",
            ),
            (
                "wall seconds a candidate, everything counted",
                f"{cost['published']['gpu_s_each']:.0f} (published)",
                f"**{cost['wall_s_each']:.3f}**",
            ),
        ],
    )


def _speedups(data: Mapping[str, Any]) -> list[str]:
    operations = data["gpu_operations"]
    held = [op for op in operations.values() if op["best_written"] is not None]
    by_model = sum(op["origin"] == "model" for op in held)
    slower = below_eager(operations)
    good = data["gpu"]["status"]["ok"]
    return [
        "## Speedups",
        "",
        "![Distribution of speedup for each family](../images/corpus_families.svg)",
        "",
        "A speedup is over PyTorch eager at the operation's workloads (two each), geometric mean, cold L2. Of the "
        f"{good:,} correct candidates {data['checks']['slower_than_eager'] / good:.0%} are slower than PyTorch. Of "
        f"the {len(held)} operations for which a language model wrote ten kernels it holds the best of {by_model}; "
        "the templates hold the rest with many times as many tries.",
        "",
        f"**{len(operations) - len(slower)} of {len(operations)} operations** have a candidate faster than PyTorch "
        f"eager. The other {len(slower)}, with their best: "
        + ", ".join(f"`{name}` {best:.2f}" for name, best in slower.items())
        + ". All are products of matrices or convolutions (`triangle_incoming` is an einsum, `vecmat` has one row), "
        "where eager calls cuBLAS and cuDNN.",
        "",
    ]


def _failures(data: Mapping[str, Any]) -> list[str]:
    gpu, found = data["gpu"], data["failures"]
    statuses = ", ".join(f"{n:,} {name}" for name, n in gpu["status"].items() if name != "ok")
    failed = gpu["candidates"] - gpu["status"]["ok"]
    slips = found["slips"]
    made = sum(sum(c.values()) for c in slips.values())
    passed = {name: c["ok"] for name, c in slips.items() if c.get("ok")}
    passed = dict(sorted(passed.items(), key=lambda item: -item[1]))
    unmarked = sum(found["unmarked"].values())
    tasks = ", ".join(f"{n} `{task}`" for task, n in list(found["unmarked_by_task"].items())[:3])
    return [
        "## Failures",
        "",
        "![Failures by language and author](../images/corpus_failures.svg)",
        "",
        f"{failed:,} of {gpu['candidates']:,} failed ({failed / gpu['candidates']:.1%}): {statuses}. The share is by "
        f"design: {made:,} candidates carry a mistake made on purpose (the knob `slip`), of {len(slips)} kinds.",
        "",
        "![What became of each kind of mistake](../images/corpus_slips.svg)",
        "",
        f"- {sum(passed.values())} of the {made:,} passed every check: "
        + ", ".join(f"{name} {n}" for name, n in passed.items())
        + ". `reuse`, `barrier` and `wait` leave out a synchronisation, a race that need not be lost; `narrow` sums "
        "in a narrow type and can stay within the tolerance; `assume` and `floor` take sizes to be divisible, which "
        "those that are run may be.",
        f"- {unmarked} templates failed with no slip named ({tasks}, …). Those of softmax and log_softmax make their "
        "mistakes under other knobs (`mask`, `shift`, `passes`); most launch errors ask for more shared memory than "
        f"there is; {sum(data['checks']['compiler'].values())} candidates stop Triton's own compiler "
        '("PassManager::run failed").',
        f"- Of the 800 kernels that a language model wrote, untested when they were written, {len(found['written'])} "
        "failed: " + ", ".join(f"`{w['task']}` ({LANGUAGES[w['language']]}, {w['status']})" for w in found["written"])
        + ".",
        "",
    ]  # fmt: skip


def _knobs(data: Mapping[str, Any]) -> list[str]:
    return [
        "## Single knobs",
        "",
        "![Speedup against one knob for six operations](../images/corpus_knobs.svg)",
        "",
        "Each line joins correct candidates of one template that share all other knobs; the figures under the axis "
        "are medians, over the lines through a setting, of the speedup over that line's geometric mean. Lines do not "
        "all cover the same settings, so neighbouring figures compare best. Wide accesses, many splits of a long "
        "column and few threads for a scan pay; warps and stages matter less than the other knobs: their lines lie "
        "further apart than they slope.",
        "",
    ]


def _retest(data: Mapping[str, Any]) -> list[str]:
    r = data["retest"]
    events = r["by_events"]
    card = "another card of the kind" if r["cards"] > 1 else "such a card"
    lines = [
        "## Measured twice",
        "",
        f"{r['candidates']} candidates of {r['operations']} operations, drawn at random from those that were correct, "
        f"measured again on {card}, a fresh machine, {r['minutes_apart'] / 60:.1f} hours later: {r['same_status']} "
        f"ended the same way. Speedups are **{r['median']:.2%}** apart (median), {r['p90']:.1%} at the 90th "
        f"percentile, {r['p99']:.1%} at the 99th, {r['worst']:.0%} at worst; Spearman **{r['spearman']:.4f}**; the "
        f"95 % intervals overlap for {r['intervals_overlap']} of {r['ok_in_both']}. Failures were not repeated.",
        "",
        f"{len(r['outliers'])} differ by more than 5 %:",
        "",
    ]
    rows = [
        (
            f"{o['task']}: {LANGUAGES[o['language']]}, {o['origin']}",
            " → ".join(short(v) for v in o["speedups"]),
            f"{o['apart']:.0%}",
            f"{o['reference_moved']:.2f}",
            f"{o['candidate_moved']:.2f}",
        )
        for o in r["outliers"]
    ]
    head = ("candidate", "speedup", "apart", "reference, second / first", "candidate, second / first")
    return [
        *lines,
        *table(head, rows),
        f"{', '.join(events['operations'])}: its {events['candidates']} candidates are not replayed as CUDA graphs "
        "but timed by events, with the host's launches in between, probably because the reference, `torch.bincount`, "
        f"waits for the host and cannot be captured; they are {events['median']:.1%} apart in the median. Of all "
        f"others the worst is {r['worst_by_graphs']:.1%} apart.",
        "",
    ]


def _cost(data: Mapping[str, Any]) -> list[str]:
    c = data["cost"]
    calls = ", ".join(f"{int(n):,} in {s:.1f} s" for n, s in c["calls"][1:])
    first, published = c["calls"][0], c["published"]
    extra = c["measured"] - data["gpu"]["candidates"]
    return [
        "## Cost",
        "",
        f"- Wall clock on one H200 with 16 CPU cores: {calls} ({c['later_per_second']:.0f} per second), after a first "
        f"pass of {first[0]:,} in {first[1]:.0f} s, slow because autotuned kernels then ran into the time limit "
        f"(mended since). In all {c['measured']:,} measurements ({extra} repeat an earlier one; the latest counts) in "
        f"{c['wall_s']:,.0f} s: **{c['wall_s_each']:.3f} s per candidate** with builds, checks, timing, opening of "
        "problems and restarts.",
        f"- Of that the device is held {c['device_s_each']:.3f} s per candidate (load, checks, timed pairs; sum "
        f"{c['device_s']:,.0f} s): {c['device_s_ok']:.3f} s for correct ones, {c['device_s_failed']:.3f} s for "
        f"failures; Triton {c['device_s_language']['triton']:.3f} s, CUDA {c['device_s_language']['cuda']:.3f} s. The "
        f"remaining {c['wall_s_each'] - c['device_s_each']:.3f} s are waiting for builds, drawing data and starting "
        "workers.",
        f"- Builds take {c['build_s_each']:.2f} core-seconds a candidate ({c['build_s']:,.0f} in all), beside the "
        "measuring. The parts of the time on the device: [GPU bench](gpu_bench.md).",
        f"- {published['name']} reports {published['gpu_hours']} GPU-hours for {published['kernels']:,} kernels, "
        f"{published['gpu_s_each']:.0f} GPU-seconds each: {published['gpu_s_each'] / c['wall_s_each']:,.0f} times as "
        "much as the wall time here. That is another corpus with other kernels, and the figure may cover more than "
        "measuring.",
        f"- On the CPU: {data['cpu_cost']['wall_s']:.2f} s per candidate and {data['cpu_cost']['build_s']:.2f} s for "
        "its build.",
        "",
    ]


def main() -> None:
    data = json.loads(RESULT.read_text())
    parts = (_summary, _speedups, _failures, roofline, _knobs, _retest, _cost, operations)
    lines = [line for part in parts for line in part(data)]
    PAGE.write_text(HEAD + "\n".join(lines).rstrip() + "\n")
    CARD.write_text(corpus_card.text(data))
    corpus_plots.write(data)


if __name__ == "__main__":
    main()
