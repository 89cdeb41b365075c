import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, gamma_ptr, out_ptr, n_cols, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    ms = tl.sum(x * x, axis=0) / n_cols
    inv = 1.0 / tl.sqrt(ms + eps)
    g = tl.load(gamma_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * n_cols + cols, (x * inv * g).to(tl.bfloat16), mask=mask)


def kernel(x, gamma):
    rows, cols = x.shape
    out = torch.empty_like(x)
    rmsnorm_kernel[(rows,)](x, gamma, out, cols, 1e-5, BLOCK_SIZE=triton.next_power_of_2(cols))
    return out
