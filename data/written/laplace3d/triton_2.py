import torch
import triton
import triton.language as tl


# 2D (y, x) tile per z plane; z neighbours come from L2.
@triton.jit
def laplace_tile(x_ptr, out_ptr, D, H, W, BY: tl.constexpr, BX: tl.constexpr):
    z = tl.program_id(2)
    y = tl.program_id(1) * BY + tl.arange(0, BY)[:, None]
    x = tl.program_id(0) * BX + tl.arange(0, BX)[None, :]
    off = (z * H + y) * W + x
    mask = (y < H) & (x < W)
    inner = (z > 0) & (z < D - 1) & (y > 0) & (y < H - 1) & (x > 0) & (x < W - 1)
    p = x_ptr + off
    c = tl.load(p, mask=inner, other=0.0)
    deep = tl.load(p - H * W, mask=inner, other=0.0) + tl.load(p + H * W, mask=inner, other=0.0)
    high = tl.load(p - W, mask=inner, other=0.0) + tl.load(p + W, mask=inner, other=0.0)
    wide = tl.load(p - 1, mask=inner, other=0.0) + tl.load(p + 1, mask=inner, other=0.0)
    tl.store(out_ptr + off, deep + high + wide - 6.0 * c, mask=mask)


def kernel(x):
    D, H, W = x.shape
    out = torch.empty_like(x)
    BY, BX = 8, 128
    laplace_tile[(triton.cdiv(W, BX), triton.cdiv(H, BY), D)](x, out, D, H, W, BY=BY, BX=BX, num_warps=4)
    return out
