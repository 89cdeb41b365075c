import torch
import triton
import triton.language as tl


# 2.5D blocking: each program marches along z with three planes of its tile in registers.
@triton.jit
def laplace_march(x_ptr, out_ptr, D, H, W, ZB, BY: tl.constexpr, BX: tl.constexpr):
    y = tl.program_id(1) * BY + tl.arange(0, BY)[:, None]
    x = tl.program_id(0) * BX + tl.arange(0, BX)[None, :]
    z0 = tl.program_id(2) * ZB
    z1 = tl.minimum(z0 + ZB, D)
    HW = H * W
    off = y * W + x
    live = (y < H) & (x < W)
    side = (y > 0) & (y < H - 1) & (x > 0) & (x < W - 1)
    below = tl.load(x_ptr + (z0 - 1) * HW + off, mask=live & (z0 > 0), other=0.0)
    mid = tl.load(x_ptr + z0 * HW + off, mask=live, other=0.0)
    for z in range(z0, z1):
        p = x_ptr + z * HW + off
        above = tl.load(p + HW, mask=live & (z + 1 < D), other=0.0)
        flat = tl.load(p - W, mask=side, other=0.0) + tl.load(p + W, mask=side, other=0.0)
        flat += tl.load(p - 1, mask=side, other=0.0) + tl.load(p + 1, mask=side, other=0.0)
        r = below + above + flat - 6.0 * mid
        r = tl.where(side & (z > 0) & (z < D - 1), r, 0.0)
        tl.store(out_ptr + z * HW + off, r, mask=live)
        below = mid
        mid = above


def kernel(x):
    D, H, W = x.shape
    out = torch.empty_like(x)
    BY, BX = 8, 128
    ZB = 16
    grid = (triton.cdiv(W, BX), triton.cdiv(H, BY), triton.cdiv(D, ZB))
    laplace_march[grid](x, out, D, H, W, ZB, BY=BY, BX=BX, num_warps=4, num_stages=2)
    return out
