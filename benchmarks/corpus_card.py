"""The text of data/README.md, the corpus's data card, from the numbers of `benchmarks.corpus_numbers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COLUMNS = (("language", "Language"), ("origin", "Author"), ("status", "Status"), ("split", "Split"))
NAMES = {
    "triton": "Triton",
    "cuda": "CUDA C++",
    "cpp": "C++",
    "template": "templates of this project",
    "model": "a language model",
}


def text(data: Mapping[str, Any]) -> str:
    parts = (_what(data), _made(data), _counts(data), _cost(data), _terms(), _flaws(data))
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _what(data: Mapping[str, Any]) -> list[str]:
    gpu, cpu = data["gpu"], data["cpu"]
    return [
        "# Data card: measured kernels",
        "",
        "*Written by `python -m benchmarks.corpus_page` from `benchmarks/results/corpus.json`; do not edit.*",
        "",
        "| file | what |",
        "| --- | --- |",
        f"| `corpus_gpu.parquet` | {gpu['candidates']:,} candidates of {len(data['gpu_operations'])} operations in "
        f"{len(data['families'])} families, on an {', '.join(gpu['device'])} ({', '.join(gpu['toolchain'])}) |",
        f"| `corpus_cpu.parquet` | {cpu['candidates']:,} candidates of {len(data['cpu_operations'])} operations, on "
        f"two cores of a shared {', '.join(cpu['device']).removesuffix(' x2')} ({', '.join(cpu['toolchain'])}) |",
        "| `written/TASK/` | the language model's kernels as files, ten for each of 80 operations |",
        "| `real_kernels.parquet`, `real_labels.parquet`, `real_steps.parquet` | kernels that language models wrote "
        "for other problems, and how they were measured: [docs/real_kernels.md](../docs/real_kernels.md) |",
        "| `shared_labels.parquet` | how kernels that others published were measured again, by the ids of their rows; "
        "their texts are not here: [docs/real_kernels.md](../docs/real_kernels.md#kernels-of-others) |",
        "",
        "A row is one program with its source, how it ended, its speedup over a reference with a 95 % interval, "
        "times per",
        "workload, features of the build, and what it cost. Failures are rows too. Columns: "
        "[docs/corpus.md](../docs/corpus.md).",
        "Results and plots: [docs/results/corpus.md](../docs/results/corpus.md).",
        "",
        "It is for learning and testing forecasts of how kernels perform without running them. It is not a list of "
        "the best",
        "kernels: most candidates are middling on purpose.",
        "",
    ]


def _made(data: Mapping[str, Any]) -> list[str]:
    checks = data["checks"]
    low, high = checks["celsius"]
    return [
        "## How it was made",
        "",
        "- Templates write programs from knobs (`detail` holds them): tile, warps, vector width, algorithm, and "
        "`slip`, which",
        "  makes a mistake on purpose. `foretell data plan` draws settings, `foretell collect` measures them.",
        "- Each GPU candidate is built, checked on at least three sets of fresh data per workload and on shapes that "
        "are never",
        "  timed, against a result in double precision with the operation's tolerance; then timed in pairs with",
        "  PyTorch eager, interleaved, L2 flushed, inputs rotated. The candidate runs in another process than its "
        "judge.",
        "- Pairs are taken until the 95 % interval is within 1.5 % on either side, six to thirty-odd of them; the "
        "median is",
        f"  {checks['pairs']['median']:.0f} per workload. All GPU rows were measured within {checks['minutes']:.0f} "
        f"minutes, at {checks['sm_mhz'][0]:.0f} MHz, {low:.0f} to {high:.0f} °C,",
        f"  with {checks['throttled'] or 'none'} of them throttled (`conditions`).",
        "- `features` were read off builds made again later with the same compilers (`foretell data rebuild`); those",
        "  named `dry_` are counts of a [dry run](../docs/dry_run.md). Nothing was measured for them.",
        "- CPU rows: the same with C++ against a straightforward C++ program, caches flushed.",
        "",
    ]


def _counts(data: Mapping[str, Any]) -> list[str]:
    lines = ["## Counts", "", "| | | GPU | CPU |", "| --- | --- | --- | --- |"]
    for column, title in COLUMNS:
        found = {**data["gpu"][column], **data["cpu"][column]}
        for i, name in enumerate(found):
            gpu, cpu = (data[kind][column].get(name, 0) for kind in ("gpu", "cpu"))
            shown = NAMES.get(name, f"`{name}`")
            lines.append(f"| {title if i == 0 else ''} | {shown} | {gpu:,} | {cpu:,} |")
    devices = {name: n for kind in ("gpu", "cpu") for name, n in data[kind]["device"].items()}
    for i, (name, n) in enumerate(devices.items()):
        gpu, cpu = (n if name in data[kind]["device"] else 0 for kind in ("gpu", "cpu"))
        lines.append(f"| {'Device' if i == 0 else ''} | {name} | {gpu:,} | {cpu:,} |")
    triton = data["gpu"]["language"]["triton"]
    short = f", {20_000 - triton} short of the 20,000 asked for" if triton < 20_000 else ""
    return [
        *lines,
        "",
        f"Triton rows: {triton:,}{short}. Splits are fixed in `foretell.kernels.corpus.splits`; `near` rows are too "
        "much like held-out ones to train on.",
        "",
    ]


def _cost(data: Mapping[str, Any]) -> list[str]:
    cost = data["cost"]
    return [
        "## Cost",
        "",
        f"{cost['wall_s'] / 60:.0f} minutes of one H200 with 16 CPU cores for {cost['measured']:,} measurements: "
        f"{cost['wall_s_each']:.3f} s of wall time per candidate, of which the device is held "
        f"{cost['device_s_each']:.3f} s; {cost['build_s_each']:.2f} core-seconds for its build, in parallel. The CPU "
        f"table: {data['cpu_cost']['wall_s']:.2f} s per candidate, {data['cpu_cost']['build_s']:.2f} s for its build.",
        "",
    ]


def _terms() -> list[str]:
    return [
        "## Licence and authorship",
        "",
        "Apache-2.0, sources and measurements alike (column `licence`). Templates are this project's. The 800",
        "programs in `written/` (`origin` is `model`) were written by a language model that was asked to optimise",
        "the operation, six in Triton and four in CUDA for each; they were untested when they were written and",
        "are kept as they came.",
        "",
    ]


def _flaws(data: Mapping[str, Any]) -> list[str]:
    checks, gpu, retest = data["checks"], data["gpu"], data["retest"]
    failures, operations = data["failures"], data["gpu_operations"]
    texts, languages = checks["distinct_texts"], gpu["language"]
    model = gpu["origin"]["model"]
    slips = sum(sum(c.values()) for c in failures["slips"].values())
    slow = checks["pairs_slow"]
    drift = ", ".join(f"{name} ({value:.2f})" for name, value in checks["reference_drift"].items())
    narrow = sum(op["spread"] < 2 for op in operations.values())
    cpu_width = (2 ** data["cpu_interval_log2"][2] - 1) / 2
    flaws = [
        "**One GPU, one toolchain.** Nothing here says how a kernel does on another GPU, with another compiler or at "
        "other sizes: every operation has two timed workloads.",
        f"**Templates dominate.** {1 - model / gpu['candidates']:.1%} of the GPU rows and all CPU rows. Many differ "
        f"in numbers only: {languages['triton']:,} Triton rows are {texts['triton']:,} texts once numbers are made "
        f"alike, {languages['cuda']:,} CUDA rows are {texts['cuda']:,}. Rows are no independent samples; split by "
        "operation or family, as the column does, never at random.",
        f"**Failure rates are by design.** {slips:,} GPU rows make a mistake on purpose; how often says nothing about "
        f"how often people or models err. The language model's own rate here is {len(failures['written'])} of {model}.",
        f"**Some mistakes pass.** {checks['slips_passed']} rows with a slip are `ok`: races that were not lost, "
        "narrow sums within tolerance, sizes taken to be divisible that are. `ok` means that no check found a fault.",
        "**Some mistakes are not marked.** Older templates (softmax, log_softmax, argmax, bias_gelu, swiglu, "
        "layernorm) err under other knobs (`mask`, `shift`, `passes`, `tie`, `formula`, `moments`) with `slip` none "
        f"or absent: {failures['unmarked']['wrong']} GPU rows are `wrong` without a slip.",
        "**Checks are elementwise.** One value of millions beyond tolerance makes a row `wrong` (a written "
        "`cross_entropy_backward` failed by one of 33,554,432). Tolerances are the operation's own, wider for narrow "
        "types: `ok` does not mean as exact as the reference.",
        "**Speedup is over PyTorch eager**, for some operations one tuned library call, for others several small "
        "kernels. A speedup of 20 mostly says that eager does not fuse. Compare within an operation, or use times "
        "and the floor.",
        f"**Histograms are noisy.** All {checks['timed_by_events'].get('histogram', 0)} correct rows are timed by "
        "events and not in a CUDA graph, probably since the reference waits for the host. Measured twice they moved "
        f"by up to {retest['worst']:.0%}; everything else by at most {retest['worst_by_graphs']:.1%}. The "
        f"reference's own time drifted over the rows (95th over 5th percentile) by more than 1.1 for: {drift}; the "
        f"median over all workloads is {checks['reference_drift_median']:.3f}.",
        "**Slow ones are known less well.** What takes over four times as long as the reference is timed from three "
        f"pairs on: {slow['workloads']:,} workloads are that slow, {slow['three']:,} of them with exactly three "
        "pairs, where an interval means little.",
        f"**Features are of the largest launch.** {checks['several_launches']:,} correct GPU rows launch several "
        "kernels; their `features` describe the one with most threads, which may be a helper that rearranges data.",
        f"**Autotuned kernels** ({sum(checks['autotuned'].values())} rows, all by the language model) choose their "
        "settings by a short benchmark when they are first run; another run may choose otherwise.",
        f"**The compiler's own failures.** {sum(checks['compiler'].values())} rows are `compile_error` because a pass "
        "of "
        'Triton 3.6 fails ("PassManager::run failed"), '
        + ", ".join(f"{n} of `{task}`" for task, n in checks["compiler"].items())
        + ". A newer Triton may build them.",
        f"**{narrow} operations have a spread below 2**: there is little to forecast in them beyond failure.",
        "**conv2d_1x1** has no good candidate: all templates measured are about ten times slower than cuDNN or "
        "worse, probably because addresses computed pixel by pixel defeat wide loads (not profiled). The template "
        "has another form since, not measured yet.",
        "**The floor is no bound for float32 products.** It takes the plain units' rate; a written `matmul_float32` "
        f"is faster ({operations['matmul_float32']['best_over_floor']:.2f} of the floor) by splitting numbers for the "
        "tensor cores.",
        "**Order.** Operations were measured one after another, so the device's warmth goes with the operation; "
        "speedups are paired and hardly affected, times might be. They were measured in four calls, perhaps on "
        "different machines of the kind; rows do not say which.",
        "**CPU rows** come from a shared two-core machine with other work on it: their intervals are about "
        f"±{cpu_width:.0%} (median), and `-march=native` ties them to that CPU.",
    ]  # fmt: skip
    return ["## Known flaws", "", *(f"- {flaw}" for flaw in flaws), ""]
