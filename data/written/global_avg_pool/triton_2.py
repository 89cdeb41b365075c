import torch
import triton
import triton.language as tl


# 2D tile [pixels, channels], reduction over axis 0 once at the end; lots of loads in flight.
@triton.jit
def gap_tile(x_ptr, out_ptr, P, C, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    p = tl.arange(0, BLOCK_P)
    base = x_ptr + b * P * C
    acc = tl.zeros((BLOCK_P, BLOCK_C), dtype=tl.float32)
    for p0 in range(0, P, BLOCK_P):
        q = p0 + p
        m = (q < P)[:, None] & (c < C)[None, :]
        acc += tl.load(base + q[:, None] * C + c[None, :], mask=m, other=0.0).to(tl.float32)
    s = tl.sum(acc, axis=0) / P
    tl.store(out_ptr + b * C + c, s.to(tl.bfloat16), mask=c < C)


def kernel(x):
    B, H, W, C = x.shape
    out = torch.empty((B, C), device=x.device, dtype=x.dtype)
    BLOCK_C = 64
    gap_tile[(B, triton.cdiv(C, BLOCK_C))](x, out, H * W, C, BLOCK_P=32, BLOCK_C=BLOCK_C, num_warps=4)
    return out
