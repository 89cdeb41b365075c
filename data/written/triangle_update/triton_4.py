import torch
import triton
import triton.language as tl

# Single kernel with a batched tl.dot: load (BI, BK, BC) tiles with channels contiguous, permute in registers/shared
# to (BC, BI, BK) and let the 3-D dot run one small MMA per channel. Reads and writes stay coalesced (BC*2 bytes).


@triton.jit
def triangle_dot3d(A, B, OUT, side, channels, BI: tl.constexpr, BJ: tl.constexpr, BK: tl.constexpr, BC: tl.constexpr):
    i = tl.program_id(1) * BI + tl.arange(0, BI)
    j = tl.program_id(2) * BJ + tl.arange(0, BJ)
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    kk = tl.arange(0, BK)
    row = side * channels
    cm = c[None, None, :] < channels
    acc = tl.zeros([BC, BI, BJ], tl.float32)
    for k0 in range(0, side, BK):
        k = k0 + kk
        a = tl.load(A + i[:, None, None] * row + k[None, :, None] * channels + c[None, None, :],
                    mask=(i[:, None, None] < side) & (k[None, :, None] < side) & cm, other=0.0)
        b = tl.load(B + j[:, None, None] * row + k[None, :, None] * channels + c[None, None, :],
                    mask=(j[:, None, None] < side) & (k[None, :, None] < side) & cm, other=0.0)
        at = tl.permute(a, (2, 0, 1))        # (BC, BI, BK)
        bt = tl.permute(b, (2, 1, 0))        # (BC, BK, BJ)
        acc = tl.dot(at, bt, acc)
    o = tl.permute(acc.to(tl.float16), (1, 2, 0))
    offs = i[:, None, None] * row + j[None, :, None] * channels + c[None, None, :]
    tl.store(OUT + offs, o, mask=(i[:, None, None] < side) & (j[None, :, None] < side) & cm)


def kernel(a, b):
    side, _, channels = a.shape
    out = torch.empty_like(a)
    BI, BJ, BK, BC = 32, 32, 16, 16
    grid = (triton.cdiv(channels, BC), triton.cdiv(side, BI), triton.cdiv(side, BJ))
    triangle_dot3d[grid](a, b, out, side, channels, BI=BI, BJ=BJ, BK=BK, BC=BC, num_warps=8, num_stages=2)
    return out
