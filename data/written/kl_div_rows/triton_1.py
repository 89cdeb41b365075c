import torch
import triton
import triton.language as tl


@triton.jit
def kl_div_kernel(logp_ptr, q_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    lp = tl.load(logp_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    q = tl.load(q_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    # xlogy convention: 0 * log 0 = 0
    term = tl.where(q > 0, q * (tl.log(q) - lp), 0.0)
    tl.store(out_ptr + row, tl.sum(term, axis=0))


def kernel(logp, q):
    n_rows, n_cols = q.shape
    out = torch.empty(n_rows, dtype=torch.float32, device=q.device)
    BLOCK = triton.next_power_of_2(n_cols)
    kl_div_kernel[(n_rows,)](logp, q, out, n_cols, BLOCK=BLOCK)
    return out
