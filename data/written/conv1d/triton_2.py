import torch
import triton
import triton.language as tl


# Implicit GEMM: for each tap k, acc[O, L] += W[:, :, k] @ X[:, l + k - 2]. Tensor cores via tl.dot.
@triton.jit
def conv1d_dot_kernel(
    x_ptr,
    w_ptr,
    out_ptr,
    C,
    O,
    L,
    BLOCK_O: tl.constexpr,
    BLOCK_L: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    pid_l = tl.program_id(0)
    pid_o = tl.program_id(1)
    b = tl.program_id(2)
    offs_o = pid_o * BLOCK_O + tl.arange(0, BLOCK_O)
    offs_l = pid_l * BLOCK_L + tl.arange(0, BLOCK_L)
    offs_c = tl.arange(0, BLOCK_C)
    acc = tl.zeros((BLOCK_O, BLOCK_L), dtype=tl.float32)
    x_base = x_ptr + b.to(tl.int64) * C * L
    for c0 in range(0, C, BLOCK_C):
        c = c0 + offs_c
        for k in tl.static_range(5):
            w = tl.load(
                w_ptr + offs_o[:, None] * (C * 5) + c[None, :] * 5 + k,
                mask=(offs_o[:, None] < O) & (c[None, :] < C),
                other=0.0,
            )
            pos = offs_l + (k - 2)
            xt = tl.load(
                x_base + c[:, None] * L + pos[None, :],
                mask=(c[:, None] < C) & (pos[None, :] >= 0) & (pos[None, :] < L),
                other=0.0,
            )
            acc = tl.dot(w, xt, acc)
    out_ptrs = out_ptr + b.to(tl.int64) * O * L + offs_o[:, None] * L + offs_l[None, :]
    tl.store(out_ptrs, acc.to(tl.float16), mask=(offs_o[:, None] < O) & (offs_l[None, :] < L))


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[0]
    out = torch.empty((B, O, L), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(L, 128), triton.cdiv(O, 64), B)
    conv1d_dot_kernel[grid](x, weights, out, C, O, L, BLOCK_O=64, BLOCK_L=128, BLOCK_C=32, num_warps=4)
    return out
