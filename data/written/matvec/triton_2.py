import torch
import triton
import triton.language as tl


# Block of rows per program: x chunk is loaded once per block and reused; 2D accumulator reduced at the end only.
@triton.jit
def matvec_block(a_ptr, x_ptr, y_ptr, M, K, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    pid = tl.program_id(0)
    rows = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    row_mask = rows < M
    acc = tl.zeros((BLOCK_M, BLOCK_K), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        cols = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None].to(tl.int64) * K + cols[None, :],
                    mask=row_mask[:, None] & (cols[None, :] < K), other=0.0)
        x = tl.load(x_ptr + cols, mask=cols < K, other=0.0)
        acc += a.to(tl.float32) * x.to(tl.float32)[None, :]
    tl.store(y_ptr + rows, tl.sum(acc, axis=1).to(tl.float16), mask=row_mask)


def kernel(a, x):
    M, K = a.shape
    y = torch.empty((M,), device=a.device, dtype=torch.float16)
    BLOCK_M = 16
    matvec_block[(triton.cdiv(M, BLOCK_M),)](a, x, y, M, K, BLOCK_M=BLOCK_M, BLOCK_K=256, num_warps=4, num_stages=3)
    return y
