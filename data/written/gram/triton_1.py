import torch
import triton
import triton.language as tl


@triton.jit
def gram_kernel(a_ptr, c_ptr, M, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_i = tl.program_id(0)
    pid_j = tl.program_id(1)
    ri = pid_i * BLOCK + tl.arange(0, BLOCK)
    rj = pid_j * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        rk = k + tl.arange(0, BLOCK_K)
        x = tl.load(a_ptr + ri[:, None] * K + rk[None, :], mask=(ri[:, None] < M) & (rk[None, :] < K), other=0.0)
        y = tl.load(a_ptr + rj[:, None] * K + rk[None, :], mask=(rj[:, None] < M) & (rk[None, :] < K), other=0.0)
        acc += tl.dot(x, tl.trans(y))
    tl.store(c_ptr + ri[:, None] * M + rj[None, :], acc.to(tl.float16), mask=(ri[:, None] < M) & (rj[None, :] < M))


def kernel(a):
    M, K = a.shape
    c = torch.empty((M, M), device=a.device, dtype=torch.float16)
    grid = (triton.cdiv(M, 64), triton.cdiv(M, 64))
    gram_kernel[grid](a, c, M, K, BLOCK=64, BLOCK_K=64)
    return c
