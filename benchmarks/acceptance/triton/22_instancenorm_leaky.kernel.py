import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def instance_norm_leaky(
    x_ptr, weight_ptr, bias_ptr, out_ptr,
    channels, spatial, eps, slope,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    c = pid % channels
    offs = tl.arange(0, BLOCK)
    mask = offs < spatial
    ptr = x_ptr + pid * spatial
    x = tl.load(ptr + offs, mask=mask, other=0.0)

    mean = tl.sum(x, axis=0) / spatial
    centered = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centered * centered, axis=0) / spatial

    w = tl.load(weight_ptr + c)
    b = tl.load(bias_ptr + c)
    y = centered * (w / tl.sqrt(var + eps)) + b
    y = tl.where(y > 0, y, slope * y)
    tl.store(out_ptr + pid * spatial + offs, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, slope):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=True)
        self.slope = slope

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        out = torch.empty_like(x)
        instance_norm_leaky[(n * c,)](
            x, self.norm.weight, self.norm.bias, out,
            c, h * w, self.norm.eps, self.slope,
            BLOCK=triton.next_power_of_2(h * w), num_warps=16,
        )
        return out
