import torch
import triton
import triton.language as tl


@triton.jit
def lse_kernel(logits_ptr, lse_ptr, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Kernel A: logsumexp (base 2) of every row."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    rmask = rows < n_rows
    base = logits_ptr + rows.to(tl.int64)[:, None] * n_cols
    m = tl.full((ROWS, BLOCK), -1e30, tl.float32)
    s = tl.zeros((ROWS, BLOCK), tl.float32)
    for k in range(0, n_cols, BLOCK):
        cols = k + tl.arange(0, BLOCK)
        x = tl.load(base + cols[None, :], mask=rmask[:, None] & (cols[None, :] < n_cols), other=-1e30)
        x = x.to(tl.float32) * 1.4426950408889634
        mn = tl.maximum(m, x)
        s = s * tl.exp2(m - mn) + tl.exp2(x - mn)
        m = mn
    top = tl.max(m, axis=1)
    total = tl.sum(s * tl.exp2(m - top[:, None]), axis=1)
    tl.store(lse_ptr + rows, top + tl.log2(total), mask=rmask)


@triton.jit
def grad_kernel(logits_ptr, targets_ptr, grad_ptr, lse_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """Kernel B: purely elementwise, 2D grid: exp2(x*log2e - lse) * g, and minus g at the target."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_cols
    lse = tl.load(lse_ptr + row)
    g = tl.load(grad_ptr + row)
    t = tl.load(targets_ptr + row)
    x = tl.load(logits_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    p = tl.exp2(x * 1.4426950408889634 - lse)
    p = tl.where(cols == t, p - 1.0, p)
    tl.store(out_ptr + row * n_cols + cols, (p * g).to(tl.bfloat16), mask=mask)


def kernel(logits, targets, grad):
    rows, cols = logits.shape
    out = torch.empty_like(logits)
    lse = torch.empty(rows, device=logits.device, dtype=torch.float32)
    ROWS = 4
    lse_kernel[(triton.cdiv(rows, ROWS),)](logits, lse, rows, cols, ROWS=ROWS, BLOCK=512, num_warps=4)
    BLOCK = 2048 if cols > 1024 else 1024
    grad_kernel[(rows, triton.cdiv(cols, BLOCK))](logits, targets, grad, lse, out, cols, BLOCK=BLOCK, num_warps=4)
    return out
