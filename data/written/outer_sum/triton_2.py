import torch
import triton
import triton.language as tl


@triton.jit
def outer_sum_tile(a_ptr, b_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    a = tl.load(a_ptr + rm, mask=rm < M, other=0.0)
    b = tl.load(b_ptr + rn, mask=rn < N, other=0.0)
    out = a[:, None] + b[None, :]
    ptrs = out_ptr + rm[:, None] * N + rn[None, :]
    tl.store(ptrs, out, mask=(rm[:, None] < M) & (rn[None, :] < N))


def kernel(a, b):
    M, N = a.numel(), b.numel()
    out = torch.empty((M, N), device=a.device, dtype=torch.float32)
    BM, BN = 32, 128
    outer_sum_tile[(triton.cdiv(M, BM), triton.cdiv(N, BN))](a, b, out, M, N, BM=BM, BN=BN)
    return out
