import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=8),
        triton.Config({"BLOCK": 4096}, num_warps=8),
    ],
    key=["total", "HW"],
)
@triton.jit
def bias_hardswish_gain(
    in_ptr, bias_ptr, gain_ptr, out_ptr,
    C, HW, total,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < total
    c = (i // HW) % C
    v = tl.load(in_ptr + i, mask=mask, other=0.0)
    b = tl.load(bias_ptr + c, mask=mask, other=0.0)
    g = tl.load(gain_ptr + c, mask=mask, other=0.0)
    v = v + b
    v = v * tl.clamp(v + 3.0, 0.0, 6.0) * 0.16666666666666666
    tl.store(out_ptr + i, v * g, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.gain = nn.Parameter(torch.rand(out_channels, 1, 1) + 0.5)

    def forward(self, x):
        # bias is added in the epilogue
        y = F.conv2d(x, self.conv.weight).contiguous()
        out = torch.empty_like(y)
        N, C, H, W = y.shape
        total = y.numel()
        grid = lambda meta: (triton.cdiv(total, meta["BLOCK"]),)
        bias_hardswish_gain[grid](y, self.conv.bias, self.gain, out, C, H * W, total)
        return out
