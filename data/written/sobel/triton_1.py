import torch
import triton
import triton.language as tl


# 1-D: each program computes a piece of one row from 8 shifted loads.
@triton.jit
def sobel_kernel(x_ptr, out_ptr, height, width, BLOCK: tl.constexpr):
    y = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (y > 0) & (y < height - 1) & (c > 0) & (c < width - 1)
    p = x_ptr + y.to(tl.int64) * width + c
    nw = tl.load(p - width - 1, mask=inside, other=0.0)
    n = tl.load(p - width, mask=inside, other=0.0)
    ne = tl.load(p - width + 1, mask=inside, other=0.0)
    w = tl.load(p - 1, mask=inside, other=0.0)
    e = tl.load(p + 1, mask=inside, other=0.0)
    sw = tl.load(p + width - 1, mask=inside, other=0.0)
    s = tl.load(p + width, mask=inside, other=0.0)
    se = tl.load(p + width + 1, mask=inside, other=0.0)
    gx = (ne - nw) + 2.0 * (e - w) + (se - sw)
    gy = (sw - nw) + 2.0 * (s - n) + (se - ne)
    g = tl.sqrt(gx * gx + gy * gy)
    tl.store(out_ptr + y.to(tl.int64) * width + c, g, mask=c < width)


def kernel(x):
    height, width = x.shape
    out = torch.empty_like(x)
    BLOCK = 512
    sobel_kernel[(height, triton.cdiv(width, BLOCK))](x, out, height, width, BLOCK=BLOCK, num_warps=4)
    return out
