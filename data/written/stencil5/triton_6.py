import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


# TMA: out-of-bounds boxes come back as zero, so shifted boxes need no masks at all. Five TMA box loads per tile (four
# of them L2 hits). W is a multiple of 4 in every shape (16-byte row pitch), otherwise fall back to plain tiles.
@triton.jit
def stencil5_tma(x_desc, out_desc, H, W, BH: tl.constexpr, BW: tl.constexpr):
    y0 = tl.program_id(1) * BH
    x0 = tl.program_id(0) * BW
    c = x_desc.load([y0, x0])
    n = x_desc.load([y0 - 1, x0])
    s = x_desc.load([y0 + 1, x0])
    w = x_desc.load([y0, x0 - 1])
    e = x_desc.load([y0, x0 + 1])
    y = y0 + tl.arange(0, BH)[:, None]
    x = x0 + tl.arange(0, BW)[None, :]
    inner = (y > 0) & (y < H - 1) & (x > 0) & (x < W - 1)
    out_desc.store([y0, x0], tl.where(inner, 0.6 * c + 0.1 * (n + s + w + e), c))


@triton.jit
def stencil5_plain(x_ptr, out_ptr, H, W, BH: tl.constexpr, BW: tl.constexpr):
    y = tl.program_id(1) * BH + tl.arange(0, BH)[:, None]
    x = tl.program_id(0) * BW + tl.arange(0, BW)[None, :]
    p = x_ptr + y * W + x
    inner = (y > 0) & (y < H - 1) & (x > 0) & (x < W - 1)
    c = tl.load(p, mask=(y < H) & (x < W), other=0.0)
    a = tl.load(p - W, mask=inner, other=0.0) + tl.load(p + W, mask=inner, other=0.0)
    a += tl.load(p - 1, mask=inner, other=0.0) + tl.load(p + 1, mask=inner, other=0.0)
    tl.store(out_ptr + y * W + x, tl.where(inner, 0.6 * c + 0.1 * a, c), mask=(y < H) & (x < W))


def kernel(x):
    H, W = x.shape
    out = torch.empty_like(x)
    BH, BW = 16, 128
    grid = (triton.cdiv(W, BW), triton.cdiv(H, BH))
    if W % 4 == 0:
        x_desc = TensorDescriptor.from_tensor(x, [BH, BW])
        out_desc = TensorDescriptor.from_tensor(out, [BH, BW])
        stencil5_tma[grid](x_desc, out_desc, H, W, BH=BH, BW=BW, num_warps=4)
    else:
        stencil5_plain[grid](x, out, H, W, BH=BH, BW=BW, num_warps=4)
    return out
