import torch
import triton
import triton.language as tl


# Flat version: every program handles BLOCK consecutive output elements of the whole tensor.
@triton.jit
def dw3x3_flat(x_ptr, w_ptr, out_ptr, total, C, H, W, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < total
    xx = i % W
    y = (i // W) % H
    c = (i // (W * H)) % C
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for ky in tl.static_range(3):
        for kx in tl.static_range(3):
            iy = y + ky - 1
            ix = xx + kx - 1
            m = mask & (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
            v = tl.load(x_ptr + i + (ky - 1) * W + (kx - 1), mask=m, other=0.0).to(tl.float32)
            wt = tl.load(w_ptr + c * 9 + ky * 3 + kx, mask=mask, other=0.0).to(tl.float32)
            acc += v * wt
    tl.store(out_ptr + i, acc.to(tl.float16), mask=mask)


def kernel(x, weights):
    B, C, H, W = x.shape
    out = torch.empty_like(x)
    n = x.numel()
    dw3x3_flat[(triton.cdiv(n, 1024),)](x, weights, out, n, C, H, W, BLOCK=1024)
    return out
