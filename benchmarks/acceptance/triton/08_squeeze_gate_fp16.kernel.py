import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def squeeze_gate_kernel(x_ptr, y_ptr, HW, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < HW
    ptrs = plane * HW + offs
    x = tl.load(x_ptr + ptrs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / HW
    gate = 1.0 / (1.0 + tl.exp(-mean))
    tl.store(y_ptr + ptrs, (x * gate).to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    """The plane fits into one block, so the mean and the scaling share one read of x."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        BLOCK = triton.next_power_of_2(h * w)
        num_warps = 4 if BLOCK <= 2048 else 8
        squeeze_gate_kernel[(n * c,)](x, y, h * w, BLOCK=BLOCK, num_warps=num_warps)
        return y
