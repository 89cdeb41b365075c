import torch
import triton
import triton.language as tl


@triton.jit
def outer_sum_kernel(a_ptr, b_ptr, out_ptr, n_cols, n_elements, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_elements
    i = offs // n_cols
    j = offs % n_cols
    a = tl.load(a_ptr + i, mask=mask)
    b = tl.load(b_ptr + j, mask=mask)
    tl.store(out_ptr + offs, a + b, mask=mask)


def kernel(a, b):
    rows, cols = a.shape[0], b.shape[0]
    out = torch.empty((rows, cols), device=a.device, dtype=a.dtype)
    n = rows * cols
    outer_sum_kernel[(triton.cdiv(n, 1024),)](a, b, out, cols, n, BLOCK=1024)
    return out
