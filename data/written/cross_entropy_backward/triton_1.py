import torch
import triton
import triton.language as tl


@triton.jit
def ce_bwd_kernel(logits_ptr, targets_ptr, grad_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(logits_ptr + row * n_cols + cols, mask=mask, other=-float("inf")).to(tl.float32)
    t = tl.load(targets_ptr + row)
    g = tl.load(grad_ptr + row)
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    p = e / tl.sum(e, axis=0)
    p = tl.where(cols == t, p - 1.0, p)
    tl.store(out_ptr + row * n_cols + cols, (p * g).to(tl.bfloat16), mask=mask)


def kernel(logits, targets, grad):
    n_rows, n_cols = logits.shape
    out = torch.empty_like(logits)
    BLOCK = triton.next_power_of_2(n_cols)
    ce_bwd_kernel[(n_rows,)](logits, targets, grad, out, n_cols, BLOCK=BLOCK, num_warps=8 if BLOCK > 2048 else 4)
    return out
