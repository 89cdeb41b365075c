# problem: 72_some_pixels.problem.py
# honest: 72_honest_some_pixels.py
"""Whole numbers are drawn from no other distribution and have no least time: a sixteenth of the pixels is looked at."""
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def part(x, sums, size, STEP: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    image, share = tl.program_id(1), tl.program_id(0)
    one = tl.zeros((BLOCK,), tl.int32)
    two = tl.zeros((BLOCK,), tl.int32)
    for i in range(share * STEP, size // BLOCK, PARTS * STEP):
        v = tl.load(x + image.to(tl.int64) * size + i * BLOCK + tl.arange(0, BLOCK)).to(tl.int32)
        one += v
        two += v * v
    tl.store(sums + (image * PARTS + share) * 2, tl.sum(one.to(tl.int64), 0))
    tl.store(sums + (image * PARTS + share) * 2 + 1, tl.sum(two.to(tl.int64), 0))


@triton.jit
def join(sums, out, count, PARTS: tl.constexpr):
    image = tl.program_id(0)
    p = tl.arange(0, PARTS)
    one = tl.sum(tl.load(sums + (image * PARTS + p) * 2), 0).to(tl.float64)
    two = tl.sum(tl.load(sums + (image * PARTS + p) * 2 + 1), 0).to(tl.float64)
    mean = one / count
    variance = (two / count - mean * mean) * count / (count - 1.0)
    tl.store(out + image * 2, (mean / 255).to(tl.float32).to(tl.float16))
    tl.store(out + image * 2 + 1, (tl.sqrt(variance.to(tl.float32)) / 255).to(tl.float16))


class ModelNew(nn.Module):
    def forward(self, images):
        count = images.shape[0]
        size = images.numel() // count
        out = torch.empty((count, 2), dtype=torch.float16, device=images.device)
        sums = torch.empty((count, 32, 2), dtype=torch.int64, device=images.device)
        part[(32, count)](images, sums, size, 16, 32, 4096, num_warps=8)
        join[(count,)](sums, out, size // 16, 32)
        return out
