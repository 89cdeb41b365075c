import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_rmsnorm_kernel(
    x_ptr, r_ptr, w_ptr, y_ptr, h_ptr,
    n_cols, eps,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    off = row * n_cols + cols

    x = tl.load(x_ptr + off, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(r_ptr + off, mask=mask, other=0.0).to(tl.float32)
    h_lp = (x + r).to(tl.bfloat16)
    tl.store(h_ptr + off, h_lp, mask=mask)

    # the norm sees the rounded residual stream, as the eager version does
    h = h_lp.to(tl.float32)
    ms = tl.sum(h * h, axis=0) / n_cols
    inv = tl.rsqrt(ms + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    y = (h * inv).to(tl.bfloat16).to(tl.float32) * w
    tl.store(y_ptr + off, y.to(tl.bfloat16), mask=mask)


def fused_add_rmsnorm(x, residual, weight, eps):
    x = x.contiguous()
    residual = residual.contiguous()
    n_cols = x.shape[-1]
    n_rows = x.numel() // n_cols
    y = torch.empty_like(x)
    h = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(n_cols)
    add_rmsnorm_kernel[(n_rows,)](x, residual, weight, y, h, n_cols, eps, BLOCK=BLOCK, num_warps=8)
    return y, h


class ModelNew(nn.Module):
    def __init__(self, hidden_size, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(hidden_size).to(torch.bfloat16))

    def forward(self, x, residual):
        return fused_add_rmsnorm(x, residual, self.weight, self.eps)
