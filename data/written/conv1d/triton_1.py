import torch
import triton
import triton.language as tl


# First version: one program per (batch, output channel, block of positions), plain FMA over channels and taps.
@triton.jit
def conv1d_naive_kernel(x_ptr, w_ptr, out_ptr, C, O, L, BLOCK_L: tl.constexpr):
    pid_l = tl.program_id(0)
    o = tl.program_id(1)
    b = tl.program_id(2)
    offs = pid_l * BLOCK_L + tl.arange(0, BLOCK_L)
    acc = tl.zeros((BLOCK_L,), dtype=tl.float32)
    x_base = x_ptr + b * C * L
    w_base = w_ptr + o * C * 5
    for c in range(0, C):
        for k in tl.static_range(5):
            pos = offs + (k - 2)
            xv = tl.load(x_base + c * L + pos, mask=(pos >= 0) & (pos < L), other=0.0).to(tl.float32)
            wv = tl.load(w_base + c * 5 + k).to(tl.float32)
            acc += xv * wv
    tl.store(out_ptr + (b * O + o) * L + offs, acc.to(tl.float16), mask=offs < L)


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[0]
    out = torch.empty((B, O, L), device=x.device, dtype=x.dtype)
    BLOCK_L = 256
    grid = (triton.cdiv(L, BLOCK_L), O, B)
    conv1d_naive_kernel[grid](x, weights, out, C, O, L, BLOCK_L=BLOCK_L)
    return out
