import torch
import triton
import triton.language as tl


# One program per (plane, strip of rows): 2D tile BLOCK_H x BLOCK_W, weights are nine scalars loaded once.
@triton.jit
def dw3x3_tile(x_ptr, w_ptr, out_ptr, C, H, W, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr):
    plane = tl.program_id(0)
    c = plane % C
    y = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    xx = tl.program_id(2) * BLOCK_W + tl.arange(0, BLOCK_W)
    base = x_ptr + plane.to(tl.int64) * H * W
    acc = tl.zeros((BLOCK_H, BLOCK_W), dtype=tl.float32)
    for ky in tl.static_range(3):
        iy = y + (ky - 1)
        row_ok = (iy >= 0) & (iy < H)
        for kx in tl.static_range(3):
            ix = xx + (kx - 1)
            wt = tl.load(w_ptr + c * 9 + ky * 3 + kx).to(tl.float32)
            m = row_ok[:, None] & (ix >= 0)[None, :] & (ix < W)[None, :]
            v = tl.load(base + iy[:, None] * W + ix[None, :], mask=m, other=0.0)
            acc += v.to(tl.float32) * wt
    m = (y < H)[:, None] & (xx < W)[None, :]
    tl.store(out_ptr + plane.to(tl.int64) * H * W + y[:, None] * W + xx[None, :], acc.to(tl.float16), mask=m)


def kernel(x, weights):
    B, C, H, W = x.shape
    out = torch.empty_like(x)
    BLOCK_W = min(128, triton.next_power_of_2(W))
    BLOCK_H = 16
    grid = (B * C, triton.cdiv(H, BLOCK_H), triton.cdiv(W, BLOCK_W))
    dw3x3_tile[grid](x, weights, out, C, H, W, BLOCK_H=BLOCK_H, BLOCK_W=BLOCK_W, num_warps=4)
    return out
