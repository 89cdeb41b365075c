import torch
import triton
import triton.language as tl


# Two phases (even and odd outputs), each a 2-tap convolution done with tl.dot. Phase is a grid dimension.
@triton.jit
def convt_phase(
    x_ptr, w_ptr, out_ptr, C, O, L,
    BLOCK_O: tl.constexpr, BLOCK_L: tl.constexpr, BLOCK_C: tl.constexpr,
):
    pid_l = tl.program_id(0)
    n_o = tl.cdiv(O, BLOCK_O)
    pid_o = tl.program_id(1) % n_o
    phase = tl.program_id(1) // n_o
    b = tl.program_id(2).to(tl.int64)
    o = pid_o * BLOCK_O + tl.arange(0, BLOCK_O)
    m = pid_l * BLOCK_L + tl.arange(0, BLOCK_L)
    # phase 0: taps (1, shift 0), (3, shift -1); phase 1: taps (2, shift 0), (0, shift +1)
    kc = 1 + phase
    ks = 3 - 3 * phase
    shift = 2 * phase - 1
    ms = m + shift
    acc = tl.zeros((BLOCK_O, BLOCK_L), dtype=tl.float32)
    for c0 in range(0, C, BLOCK_C):
        c = c0 + tl.arange(0, BLOCK_C)
        wbase = w_ptr + (c[None, :] * O + o[:, None]) * 4
        wm = (o[:, None] < O) & (c[None, :] < C)
        xbase = x_ptr + b * C * L + c[:, None] * L
        w1 = tl.load(wbase + kc, mask=wm, other=0.0)
        x1 = tl.load(xbase + m[None, :], mask=(c[:, None] < C) & (m[None, :] < L), other=0.0)
        acc = tl.dot(w1, x1, acc)
        w2 = tl.load(wbase + ks, mask=wm, other=0.0)
        x2 = tl.load(xbase + ms[None, :], mask=(c[:, None] < C) & (ms[None, :] >= 0) & (ms[None, :] < L), other=0.0)
        acc = tl.dot(w2, x2, acc)
    dst = out_ptr + b * O * 2 * L + o[:, None] * (2 * L) + (2 * m + phase)[None, :]
    tl.store(dst, acc.to(tl.float16), mask=(o[:, None] < O) & (m[None, :] < L))


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[1]
    out = torch.empty((B, O, 2 * L), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(L, 128), 2 * triton.cdiv(O, 64), B)
    convt_phase[grid](x, weights, out, C, O, L, BLOCK_O=64, BLOCK_L=128, BLOCK_C=32, num_warps=4)
    return out
