import torch
import triton
import triton.language as tl

# Scan by tensor cores: view a row as a (M, 32) matrix X. Inner prefix sums are X @ U with U the upper triangular ones
# matrix; row offsets come from a strictly lower triangular product L @ rowsums. tf32 would lose bits (10-bit mantissa), so
# x is split into three tf32 parts (input_precision="tf32x3").


@triton.jit
def cumsum_mma(X, OUT, rows, cols, M: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    offs = m[:, None] * N + n[None, :]
    mask = offs < cols
    x = tl.load(X + row * cols + offs, mask=mask, other=0.0)
    k = tl.arange(0, N)
    upper = (k[:, None] <= n[None, :]).to(tl.float32)
    inner = tl.dot(x, upper, input_precision="tf32x3")
    totals = tl.sum(x, axis=1)
    before = tl.cumsum(totals, axis=0) - totals
    tl.store(OUT + row * cols + offs, inner + before[:, None], mask=mask)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    N = 32
    M = max(16, triton.next_power_of_2(triton.cdiv(cols, N)))
    cumsum_mma[(rows,)](x, out, rows, cols, M=M, N=N, num_warps=4)
    return out
