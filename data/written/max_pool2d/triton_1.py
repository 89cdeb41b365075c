import torch
import triton
import triton.language as tl


@triton.jit
def maxpool_naive(x_ptr, out_ptr, total, H, W, OH, OW, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < total
    ox = i % OW
    oy = (i // OW) % OH
    p = i // (OW * OH)
    best = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
    for ky in range(3):
        for kx in range(3):
            y = oy * 2 - 1 + ky
            x = ox * 2 - 1 + kx
            m = mask & (y >= 0) & (y < H) & (x >= 0) & (x < W)
            v = tl.load(x_ptr + p * H * W + y * W + x, mask=m, other=float("-inf"))
            best = tl.maximum(best, v.to(tl.float32))
    tl.store(out_ptr + i, best.to(tl.float16), mask=mask)


def kernel(x):
    P, H, W = x.shape
    OH, OW = (H + 1) // 2, (W + 1) // 2
    out = torch.empty((P, OH, OW), device=x.device, dtype=x.dtype)
    total = out.numel()
    maxpool_naive[(triton.cdiv(total, 512),)](x, out, total, H, W, OH, OW, BLOCK=512)
    return out
