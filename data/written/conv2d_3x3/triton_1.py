import torch
import triton
import triton.language as tl


# Direct convolution: each program computes BLOCK pixels of one output plane with scalar weights.
@triton.jit
def conv3x3_direct(x_ptr, w_ptr, out_ptr, C, O, H, W, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    o = tl.program_id(1)
    n = tl.program_id(2).to(tl.int64)
    pix = pid * BLOCK + tl.arange(0, BLOCK)
    y = pix // W
    xx = pix % W
    inside = pix < H * W
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for c in range(0, C):
        plane = x_ptr + (n * C + c) * H * W
        for ky in tl.static_range(3):
            for kx in tl.static_range(3):
                iy = y + (ky - 1)
                ix = xx + (kx - 1)
                m = inside & (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
                v = tl.load(plane + iy * W + ix, mask=m, other=0.0).to(tl.float32)
                wt = tl.load(w_ptr + ((o * C + c) * 3 + ky) * 3 + kx).to(tl.float32)
                acc += v * wt
    tl.store(out_ptr + (n * O + o) * H * W + pix, acc.to(tl.float16), mask=inside)


def kernel(x, weights):
    N, C, H, W = x.shape
    O = weights.shape[0]
    out = torch.empty((N, O, H, W), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(H * W, 256), O, N)
    conv3x3_direct[grid](x, weights, out, C, O, H, W, BLOCK=256)
    return out
