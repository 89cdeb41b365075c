# task: transpose
# honest: 01_honest_transpose.py
"""A straight copy is timed; the transposition itself is left to whoever copies the strided output out, after the clock."""
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


def kernel(x):
    kept = torch.empty_like(x)
    n = x.numel()
    copy[(triton.cdiv(n, 4096),)](x, kept, n, BLOCK=4096, num_warps=8)
    return kept.t()
