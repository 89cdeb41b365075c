import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def swish_shift_clamp_(
    y_ptr,
    shift_ptr,
    n_cols,
    scale,
    limit,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_cols
    p = y_ptr + row * n_cols + cols
    y = tl.load(p, mask=mask, other=0.0)
    s = tl.load(shift_ptr + cols, mask=mask, other=0.0)
    y = y * tl.sigmoid(y)
    y = (y + s) * scale
    y = tl.minimum(tl.maximum(y, -limit), limit)
    tl.store(p, y, mask=mask)


class ModelNew(nn.Module):
    """cuBLAS does the GEMM (with bias); the chain runs in place on its output."""

    def __init__(self, in_features, out_features, scale, limit):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.shift = nn.Parameter(torch.randn(out_features))
        self.scale = scale
        self.limit = limit

    def forward(self, x):
        y = F.linear(x, self.linear.weight, self.linear.bias)
        M, N = y.shape
        BLOCK = 1024
        swish_shift_clamp_[(M, triton.cdiv(N, BLOCK))](
            y, self.shift, N, self.scale, self.limit, BLOCK=BLOCK, num_warps=4
        )
        return y
