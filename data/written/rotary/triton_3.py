import torch
import triton
import triton.language as tl


@triton.jit
def rotary_flat(x_ptr, cos_ptr, sin_ptr, out_ptr, n_pairs, heads, HALF: tl.constexpr, BLOCK: tl.constexpr):
    # Flat over (token, head, i) pairs: always full blocks whatever the number of heads. HALF is constexpr, so the
    # division and modulo become shifts for powers of two.
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = p < n_pairs
    i = p % HALF
    th = p // HALF          # token * heads + head
    token = th // heads
    xo = th * (2 * HALF) + i
    co = token * HALF + i
    a = tl.load(x_ptr + xo, mask=mask)
    b = tl.load(x_ptr + xo + HALF, mask=mask)
    c = tl.load(cos_ptr + co, mask=mask).to(tl.float32)
    s = tl.load(sin_ptr + co, mask=mask).to(tl.float32)
    a = a.to(tl.float32)
    b = b.to(tl.float32)
    tl.store(out_ptr + xo, (a * c - b * s).to(tl.float16), mask=mask)
    tl.store(out_ptr + xo + HALF, (b * c + a * s).to(tl.float16), mask=mask)


def kernel(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    half = dim // 2
    n_pairs = tokens * heads * half
    BLOCK = 1024
    rotary_flat[(triton.cdiv(n_pairs, BLOCK),)](x, cos, sin, out, n_pairs, heads, HALF=half, BLOCK=BLOCK, num_warps=4)
    return out
