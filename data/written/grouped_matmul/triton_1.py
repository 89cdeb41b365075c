import torch
import triton
import triton.language as tl


# Batched GEMM: group index on the z axis of the grid.
@triton.jit
def grouped_kernel(a_ptr, b_ptr, c_ptr, m, N, K,
                   BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    g = tl.program_id(2)
    a_base = a_ptr + g * m * K
    b_base = b_ptr + g * K * N
    c_base = c_ptr + g * m * N
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_base + offs_m[:, None] * K + offs_k[None, :],
                    mask=(offs_m[:, None] < m) & (offs_k[None, :] < K), other=0.0)
        b = tl.load(b_base + offs_k[:, None] * N + offs_n[None, :],
                    mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_base + offs_m[:, None] * N + offs_n[None, :], acc.to(tl.float16),
             mask=(offs_m[:, None] < m) & (offs_n[None, :] < N))


def kernel(a, b):
    G, K, N = b.shape
    m = a.shape[0] // G
    c = torch.empty((a.shape[0], N), device=a.device, dtype=torch.float16)
    grid = (triton.cdiv(m, 64), triton.cdiv(N, 64), G)
    grouped_kernel[grid](a, b, c, m, N, K, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
    return c
