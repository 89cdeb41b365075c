import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def soft_gate_kernel(x_ptr, bias_ptr, out_ptr, width, BLOCK: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * width
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < width
    x = tl.load(x_ptr + base + at, mask=mask)
    bias = tl.load(bias_ptr + at, mask=mask)
    tl.store(out_ptr + base + at, x * tl.sigmoid(1.702 * (x + bias)), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x):
        rows, width = x.shape
        out = torch.empty_like(x)
        soft_gate_kernel[(rows, triton.cdiv(width, 2048))](x, self.bias, out, width, BLOCK=2048)
        return out
