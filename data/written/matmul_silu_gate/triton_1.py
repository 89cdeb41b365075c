import torch
import triton
import triton.language as tl


@triton.jit
def silu_gate_kernel(
    a_ptr, g_ptr, u_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)

    acc_g = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    acc_u = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        kk = k + offs_k
        a = tl.load(a_ptr + offs_m[:, None] * K + kk[None, :],
                    mask=(offs_m[:, None] < M) & (kk[None, :] < K), other=0.0)
        b_mask = (kk[:, None] < K) & (offs_n[None, :] < N)
        b_offs = kk[:, None] * N + offs_n[None, :]
        g = tl.load(g_ptr + b_offs, mask=b_mask, other=0.0)
        u = tl.load(u_ptr + b_offs, mask=b_mask, other=0.0)
        acc_g += tl.dot(a, g)
        acc_u += tl.dot(a, u)

    out = acc_g * tl.sigmoid(acc_g) * acc_u
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], out.to(tl.bfloat16),
             mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def kernel(a, gate, up):
    M, K = a.shape
    N = gate.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.bfloat16)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    silu_gate_kernel[grid](a, gate, up, c, M, N, K, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
    return c
