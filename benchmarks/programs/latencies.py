"""Constants of the model of launches, measured one by one on a GPU with kernels made for nothing else.

    python -m benchmarks.programs.latencies --output benchmarks/results/programs_latencies.json

How fast blocks start, how bandwidth grows with the bytes that are on their way, and what a round of waiting for memory,
for the block or for an atomic operation takes. Kernels of the corpus have no part in it.
"""

# Triton reads annotations of its kernels as values: they can have none.
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

REPEATS = 5
SERIES = ("start", "stream", "copy", "sum", "atomic", "chain")
STREAMED = 1 << 28  # float32 elements that are streamed: far more than the last-level cache holds


@triton.jit
def start(x, LIMIT: tl.constexpr):
    if tl.program_id(0) > LIMIT:
        tl.store(x, 1.0)


@triton.jit
def stream(x, y, rounds, stride, BLOCK: tl.constexpr):
    """Sum up elements: nothing but the compiler's order keeps the loads of several rounds from being on their way."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in tl.range(rounds, loop_unroll_factor=1, num_stages=1):
        total += tl.load(x + at)
        at += stride
    tl.store(y + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def copy(x, y, rounds, stride, BLOCK: tl.constexpr):
    """Copy elements: a store may write what the next round loads, so that each round waits for its own."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in tl.range(rounds, loop_unroll_factor=1, num_stages=1):
        tl.store(y + at, tl.load(x + at) + 1.0)
        at += stride


@triton.jit
def reduce(x, y, rounds, BLOCK: tl.constexpr):
    """Sums over a block, each of which needs the one before."""
    values = tl.load(x + tl.arange(0, BLOCK))
    for _ in tl.range(rounds, loop_unroll_factor=1, num_stages=1):
        values = values * 1e-9 + tl.sum(values, 0)
    tl.store(y + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), values)


@triton.jit
def add(x, rounds, WORDS: tl.constexpr, BLOCK: tl.constexpr):
    """Atomic additions of each block to `WORDS` words that all share."""
    at = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % WORDS
    for _ in tl.range(rounds, loop_unroll_factor=1, num_stages=1):
        tl.atomic_add(x + at, 1.0, sem="relaxed")


@triton.jit
def chain(x, y, rounds, BLOCK: tl.constexpr):
    """Dependent multiplications and additions of every lane."""
    value = tl.load(x + tl.arange(0, BLOCK))
    for _ in tl.range(rounds, loop_unroll_factor=1, num_stages=1):
        for _ in tl.static_range(16):
            value = value * 1.0001 + 0.5
    tl.store(y + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), value)


def microseconds(kernel: Any, blocks: int, *arguments: Any, **settings: Any) -> float:
    """The shortest of a few runs, by events; the last-level cache is filled with something else before."""
    kernel[(blocks,)](*arguments, **settings)
    torch.cuda.synchronize()
    times: list[float] = []
    for _ in range(REPEATS):
        FLUSH.zero_()
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        kernel[(blocks,)](*arguments, **settings)
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last) * 1e3)
    return min(times)


FLUSH = torch.empty(0)


def measure(elements: int, found: dict[str, list[dict[str, float]]]) -> None:
    """All series; each row has its settings and microseconds."""
    units = torch.cuda.get_device_properties(0).multi_processor_count
    x, y = (torch.zeros(elements, device="cuda") for _ in range(2))
    for warps in (1, 4, 8):
        for blocks in (units, 1 << 13, 1 << 16, 1 << 18, 1 << 20):
            us = microseconds(start, blocks, x, LIMIT=1 << 30, num_warps=warps)
            found["start"].append({"warps": warps, "blocks": blocks, "us": us})
    for name, kernel in (("stream", stream), ("copy", copy)):
        for warps, each in ((4, 4), (8, 4), (4, 16), (1, 4)):
            for per_unit in (1, 2, 4, 8, 16, 32):
                if warps * per_unit > 64:
                    continue
                block, blocks = warps * 32 * each, units * per_unit
                rounds = min(elements // (blocks * block), 4096)
                us = microseconds(kernel, blocks, x, y, rounds, blocks * block, BLOCK=block, num_warps=warps)
                found[name].append({"warps": warps, "elements_per_lane": each, "blocks_per_unit": per_unit,
                                    "rounds": rounds, "us": us})  # fmt: skip
    for warps in (1, 4, 8):
        for per_unit in (1, 4):
            for rounds in (64, 1024):
                size = warps * 32 * 4
                us = microseconds(reduce, units * per_unit, x, y, rounds, BLOCK=size, num_warps=warps)
                found["sum"].append({"warps": warps, "blocks_per_unit": per_unit, "rounds": rounds, "us": us})
    for words in (1, 1024, 1 << 20):
        for blocks in (units, units * 8):
            us = microseconds(add, blocks, x, 64, WORDS=words, BLOCK=256, num_warps=8)
            found["atomic"].append({"words": words, "blocks": blocks, "lanes": 256.0 * blocks * 64, "us": us})
    for warps in (1, 8, 32):
        us = microseconds(chain, units, x, y, 256, BLOCK=warps * 32, num_warps=warps)
        found["chain"].append({"warps": warps, "steps": 4096, "us": us})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/programs_latencies.json"))
    arguments = parser.parse_args()
    global FLUSH
    FLUSH = torch.empty(1 << 26, device="cuda")
    series: dict[str, list[dict[str, float]]] = {name: [] for name in SERIES}
    try:
        measure(STREAMED, series)
    finally:  # what was measured before a failure is worth keeping
        report = {"device": torch.cuda.get_device_name(0), "series": series}
        arguments.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
