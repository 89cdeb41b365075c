"""The parts of docs/results/corpus.md that go operation by operation: the floor, small spreads and the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.corpus_plots import LANGUAGES

CROWDED = 1.2  # a median within this of the best: half of the candidates are where the best is


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def short(value: float) -> str:
    """Two decimals below ten, one below a hundred."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def small_spread(operations: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: op for name, op in operations.items() if op["spread"] < 2}
    return dict(sorted(found.items(), key=lambda item: item[1]["spread"]))


def roofline(data: Mapping[str, Any]) -> list[str]:
    found = data["gpu_operations"]
    memory = [op for op in found.values() if op["floor"] == "memory"]
    narrow = small_spread(found)
    best = [op["best_over_floor"] for op in narrow.values()]
    middle = [op["median_over_floor"] for op in narrow.values()]
    last = [op["p90_over_floor"] for op in narrow.values()]
    nearest = min(op["best_over_floor"] for op in memory)
    small = [op["floor_us"][-1] for op in narrow.values() if op["family"] == "optimiser"]
    behind = {name: op["median_over_floor"] / op["best_over_floor"] for name, op in narrow.items()}
    crowded, apart = (sorted(v for v in behind.values() if (v < CROWDED) is near) for near in (True, False))
    others = "In " + ", ".join(f"`{name}`" for name, v in behind.items() if v >= CROWDED)
    lines = [
        "## Distance from the floor, and small spreads",
        "",
        "![Best candidate and PyTorch over the roofline floor](../images/corpus_roofline.svg)",
        "",
        "The floor is the larger of bytes over 4.8 TB/s and operations over the peak rate, from the data sheet. It "
        f"is memory's for {len(memory)} of {len(found)} operations; there the nearest is at {nearest:.2f} times the "
        f"floor, and {sum(op['best_over_floor'] < 1.6 for op in memory)} have a candidate within 1.6 times. "
        "`matmul_float32` lies below its floor: the floor takes the plain float32 units, the kernel splits each "
        "number into two float16 and multiplies on the tensor cores, within the tolerance.",
        "",
        f"{len(narrow)} operations have a spread below 2 (90th over 10th percentile of runtime, correct candidates). "
        f"The floor of all of them is memory's; their best is at {min(best):.2f} to {max(best):.2f} times the floor, "
        f"half of all candidates within {min(middle):.2f} to {max(middle):.2f}, nine in ten within {min(last):.2f} to "
        f"{max(last):.2f}. In {len(crowded)} of them the median candidate is within {crowded[-1] - 1:.0%} of the "
        "best: there half or more are at the bandwidth limit, since whoever moves every byte once is near it. "
        f"{others} the median is {apart[-1] - 1:.0%} slower than the best, so candidates are alike without being at "
        "the limit. Nor is the slowest tenth at it anywhere but in `adamw_step`: elsewhere it is at more than twice "
        "the floor. The figures in brackets are the large and the small workload: the optimiser steps lose most on "
        f"the small one, where the floor is {min(small):.0f} to {max(small):.0f} microseconds and starting and ending "
        "a kernel counts.",
        "",
    ]
    rows = [
        (
            f"`{name}`",
            short(op["spread"]),
            f"{op['best_over_floor']:.2f} ({' and '.join(short(v) for v in op['best_by_workload'])})",
            short(op["median_over_floor"]),
            short(op["p90_over_floor"]),
        )
        for name, op in narrow.items()
    ]
    head = ("operation", "spread", "best / floor (by workload)", "median / floor", "90 % of candidates within")
    return [
        *lines,
        *table(head, rows),
        f"Being bound by memory does not make a spread small: {len(memory) - len(narrow)} operations with memory's "
        "floor have a spread of 2 or more. Their templates also offer ways to miss the bandwidth, for instance "
        "narrow accesses or too little parallel work (`permute_0213` and `column_sum` below).",
        "",
    ]


def operations(data: Mapping[str, Any]) -> list[str]:
    gpu = [
        (
            f"`{name}`",
            op["family"],
            f"{op['candidates']}",
            f"{op['failed']}",
            short(op["best"]),
            LANGUAGES[op["language"]] + (" (model)" if op["origin"] == "model" else ""),
            short(op["spread"]),
            short(op["best_over_floor"]),
        )
        for name, op in data["gpu_operations"].items()
    ]
    cpu = [
        (f"`{name}`", f"{op['candidates']}", f"{op['failed']}", short(op["best"]), short(op["spread"]))
        for name, op in data["cpu_operations"].items()
    ]
    head = ("operation", "family", "candidates", "failed", "best speedup", "held by", "spread", "best / floor")
    return [
        "## Every operation on the H200",
        "",
        "Best speedup is over PyTorch eager; spread is the 90th over the 10th percentile of runtime; the last column "
        "is the best candidate's time over the roofline floor; *(model)* where a language model wrote the best.",
        "",
        *table(head, gpu),
        "## Every operation on the CPU",
        "",
        "Over a straightforward C++ program, on two cores of a shared machine; all by templates.",
        "",
        *table(("operation", "candidates", "failed", "best speedup", "spread"), cpu),
    ]
