import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 256}, num_warps=4),
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8),
    ],
    key=["H", "W", "OH", "OW"],
)
@triton.jit
def maxpool_bias_relu_kernel(
    x_ptr, bias_ptr, y_ptr,
    C, H, W, OH, OW,
    KS: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr,
    BLOCK: tl.constexpr,
):
    nc = tl.program_id(1)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    omask = o < OH * OW
    oh = o // OW
    ow = o % OW
    h0 = oh * STRIDE - PAD
    w0 = ow * STRIDE - PAD
    x_base = x_ptr + nc * H * W

    best = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
    for i in tl.static_range(KS):
        for j in tl.static_range(KS):
            h = h0 + i
            w = w0 + j
            ok = omask & (h >= 0) & (h < H) & (w >= 0) & (w < W)
            best = tl.maximum(best, tl.load(x_base + h * W + w, mask=ok, other=float("-inf")))
    b = tl.load(bias_ptr + nc % C)
    tl.store(y_ptr + nc * OH * OW + o, tl.maximum(best + b, 0.0), mask=omask)


class ModelNew(nn.Module):
    def __init__(self, channels, kernel_size, stride, padding):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.bias = nn.Parameter(torch.randn(channels, 1, 1))

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        k, s, p = self.kernel_size, self.stride, self.padding
        OH = (H + 2 * p - k) // s + 1
        OW = (W + 2 * p - k) // s + 1
        y = torch.empty((N, C, OH, OW), device=x.device, dtype=x.dtype)
        grid = lambda META: (triton.cdiv(OH * OW, META["BLOCK"]), N * C)
        maxpool_bias_relu_kernel[grid](x, self.bias, y, C, H, W, OH, OW, KS=k, STRIDE=s, PAD=p)
        return y
