import torch
import triton
import triton.language as tl


# Implicit GEMM in NCHW: M = output channels, N = pixels of all images, K = C (looped over 9 taps).
@triton.jit
def conv3x3_implicit_gemm(
    x_ptr,
    w_ptr,
    out_ptr,
    N,
    C,
    O,
    H,
    W,
    BLOCK_O: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    pid_p = tl.program_id(0)
    pid_o = tl.program_id(1)
    HW = H * W
    p = pid_p * BLOCK_P + tl.arange(0, BLOCK_P)
    n = p // HW
    hw = p % HW
    y = hw // W
    xx = hw % W
    p_ok = p < N * HW
    o = pid_o * BLOCK_O + tl.arange(0, BLOCK_O)
    acc = tl.zeros((BLOCK_O, BLOCK_P), dtype=tl.float32)
    for ky in range(3):
        for kx in range(3):
            iy = y + ky - 1
            ix = xx + kx - 1
            ok = p_ok & (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
            base = n * C * HW + iy * W + ix
            for c0 in range(0, C, BLOCK_C):
                c = c0 + tl.arange(0, BLOCK_C)
                wt = tl.load(
                    w_ptr + (o[:, None] * C + c[None, :]) * 9 + ky * 3 + kx,
                    mask=(o[:, None] < O) & (c[None, :] < C),
                    other=0.0,
                )
                xt = tl.load(
                    x_ptr + base[None, :] + c[:, None] * HW,
                    mask=ok[None, :] & (c[:, None] < C),
                    other=0.0,
                )
                acc += tl.dot(wt, xt)
    out_off = n * O * HW + hw
    tl.store(
        out_ptr + out_off[None, :] + o[:, None] * HW,
        acc.to(tl.float16),
        mask=(o[:, None] < O) & p_ok[None, :],
    )


def kernel(x, weights):
    N, C, H, W = x.shape
    O = weights.shape[0]
    out = torch.empty((N, O, H, W), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(N * H * W, 128), triton.cdiv(O, 64))
    conv3x3_implicit_gemm[grid](
        x, weights, out, N, C, O, H, W, BLOCK_O=64, BLOCK_P=128, BLOCK_C=32, num_warps=4, num_stages=3
    )
    return out
