import torch
import triton
import triton.language as tl


@triton.jit
def online_ce_kernel(
    logits_ptr,
    targets_ptr,
    out_ptr,
    stride_row,
    n_cols,
    BLOCK: tl.constexpr,
):
    """Online logsumexp: a single pass over the row in chunks, rescaling the running sum."""
    row = tl.program_id(0).to(tl.int64)
    row_ptr = logits_ptr + row * stride_row

    m = -float("inf")
    d = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(row_ptr + cols, mask=cols < n_cols, other=-float("inf"), eviction_policy="evict_first")
        m_new = tl.maximum(m, tl.max(x, axis=0))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m = m_new

    t = tl.load(targets_ptr + row)
    xt = tl.load(row_ptr + t)
    tl.store(out_ptr + row, m + tl.log(d) - xt)


def kernel(logits, targets):
    rows, cols = logits.shape
    out = torch.empty((rows,), dtype=torch.float32, device=logits.device)
    BLOCK = min(2048, triton.next_power_of_2(cols))
    online_ce_kernel[(rows,)](logits, targets, out, logits.stride(0), cols, BLOCK=BLOCK, num_warps=4)
    return out
