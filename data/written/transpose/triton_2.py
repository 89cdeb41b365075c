import torch
import triton
import triton.language as tl


@triton.jit
def transpose_tile(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """64x64 tile, explicit tl.trans so that both the load and the store are coalesced."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    x = tl.load(x_ptr + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N), other=0.0)
    y = tl.trans(x)
    tl.store(out_ptr + rn[:, None] * M + rm[None, :], y, mask=(rn[:, None] < N) & (rm[None, :] < M))


def kernel(x):
    M, N = x.shape
    out = torch.empty((N, M), dtype=x.dtype, device=x.device)
    BM = BN = 64
    transpose_tile[(triton.cdiv(M, BM), triton.cdiv(N, BN))](x, out, M, N, BM=BM, BN=BN, num_warps=4)
    return out
