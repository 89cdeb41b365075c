import torch
import triton
import triton.language as tl


# One program per (batch, row). Masked load only touches columns <= row, so about half of the input is never read.
@triton.jit
def causal_softmax(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    row = pid % size
    cols = tl.arange(0, BLOCK)
    base = pid.to(tl.int64) * size
    x = tl.load(x_ptr + base + cols, mask=cols <= row, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    e = tl.exp(x - m)
    y = e / tl.sum(e, axis=0)
    tl.store(out_ptr + base + cols, y.to(tl.bfloat16), mask=cols < size)


def kernel(x):
    batch, size, _ = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(size)
    causal_softmax[(batch * size,)](x, out, size, BLOCK=BLOCK, num_warps=8 if BLOCK > 1024 else 4)
    return out
