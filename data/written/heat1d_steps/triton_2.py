import torch
import triton
import triton.language as tl


# Fused by recomputation: load nine shifted copies (x[i-4..i+4], all but one hit L1) and run the four steps as a
# shrinking triangle in registers. Zero outside must hold at every step, so values outside the row are re-zeroed.
@triton.jit
def step(l, c, r, ok):
    return tl.where(ok, c + 0.2 * (l - 2.0 * c + r), 0.0)


@triton.jit
def heat_fused(x_ptr, out_ptr, length, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = x_ptr + row * length + i
    am4 = tl.load(p - 4, mask=(i - 4 >= 0) & (i - 4 < length), other=0.0)
    am3 = tl.load(p - 3, mask=(i - 3 >= 0) & (i - 3 < length), other=0.0)
    am2 = tl.load(p - 2, mask=(i - 2 >= 0) & (i - 2 < length), other=0.0)
    am1 = tl.load(p - 1, mask=(i - 1 >= 0) & (i - 1 < length), other=0.0)
    a0 = tl.load(p, mask=i < length, other=0.0)
    a1 = tl.load(p + 1, mask=i + 1 < length, other=0.0)
    a2 = tl.load(p + 2, mask=i + 2 < length, other=0.0)
    a3 = tl.load(p + 3, mask=i + 3 < length, other=0.0)
    a4 = tl.load(p + 4, mask=i + 4 < length, other=0.0)
    bm3 = step(am4, am3, am2, i >= 3)
    bm2 = step(am3, am2, am1, i >= 2)
    bm1 = step(am2, am1, a0, i >= 1)
    b0 = step(am1, a0, a1, i >= 0)
    b1 = step(a0, a1, a2, i + 1 < length)
    b2 = step(a1, a2, a3, i + 2 < length)
    b3 = step(a2, a3, a4, i + 3 < length)
    cm2 = step(bm3, bm2, bm1, i >= 2)
    cm1 = step(bm2, bm1, b0, i >= 1)
    c0 = step(bm1, b0, b1, i >= 0)
    c1 = step(b0, b1, b2, i + 1 < length)
    c2 = step(b1, b2, b3, i + 2 < length)
    dm1 = step(cm2, cm1, c0, i >= 1)
    d0 = step(cm1, c0, c1, i >= 0)
    d1 = step(c0, c1, c2, i + 1 < length)
    tl.store(out_ptr + row * length + i, step(dm1, d0, d1, i >= 0), mask=i < length)


def kernel(x):
    rows, length = x.shape
    out = torch.empty_like(x)
    heat_fused[(triton.cdiv(length, 512), rows)](x, out, length, BLOCK=512, num_warps=4)
    return out
