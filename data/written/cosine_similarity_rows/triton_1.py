import torch
import triton
import triton.language as tl


@triton.jit
def cosine_kernel(a_ptr, b_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    a = tl.load(a_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    dot = tl.sum(a * b, axis=0)
    na = tl.sqrt(tl.sum(a * a, axis=0))
    nb = tl.sqrt(tl.sum(b * b, axis=0))
    tl.store(out_ptr + row, dot / (tl.maximum(na, eps) * tl.maximum(nb, eps)))


def kernel(a, b):
    n_rows, n_cols = a.shape
    out = torch.empty(n_rows, device=a.device, dtype=torch.float32)
    cosine_kernel[(n_rows,)](a, b, out, n_cols, 1e-8, BLOCK=triton.next_power_of_2(n_cols))
    return out
