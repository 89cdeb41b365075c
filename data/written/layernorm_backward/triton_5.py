import torch
import triton
import triton.language as tl


@triton.jit
def _add4(a0, a1, a2, a3, b0, b1, b2, b3):
    return a0 + b0, a1 + b1, a2 + b2, a3 + b3


@triton.jit
def ln_bwd_onereduce(x_ptr, dy_ptr, gamma_ptr, dx_ptr, cols, BLOCK: tl.constexpr):
    # All four sums in one tuple reduction: a single trip through shared memory instead of four, so one barrier
    # between the loads and the store. To keep the one-pass variance well conditioned, x is shifted by its first
    # element (any shift cancels exactly in xc).
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < cols
    base = row.to(tl.int64) * cols
    shift = tl.load(x_ptr + base).to(tl.float32)
    x = tl.load(x_ptr + base + offs, mask=mask, other=0.0, cache_modifier=".cg").to(tl.float32)
    dy = tl.load(dy_ptr + base + offs, mask=mask, other=0.0, cache_modifier=".cg").to(tl.float32)
    g = tl.load(gamma_ptr + offs, mask=mask, other=0.0, eviction_policy="evict_last").to(tl.float32)
    xs = tl.where(mask, x - shift, 0.0)
    w = dy * g
    s0, s1, s2, s3 = tl.reduce((xs, xs * xs, w, w * xs), 0, _add4)
    inv = 1.0 / cols
    m = s0 * inv
    var = tl.maximum(s1 * inv - m * m, 0.0)
    rstd = tl.rsqrt(var + 1e-5)
    mw = s2 * inv
    k = (s3 * inv - m * mw) * rstd * rstd
    # dx = rstd * (w - mw - (xs - m) * k) = a * w + b * xs + c
    a = rstd
    b = -rstd * k
    c = rstd * (m * k - mw)
    tl.store(dx_ptr + base + offs, (a * w + b * xs + c).to(tl.float16), mask=mask, cache_modifier=".cs")


def kernel(x, dy, gamma):
    rows, cols = x.shape
    dx = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    ln_bwd_onereduce[(rows,)](x, dy, gamma, dx, cols, BLOCK=block, num_warps=max(1, min(8, block // 512)))
    return dx
