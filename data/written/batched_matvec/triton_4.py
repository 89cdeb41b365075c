import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 8, "BK": 128}, num_warps=2),
        triton.Config({"BM": 16, "BK": 128}, num_warps=4),
        triton.Config({"BM": 64, "BK": 128}, num_warps=8),
        triton.Config({"BM": 8, "BK": 1024}, num_warps=8),
        triton.Config({"BM": 16, "BK": 256}, num_warps=4),
    ],
    key=["B", "M", "K"],
)
@triton.jit
def bmv_tuned(a_ptr, x_ptr, y_ptr, B, M, K, BM: tl.constexpr, BK: tl.constexpr):
    # treat (batch, row-block) as one flat axis so that neighbouring programs read neighbouring memory
    pid = tl.program_id(0)
    blocks = tl.cdiv(M, BM)
    b = pid // blocks
    rows = (pid % blocks) * BM + tl.arange(0, BM)
    mask_m = rows < M
    base = a_ptr + (b * M + rows).to(tl.int64)[:, None] * K
    acc = tl.zeros((BM,), dtype=tl.float32)
    for k in range(0, K, BK):
        cols = k + tl.arange(0, BK)
        mask_k = cols < K
        x = tl.load(x_ptr + b * K + cols, mask=mask_k, other=0.0)
        a = tl.load(base + cols[None, :], mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        acc += tl.sum(a * x[None, :], axis=1)
    tl.store(y_ptr + b * M + rows, acc, mask=mask_m)


def kernel(a, x):
    B, M, K = a.shape
    y = torch.empty((B, M), device=a.device, dtype=torch.float32)
    bmv_tuned[lambda m: (B * triton.cdiv(M, m["BM"]),)](a, x, y, B, M, K)
    return y
