import torch
import triton
import triton.language as tl


# z-march, but the in-plane part as two small banded matmuls on tensor cores would lose precision (tf32), so instead
# use register-only neighbours: load a tile with halo of size BY x BX where only the inner (BY-2) x (BX-2) is written, and
# get y / x neighbours with tl.gather along the axes (one global load per plane and point).
@triton.jit
def laplace_gather(x_ptr, out_ptr, D, H, W, ZB, BY: tl.constexpr, BX: tl.constexpr):
    iy = tl.arange(0, BY)
    ix = tl.arange(0, BX)
    y = tl.program_id(1) * (BY - 2) + iy[:, None] - 1
    x = tl.program_id(0) * (BX - 2) + ix[None, :] - 1
    z0 = tl.program_id(2) * ZB
    z1 = tl.minimum(z0 + ZB, D)
    HW = H * W
    off = y * W + x
    live = (y >= 0) & (y < H) & (x >= 0) & (x < W)
    own = live & (iy > 0)[:, None] & (iy < BY - 1)[:, None] & (ix > 0)[None, :] & (ix < BX - 1)[None, :]
    side = (y > 0) & (y < H - 1) & (x > 0) & (x < W - 1)
    zero = tl.zeros((BY, BX), dtype=tl.int32)
    up = tl.maximum(iy - 1, 0)[:, None] + zero
    down = tl.minimum(iy + 1, BY - 1)[:, None] + zero
    left = tl.maximum(ix - 1, 0)[None, :] + zero
    right = tl.minimum(ix + 1, BX - 1)[None, :] + zero
    prev = tl.load(x_ptr + (z0 - 1) * HW + off, mask=live & (z0 > 0), other=0.0)
    cur = tl.load(x_ptr + z0 * HW + off, mask=live, other=0.0)
    for z in range(z0, z1):
        nxt = tl.load(x_ptr + (z + 1) * HW + off, mask=live & (z + 1 < D), other=0.0)
        flat = tl.gather(cur, up, 0) + tl.gather(cur, down, 0)
        flat += tl.gather(cur, left, 1) + tl.gather(cur, right, 1)
        r = prev + nxt + flat - 6.0 * cur
        r = tl.where(side & (z > 0) & (z < D - 1), r, 0.0)
        tl.store(out_ptr + z * HW + off, r, mask=own)
        prev = cur
        cur = nxt


def kernel(x):
    D, H, W = x.shape
    out = torch.empty_like(x)
    BY, BX = 16, 128
    ZB = 32
    grid = (triton.cdiv(W, BX - 2), triton.cdiv(H, BY - 2), triton.cdiv(D, ZB))
    laplace_gather[grid](x, out, D, H, W, ZB, BY=BY, BX=BX, num_warps=8)
    return out
