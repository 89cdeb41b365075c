import torch
import triton
import triton.language as tl


# Both phases in one program: x[m] is shared, the accumulators are interleaved in registers so the store is one
# contiguous run of 2*BLOCK_L halves. Weights repacked to [4, O, C] beforehand.
@triton.jit
def repack(w_ptr, wp_ptr, C, O, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < 4 * O * C
    c = i % C
    o = (i // C) % O
    k = i // (C * O)
    tl.store(wp_ptr + i, tl.load(w_ptr + (c * O + o) * 4 + k, mask=mask), mask=mask)


@triton.jit
def convt_interleaved(
    x_ptr, wp_ptr, out_ptr, C, O, L,
    BLOCK_O: tl.constexpr, BLOCK_L: tl.constexpr, BLOCK_C: tl.constexpr,
):
    o = tl.program_id(0) * BLOCK_O + tl.arange(0, BLOCK_O)
    m = tl.program_id(1) * BLOCK_L + tl.arange(0, BLOCK_L)
    b = tl.program_id(2).to(tl.int64)
    even = tl.zeros((BLOCK_O, BLOCK_L), dtype=tl.float32)
    odd = tl.zeros((BLOCK_O, BLOCK_L), dtype=tl.float32)
    OC = O * C
    for c0 in range(0, C, BLOCK_C):
        c = c0 + tl.arange(0, BLOCK_C)
        cm = (c < C)[:, None]
        xp = x_ptr + b * C * L + c[:, None] * L + m[None, :]
        mid = tl.load(xp, mask=cm & (m < L)[None, :], other=0.0)
        prev = tl.load(xp - 1, mask=cm & (m > 0)[None, :] & (m - 1 < L)[None, :], other=0.0)
        nxt = tl.load(xp + 1, mask=cm & (m + 1 < L)[None, :], other=0.0)
        wp = wp_ptr + o[:, None] * C + c[None, :]
        wm = (o < O)[:, None] & (c < C)[None, :]
        even = tl.dot(tl.load(wp + OC, mask=wm, other=0.0), mid, even)
        odd = tl.dot(tl.load(wp + 2 * OC, mask=wm, other=0.0), mid, odd)
        even = tl.dot(tl.load(wp + 3 * OC, mask=wm, other=0.0), prev, even)
        odd = tl.dot(tl.load(wp, mask=wm, other=0.0), nxt, odd)
    res = tl.interleave(even.to(tl.float16), odd.to(tl.float16))
    j = tl.program_id(1) * (2 * BLOCK_L) + tl.arange(0, 2 * BLOCK_L)
    tl.store(
        out_ptr + b * O * 2 * L + o[:, None] * (2 * L) + j[None, :], res,
        mask=(o < O)[:, None] & (j < 2 * L)[None, :],
    )


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[1]
    out = torch.empty((B, O, 2 * L), device=x.device, dtype=x.dtype)
    wp = torch.empty((4, O, C), device=x.device, dtype=x.dtype)
    repack[(triton.cdiv(4 * O * C, 1024),)](weights, wp, C, O, BLOCK=1024)
    grid = (triton.cdiv(O, 64), triton.cdiv(L, 128), B)
    convt_interleaved[grid](
        x, wp, out, C, O, L, BLOCK_O=64, BLOCK_L=128, BLOCK_C=32, num_warps=8, num_stages=3
    )
    return out
