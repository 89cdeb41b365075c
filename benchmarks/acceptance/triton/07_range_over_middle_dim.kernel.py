import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 8, "BN": 128}, num_warps=4),
        triton.Config({"BM": 16, "BN": 64}, num_warps=4),
        triton.Config({"BM": 32, "BN": 64}, num_warps=4),
        triton.Config({"BM": 16, "BN": 128}, num_warps=8),
    ],
    key=["M", "N"],
)
@triton.jit
def ptp_kernel(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    outer = tl.program_id(1)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    cmask = cols < N
    hi = tl.full([BM, BN], float("-inf"), tl.float32)
    lo = tl.full([BM, BN], float("inf"), tl.float32)
    base = x_ptr + outer * M * N
    for m0 in range(0, M, BM):
        rows = m0 + tl.arange(0, BM)
        mask = (rows[:, None] < M) & cmask[None, :]
        ptrs = base + rows[:, None] * N + cols[None, :]
        v_hi = tl.load(ptrs, mask=mask, other=float("-inf"))
        v_lo = tl.where(mask, v_hi, float("inf"))
        hi = tl.maximum(hi, v_hi)
        lo = tl.minimum(lo, v_lo)
    out = tl.max(hi, axis=0) - tl.min(lo, axis=0)
    tl.store(y_ptr + outer * N + cols, out, mask=cmask)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        x = x.contiguous()
        d = self.dim % x.dim()
        shape = list(x.shape)
        M = shape[d]
        outer = 1
        for s in shape[:d]:
            outer *= s
        inner = 1
        for s in shape[d + 1:]:
            inner *= s
        y = torch.empty(shape[:d] + shape[d + 1:], device=x.device, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(inner, meta["BN"]), outer)
        ptp_kernel[grid](x, y, M, inner)
        return y
