import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_var_kernel(X, MEAN, VAR, stride, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    x = tl.load(X + row * stride + cols, mask=mask, other=0.0)
    mu = tl.sum(x, axis=0) / N
    d = tl.where(mask, x - mu, 0.0)
    var = tl.sum(d * d, axis=0) / (N - 1)
    tl.store(MEAN + row, mu)
    tl.store(VAR + row, var)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        N = x.shape[-1]
        rows = x.numel() // N
        mean = torch.empty(x.shape[:-1], device=x.device, dtype=x.dtype)
        var = torch.empty_like(mean)
        BLOCK_N = triton.next_power_of_2(N)
        mean_var_kernel[(rows,)](x, mean, var, N, N, BLOCK_N=BLOCK_N, num_warps=4 if BLOCK_N <= 2048 else 8)
        return mean, var
