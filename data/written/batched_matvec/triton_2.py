import torch
import triton
import triton.language as tl


# A block of rows of one batch entry per program; x chunk shared by the rows.
@triton.jit
def bmv_rows(a_ptr, x_ptr, y_ptr, M, K, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(0)
    b = tl.program_id(1).to(tl.int64)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    row_mask = rows < M
    a_base = a_ptr + b * M * K + rows[:, None] * K
    x_base = x_ptr + b * K
    acc = tl.zeros((BLOCK_M, BLOCK_K), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        cols = k + tl.arange(0, BLOCK_K)
        col_mask = cols < K
        x = tl.load(x_base + cols, mask=col_mask, other=0.0)
        a = tl.load(a_base + cols[None, :], mask=row_mask[:, None] & col_mask[None, :], other=0.0)
        acc += a * x[None, :]
    tl.store(y_ptr + b * M + rows, tl.sum(acc, axis=1), mask=row_mask)


def kernel(a, x):
    B, M, K = a.shape
    y = torch.empty((B, M), device=a.device, dtype=torch.float32)
    BLOCK_M, BLOCK_K = 32, 128
    bmv_rows[(triton.cdiv(M, BLOCK_M), B)](a, x, y, M, K, BLOCK_M=BLOCK_M, BLOCK_K=BLOCK_K, num_warps=4)
    return y
