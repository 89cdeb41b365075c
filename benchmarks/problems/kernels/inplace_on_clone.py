import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def chain_kernel(x_ptr, scale_ptr, out_ptr, n, width, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    col = at % width
    y = tl.load(x_ptr + at, mask=mask) * tl.load(scale_ptr + col, mask=mask) + 1.0
    y = tl.minimum(tl.maximum(y, 0.0), 4.0)
    y = tl.where(col % 2 == 0, y * 0.5, y)
    y = tl.where(col == 0, 0.0, y)
    tl.store(out_ptr + at, tl.sqrt(y), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(width))

    def forward(self, x):
        out = torch.empty_like(x)
        chain_kernel[(triton.cdiv(x.numel(), 1024),)](x, self.scale, out, x.numel(), x.shape[1], BLOCK=1024)
        return out
