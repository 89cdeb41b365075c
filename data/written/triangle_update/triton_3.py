import torch
import triton
import triton.language as tl

# Three steps, all coalesced: (1) transpose a and b to channel-major (C, side, side), (2) batched GEMM NT over channels,
# (3) transpose the result back to (side, side, C).


@triton.jit
def to_channel_major(X, Y, n, channels, BP: tl.constexpr, BC: tl.constexpr):
    # X: (n, channels) -> Y: (channels, n), n = side * side
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    m = (p[:, None] < n) & (c[None, :] < channels)
    x = tl.load(X + p[:, None] * channels + c[None, :], mask=m)
    tl.store(Y + c[:, None] * n + p[None, :], tl.trans(x), mask=tl.trans(m))


@triton.jit
def from_channel_major(Y, X, n, channels, BP: tl.constexpr, BC: tl.constexpr):
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    m = (c[:, None] < channels) & (p[None, :] < n)
    y = tl.load(Y + c[:, None] * n + p[None, :], mask=m)
    tl.store(X + p[:, None] * channels + c[None, :], tl.trans(y), mask=tl.trans(m))


@triton.jit
def bmm_nt(A, B, C, side, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    base = tl.program_id(2) * side * side
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    kk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for k0 in range(0, side, BK):
        k = k0 + kk
        a = tl.load(A + base + i[:, None] * side + k[None, :], mask=(i[:, None] < side) & (k[None, :] < side), other=0.0)
        b = tl.load(B + base + j[None, :] * side + k[:, None], mask=(j[None, :] < side) & (k[:, None] < side), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + base + i[:, None] * side + j[None, :], acc.to(tl.float16), mask=(i[:, None] < side) & (j[None, :] < side))


def kernel(a, b):
    side, _, channels = a.shape
    n = side * side
    at = torch.empty((channels, side, side), device=a.device, dtype=a.dtype)
    bt = torch.empty_like(at)
    ct = torch.empty_like(at)
    out = torch.empty_like(a)
    BP, BC = 128, 32
    tgrid = (triton.cdiv(n, BP), triton.cdiv(channels, BC))
    to_channel_major[tgrid](a, at, n, channels, BP=BP, BC=BC)
    to_channel_major[tgrid](b, bt, n, channels, BP=BP, BC=BC)
    BM = BN = 128 if side >= 128 else 64
    bmm_nt[(triton.cdiv(side, BM), triton.cdiv(side, BN), channels)](at, bt, ct, side, BM=BM, BN=BN, BK=64, num_warps=8, num_stages=3)
    from_channel_major[tgrid](ct, out, n, channels, BP=BP, BC=BC)
    return out
