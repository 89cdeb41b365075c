# task: prefix_sum
import torch
import triton
import triton.language as tl


@triton.jit
def scan(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row + i, mask=i < columns, other=0.0)
    tl.store(out + row + i, tl.cumsum(v, 0), mask=i < columns)


def kernel(x):
    out = torch.empty_like(x)
    scan[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=8)
    return out
