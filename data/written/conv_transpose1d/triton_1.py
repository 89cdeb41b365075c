import torch
import triton
import triton.language as tl


# Gather form. out[j] with j = 2*i + k - 1: even j = 2m uses x[m]*w[1] + x[m-1]*w[3]; odd j uses x[m+1]*w[0] + x[m]*w[2].
@triton.jit
def convt_naive(x_ptr, w_ptr, out_ptr, C, O, L, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o = tl.program_id(1)
    b = tl.program_id(2).to(tl.int64)
    m = j // 2
    odd = j % 2
    i1 = tl.where(odd == 1, m + 1, m)
    i2 = tl.where(odd == 1, m, m - 1)
    k1 = tl.where(odd == 1, 0, 1)
    k2 = k1 + 2
    ok1 = (i1 < L) & (j < 2 * L)
    ok2 = (i2 >= 0) & (i2 < L) & (j < 2 * L)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for c in range(0, C):
        xr = x_ptr + (b * C + c) * L
        wr = w_ptr + (c * O + o) * 4
        acc += tl.load(xr + i1, mask=ok1, other=0.0).to(tl.float32) * tl.load(wr + k1).to(tl.float32)
        acc += tl.load(xr + i2, mask=ok2, other=0.0).to(tl.float32) * tl.load(wr + k2).to(tl.float32)
    tl.store(out_ptr + (b * O + o) * 2 * L + j, acc.to(tl.float16), mask=j < 2 * L)


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[1]
    out = torch.empty((B, O, 2 * L), device=x.device, dtype=x.dtype)
    convt_naive[(triton.cdiv(2 * L, 256), O, B)](x, weights, out, C, O, L, BLOCK=256)
    return out
