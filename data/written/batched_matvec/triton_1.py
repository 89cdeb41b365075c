import torch
import triton
import triton.language as tl


@triton.jit
def bmv_kernel(a_ptr, x_ptr, y_ptr, M, K, BLOCK_K: tl.constexpr):
    m = tl.program_id(0)
    b = tl.program_id(1)
    row = a_ptr + (b * M + m).to(tl.int64) * K
    acc = tl.zeros((BLOCK_K,), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        offs = k + tl.arange(0, BLOCK_K)
        mask = offs < K
        acc += tl.load(row + offs, mask=mask, other=0.0) * tl.load(x_ptr + b * K + offs, mask=mask, other=0.0)
    tl.store(y_ptr + b * M + m, tl.sum(acc, axis=0))


def kernel(a, x):
    B, M, K = a.shape
    y = torch.empty((B, M), device=a.device, dtype=torch.float32)
    bmv_kernel[(M, B)](a, x, y, M, K, BLOCK_K=256, num_warps=2)
    return y
