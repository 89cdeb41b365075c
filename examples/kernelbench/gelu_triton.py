"""A solution in the shape of KernelBench: `ModelNew` takes the place of `Model`, with the same parameters."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def gelu(x, scale, shift, out, total, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < total
    v = tl.load(x + i, mask=inside)
    a = tl.load(scale + i % columns, mask=inside)
    b = tl.load(shift + i % columns, mask=inside)
    tl.store(out + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)) * a + b, mask=inside)


class ModelNew(nn.Module):
    """One pass over memory instead of three."""

    def __init__(self, features: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.scale = nn.Parameter(torch.rand(features, generator=generator) + 0.5)
        self.shift = nn.Parameter(torch.rand(features, generator=generator) - 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        gelu[grid](x, self.scale, self.shift, out, x.numel(), x.shape[1], BLOCK=1024)
        return out
