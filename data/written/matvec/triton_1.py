import torch
import triton
import triton.language as tl


# One program per row.
@triton.jit
def matvec_row(a_ptr, x_ptr, y_ptr, K, BLOCK_K: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK_K,), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        offs = k + tl.arange(0, BLOCK_K)
        mask = offs < K
        a = tl.load(a_ptr + row * K + offs, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        acc += a * x
    tl.store(y_ptr + row, tl.sum(acc, axis=0).to(tl.float16))


def kernel(a, x):
    M, K = a.shape
    y = torch.empty((M,), device=a.device, dtype=torch.float16)
    matvec_row[(M,)](a, x, y, K, BLOCK_K=1024, num_warps=4)
    return y
