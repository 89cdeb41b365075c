import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def horner_kernel(x_ptr, out_ptr, n, c0, c1, c2, c3, c4, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    y = x * c0 + c1
    y = y * x + c2
    y = y * x + c3
    y = y * x + c4
    tl.store(out_ptr + at, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, coefficients):
        super().__init__()
        self.coefficients = coefficients

    def forward(self, x):
        out = torch.empty_like(x)
        horner_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), *self.coefficients, BLOCK=1024)
        return out
