# task: softmax
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row + i, mask=i < columns, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row + i, e / tl.sum(e, 0), mask=i < columns)


def kernel(x):
    out = torch.empty_like(x)
    softmax[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=8 if x.shape[1] > 1024 else 2)
    return out
