import torch
import triton
import triton.language as tl


# Tensor cores as adders: ones[16, K] @ X[K, N] sums K rows of a tile at once. x is split in three bf16 pieces (8 bits each, 24 in
# total) which makes the products with 1.0 exact, accumulated in fp32.
@triton.jit
def sum_dot(x_ptr, out_ptr, n, K: tl.constexpr, N: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * K * N
    idx = tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :]
    ones = tl.full([16, K], 1.0, tl.bfloat16)
    acc = tl.zeros([16, N], tl.float32)
    for start in range(pid * K * N, n, step):
        x = tl.load(x_ptr + start + idx, mask=start + idx < n, other=0.0)
        hi = x.to(tl.bfloat16)
        rest = x - hi.to(tl.float32)
        mid = rest.to(tl.bfloat16)
        lo = (rest - mid.to(tl.float32)).to(tl.bfloat16)
        acc = tl.dot(ones, hi, acc)
        acc = tl.dot(ones, mid, acc)
        acc = tl.dot(ones, lo, acc)
    # all 16 rows of acc are the same
    total = tl.sum(tl.sum(acc, axis=1), axis=0) * 0.0625
    tl.atomic_add(out_ptr, total, sem="relaxed")


def kernel(x):
    n = x.numel()
    out = torch.zeros((), device=x.device, dtype=torch.float32)
    K, N = 64, 64
    grid = (min(132 * 4, triton.cdiv(n, K * N)),)
    sum_dot[grid](x, out, n, K=K, N=N, num_warps=4, num_stages=3)
    return out
