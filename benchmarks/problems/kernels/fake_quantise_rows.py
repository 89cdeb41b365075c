import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quantise_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    mask = at < cols
    x = tl.load(x_ptr + base + at, mask=mask, other=0.0)
    # torch divides by a number by multiplying with its reciprocal; another last bit would move values between steps.
    scale = tl.maximum(tl.max(tl.abs(x), axis=0), 1e-8) * (1.0 / 127.0)
    # Adding and subtracting 1.5 * 2**23 rounds to the nearest even integer.
    steps = (tl.div_rn(x, scale) + 12582912.0) - 12582912.0
    tl.store(out_ptr + base + at, tl.minimum(tl.maximum(steps, -127.0), 127.0) * scale, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        out = torch.empty_like(x)
        quantise_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols), num_warps=8)
        return out
