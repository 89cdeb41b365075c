import torch
import triton
import triton.language as tl


# Per-lane online state: no cross-thread reduction inside the loop at all; the lanes are merged once at the end.
# exp2 domain: x is scaled by log2(e) once, so every exp is a bare ex2.approx.
@triton.jit
def lse_lanes(x_ptr, out_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    m = tl.full([BLOCK_N], -1e30, tl.float32)
    s = tl.zeros([BLOCK_N], tl.float32)
    for start in range(0, N, BLOCK_N):
        c = start + cols
        x = tl.load(x_ptr + row * N + c, mask=c < N, other=-1e30, eviction_policy="evict_first")
        x = x * 1.4426950408889634
        hi = tl.maximum(m, x)
        lo = tl.minimum(m, x)
        # one of the two exponentials is always exp2(0) = 1
        d = tl.exp2(lo - hi)
        s = tl.where(x > m, s * d + 1.0, s + d)
        m = hi
    top = tl.max(m, 0)
    total = tl.sum(s * tl.exp2(m - top), 0)
    tl.store(out_ptr + row, (top + tl.log2(total)) * 0.6931471805599453)


def kernel(x):
    M, N = x.shape
    out = torch.empty(M, device=x.device, dtype=torch.float32)
    BLOCK_N = 512 if N > 512 else 256
    lse_lanes[(M,)](x, out, N, BLOCK_N=BLOCK_N, num_warps=4 if BLOCK_N == 512 else 2)
    return out
