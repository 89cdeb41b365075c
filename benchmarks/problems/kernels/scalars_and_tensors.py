import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def blend_kernel(x_ptr, y_ptr, out_ptr, n, alpha, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    y = tl.load(y_ptr + at, mask=mask)
    for _ in tl.static_range(STEPS):
        x = 2.0 * tl.sigmoid(2.0 * (x + alpha * (y - x))) - 1.0
    tl.store(out_ptr + at, x, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x, y, alpha, steps):
        out = torch.empty_like(x)
        blend_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), alpha, STEPS=steps, BLOCK=1024)
        return out
