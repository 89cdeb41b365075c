import torch
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(x_ptr, out_ptr, n_rows, n_cols, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask)
    # store to the transposed addresses (strided writes, left to the compiler)
    tl.store(out_ptr + cols[None, :] * n_rows + rows[:, None], x, mask=mask)


def kernel(x):
    n_rows, n_cols = x.shape
    out = torch.empty((n_cols, n_rows), device=x.device, dtype=x.dtype)
    BM, BN = 32, 32
    grid = (triton.cdiv(n_rows, BM), triton.cdiv(n_cols, BN))
    transpose_kernel[grid](x, out, n_rows, n_cols, BM=BM, BN=BN)
    return out
