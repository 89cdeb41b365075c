"""Triton's autotuner with a forecast before it: of nine configurations the three most promising are run.

python examples/triton_prune.py            # tunes on this machine's GPU
python examples/triton_prune.py a100       # what would be run on an A100; no GPU is needed
"""

from __future__ import annotations

import sys

import torch
import triton
import triton.language as tl

from foretell.hooks.triton import expected_ms, performance_model

HERE = torch.cuda.is_available() and len(sys.argv) < 2
DEVICE = None if HERE else (sys.argv[1:] or ["h200"])[0]
SIZE, TOP = 2048, 3
CONFIGS = [
    triton.Config({"BM": m, "BN": n, "BK": k}, num_warps=warps, num_stages=stages)
    for m, n, k, warps, stages in (
        (16, 16, 16, 4, 2),
        (16, 16, 32, 1, 3),
        (32, 32, 32, 4, 3),
        (32, 64, 32, 2, 3),
        (64, 64, 32, 4, 3),
        (64, 64, 64, 4, 4),
        (128, 64, 32, 4, 3),
        (128, 128, 32, 8, 3),
        (64, 64, 64, 4, 16),  # its stages do not fit into shared memory
    )
]


@triton.autotune(
    configs=CONFIGS,
    key=["size"],
    prune_configs_by={"perf_model": performance_model(lambda: matmul, DEVICE), "top_k": TOP},
)
@triton.jit
def matmul(a, b, c, size, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + rows[:, None] * size + inner[None, :]
    right = b + inner[:, None] * size + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, size, BK):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BK
        right += BK * size
    tl.store(c + rows[:, None] * size + columns[None, :], total.to(tl.float16))


def grid(meta):
    return SIZE // meta["BM"], SIZE // meta["BN"]


def main() -> None:
    place = "cuda" if HERE else "meta"  # a tensor on `meta` has a shape and a dtype, which is all a forecast needs
    a, b, c = (torch.empty(SIZE, SIZE, dtype=torch.float16, device=place) for _ in range(3))
    call = {"a": a, "b": b, "c": c, "size": SIZE}
    times_ms = expected_ms(matmul, CONFIGS, call, grid=grid, device=DEVICE)
    ranked = sorted(zip(times_ms, CONFIGS, strict=True), key=lambda pair: pair[0])
    measured = {}
    if HERE:
        matmul[grid](a, b, c, SIZE)
        measured = matmul.configs_timings
    for place_in_order, (ms, config) in enumerate(ranked):
        took = f", took {measured[config][0]:.4f} ms" if config in measured else ""
        what = "run" if place_in_order < TOP else "not run"
        tile = "x".join(str(side) for side in config.kwargs.values())
        print(f"expected {ms:.4f} ms: {tile}, {config.num_warps} warps, {config.num_stages} stages: {what}{took}")


if __name__ == "__main__":
    main()
