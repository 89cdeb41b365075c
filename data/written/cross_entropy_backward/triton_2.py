import torch
import triton
import triton.language as tl


@triton.jit
def _ce_bwd_two_pass(logits_ptr, targets_ptr, grad_ptr, out_ptr, stride, n_cols, BLOCK: tl.constexpr):
    """Pass 1: online max/sum over the row. Pass 2: re-read (from L2) and write the gradient."""
    row = tl.program_id(0).to(tl.int64)
    src = logits_ptr + row * stride
    dst = out_ptr + row * stride
    offs = tl.arange(0, BLOCK)

    m = float("-inf")
    d = 0.0
    for i in range(0, n_cols, BLOCK):
        x = tl.load(src + i + offs, mask=i + offs < n_cols, other=float("-inf"), eviction_policy="evict_last")
        x = x.to(tl.float32)
        m_new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
        m = m_new

    g = tl.load(grad_ptr + row)
    t = tl.load(targets_ptr + row)
    scale = g / d
    for i in range(0, n_cols, BLOCK):
        cols = i + offs
        mask = cols < n_cols
        x = tl.load(src + cols, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
        y = tl.exp(x - m) * scale - tl.where(cols == t, g, 0.0)
        tl.store(dst + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


def kernel(logits, targets, grad):
    rows, cols = logits.shape
    out = torch.empty_like(logits)
    _ce_bwd_two_pass[(rows,)](logits, targets, grad, out, logits.stride(0), cols, BLOCK=1024, num_warps=4)
    return out
