import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, out_ptr, n, width, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask) + tl.load(bias_ptr + at % width, mask=mask)
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tl.store(out_ptr + at, x * tl.sigmoid(2.0 * inner), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, width, p):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width).normal_())

    def forward(self, x):
        out = torch.empty_like(x)
        bias_gelu_kernel[(triton.cdiv(x.numel(), 1024),)](x, self.bias, out, x.numel(), x.shape[-1], BLOCK=1024)
        return out
