# problem: 64_quarter_mean.problem.py
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def part(a, b, sums, total, STEP: tl.constexpr, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    blocks = total // BLOCK
    for i in tl.range(tl.program_id(0) * STEP, blocks, tl.num_programs(0) * STEP, num_stages=3):
        at = i.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        d = tl.load(a + at) - tl.load(b + at)
        acc += d * d
    tl.store(sums + tl.program_id(0), tl.sum(acc.to(tl.float64), 0))


@triton.jit
def join(sums, out, count, share, N: tl.constexpr):
    i = tl.arange(0, N)
    s = tl.sum(tl.load(sums + i, mask=i < count, other=0.0), 0)
    tl.store(out, (s * share).to(tl.float32))


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        out = torch.empty((), dtype=torch.float32, device=predictions.device)
        sums = torch.empty(1056, dtype=torch.float64, device=predictions.device)
        total = predictions.numel()
        part[(1056,)](predictions, targets, sums, total, 1, 4096, num_warps=8)
        join[(1,)](sums, out, 1056, float(1) / total, 2048)
        return out
