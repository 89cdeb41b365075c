import torch
import triton
import triton.language as tl


# Autotuned tiles with a fast path: blocks fully inside the image skip every mask (the overwhelming majority).
@triton.autotune(
    configs=[
        triton.Config({"BH": 4, "BW": 256}, num_warps=4),
        triton.Config({"BH": 8, "BW": 256}, num_warps=4),
        triton.Config({"BH": 16, "BW": 128}, num_warps=4),
        triton.Config({"BH": 8, "BW": 512}, num_warps=8),
        triton.Config({"BH": 32, "BW": 64}, num_warps=4),
        triton.Config({"BH": 2, "BW": 1024}, num_warps=8),
    ],
    key=["H", "W"],
)
@triton.jit
def stencil5_fast(x_ptr, out_ptr, H, W, BH: tl.constexpr, BW: tl.constexpr):
    y0 = tl.program_id(1) * BH
    x0 = tl.program_id(0) * BW
    y = y0 + tl.arange(0, BH)[:, None]
    x = x0 + tl.arange(0, BW)[None, :]
    off = y * W + x
    p = x_ptr + off
    if (y0 > 0) & (x0 > 0) & (y0 + BH < H) & (x0 + BW < W):
        c = tl.load(p)
        around = tl.load(p - W) + tl.load(p + W) + tl.load(p - 1) + tl.load(p + 1)
        tl.store(out_ptr + off, 0.6 * c + 0.1 * around)
    else:
        mask = (y < H) & (x < W)
        inner = (y > 0) & (y < H - 1) & (x > 0) & (x < W - 1)
        c = tl.load(p, mask=mask, other=0.0)
        around = tl.load(p - W, mask=inner, other=0.0) + tl.load(p + W, mask=inner, other=0.0)
        around += tl.load(p - 1, mask=inner, other=0.0) + tl.load(p + 1, mask=inner, other=0.0)
        tl.store(out_ptr + off, tl.where(inner, 0.6 * c + 0.1 * around, c), mask=mask)


def kernel(x):
    H, W = x.shape
    out = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(W, meta["BW"]), triton.cdiv(H, meta["BH"]))
    stencil5_fast[grid](x, out, H, W)
    return out
