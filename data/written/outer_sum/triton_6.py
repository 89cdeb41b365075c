import torch
import triton
import triton.language as tl


@triton.jit
def outer_sum_dot(a_ptr, b_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr, K: tl.constexpr):
    # out = [a, 1, 0...] @ [[1], [b], 0...]: a rank-2 product. K padded to 16 for tl.dot, full fp32 precision needed.
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + rm, mask=rm < M, other=0.0)
    b = tl.load(b_ptr + rn, mask=rn < N, other=0.0)
    lhs = tl.where(k[None, :] == 0, a[:, None], tl.where(k[None, :] == 1, 1.0, 0.0))
    rhs = tl.where(k[:, None] == 1, b[None, :], tl.where(k[:, None] == 0, 1.0, 0.0))
    acc = tl.dot(lhs, rhs, input_precision="ieee")
    tl.store(out_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


def kernel(a, b):
    M, N = a.numel(), b.numel()
    out = torch.empty((M, N), device=a.device, dtype=torch.float32)
    BM, BN = 64, 64
    outer_sum_dot[(triton.cdiv(M, BM), triton.cdiv(N, BN))](a, b, out, M, N, BM=BM, BN=BN, K=16, num_warps=4)
    return out
