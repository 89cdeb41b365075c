import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 4, "BLOCK_K": 512}, num_warps=4),
        triton.Config({"BLOCK_M": 8, "BLOCK_K": 512}, num_warps=4),
        triton.Config({"BLOCK_M": 16, "BLOCK_K": 512}, num_warps=8),
        triton.Config({"BLOCK_M": 32, "BLOCK_K": 256}, num_warps=8),
        triton.Config({"BLOCK_M": 2, "BLOCK_K": 1024}, num_warps=4),
        triton.Config({"BLOCK_M": 1, "BLOCK_K": 2048}, num_warps=4),
    ],
    key=["M", "K"],
)
@triton.jit
def gemv(a_ptr, x_ptr, y_ptr, M, K, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    mask_m = rows < M
    acc = tl.zeros((BLOCK_M,), dtype=tl.float32)
    base = a_ptr + rows[:, None] * K
    for k in range(0, K, BLOCK_K):
        cols = k + tl.arange(0, BLOCK_K)
        mask_k = cols < K
        a = tl.load(base + cols[None, :], mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        x = tl.load(x_ptr + cols, mask=mask_k, other=0.0, eviction_policy="evict_last")
        acc += tl.sum(a.to(tl.float32) * x[None, :].to(tl.float32), axis=1)
    tl.store(y_ptr + rows, acc.to(tl.float16), mask=mask_m)


def kernel(a, x):
    M, K = a.shape
    y = torch.empty((M,), device=a.device, dtype=torch.float16)
    gemv[lambda meta: (triton.cdiv(M, meta["BLOCK_M"]),)](a, x, y, M, K)
    return y
