import torch
import triton
import triton.language as tl


@triton.jit
def laplace_naive(x_ptr, out_ptr, D, H, W, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < total
    x = i % W
    y = (i // W) % H
    z = i // (W * H)
    inner = mask & (x > 0) & (x < W - 1) & (y > 0) & (y < H - 1) & (z > 0) & (z < D - 1)
    p = x_ptr + i
    acc = tl.load(p - H * W, mask=inner, other=0.0) + tl.load(p + H * W, mask=inner, other=0.0)
    acc += tl.load(p - W, mask=inner, other=0.0) + tl.load(p + W, mask=inner, other=0.0)
    acc += tl.load(p - 1, mask=inner, other=0.0) + tl.load(p + 1, mask=inner, other=0.0)
    acc -= 6.0 * tl.load(p, mask=inner, other=0.0)
    tl.store(out_ptr + i, acc, mask=mask)


def kernel(x):
    D, H, W = x.shape
    out = torch.empty_like(x)
    n = x.numel()
    laplace_naive[(triton.cdiv(n, 512),)](x, out, D, H, W, n, BLOCK=512)
    return out
