import torch
import triton
import triton.language as tl


# Strided weight loads (stride 5) are bad, so repack weights [O, C, 5] -> [5, O, C] first (tiny), then a
# pipelined implicit GEMM whose single loop runs over (tap, channel block).
@triton.jit
def repack_weights(w_ptr, wp_ptr, O, C, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = O * C
    mask = i < n
    for k in tl.static_range(5):
        v = tl.load(w_ptr + i * 5 + k, mask=mask)
        tl.store(wp_ptr + k * n + i, v, mask=mask)


@triton.jit
def conv1d_pipelined(
    x_ptr,
    wp_ptr,
    out_ptr,
    C,
    O,
    L,
    BLOCK_O: tl.constexpr,
    BLOCK_L: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    pid_o = tl.program_id(0)  # output-channel tiles fastest so that x tile is shared through L2
    pid_l = tl.program_id(1)
    b = tl.program_id(2).to(tl.int64)
    offs_o = pid_o * BLOCK_O + tl.arange(0, BLOCK_O)
    offs_l = pid_l * BLOCK_L + tl.arange(0, BLOCK_L)
    acc = tl.zeros((BLOCK_O, BLOCK_L), dtype=tl.float32)
    x_base = x_ptr + b * C * L
    n_cblk = tl.cdiv(C, BLOCK_C)
    for it in range(0, n_cblk * 5):
        k = it % 5
        c = (it // 5) * BLOCK_C + tl.arange(0, BLOCK_C)
        w = tl.load(
            wp_ptr + k * O * C + offs_o[:, None] * C + c[None, :],
            mask=(offs_o[:, None] < O) & (c[None, :] < C),
            other=0.0,
        )
        pos = offs_l + k - 2
        xt = tl.load(
            x_base + c[:, None] * L + pos[None, :],
            mask=(c[:, None] < C) & (pos[None, :] >= 0) & (pos[None, :] < L),
            other=0.0,
        )
        acc = tl.dot(w, xt, acc)
    tl.store(
        out_ptr + b * O * L + offs_o[:, None] * L + offs_l[None, :],
        acc.to(tl.float16),
        mask=(offs_o[:, None] < O) & (offs_l[None, :] < L),
    )


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[0]
    out = torch.empty((B, O, L), device=x.device, dtype=x.dtype)
    wp = torch.empty((5, O, C), device=x.device, dtype=x.dtype)
    repack_weights[(triton.cdiv(O * C, 1024),)](weights, wp, O, C, BLOCK=1024)
    grid = (triton.cdiv(O, 128), triton.cdiv(L, 128), B)
    conv1d_pipelined[grid](x, wp, out, C, O, L, BLOCK_O=128, BLOCK_L=128, BLOCK_C=64, num_warps=8, num_stages=3)
    return out
