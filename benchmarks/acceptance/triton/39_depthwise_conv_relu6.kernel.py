import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BH": 4, "BW": 128}, num_warps=4),
        triton.Config({"BH": 8, "BW": 64}, num_warps=4),
        triton.Config({"BH": 16, "BW": 32}, num_warps=4),
        triton.Config({"BH": 16, "BW": 64}, num_warps=8),
    ],
    key=["H", "W"],
)
@triton.jit
def dw3x3_relu6_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    C, H, W,
    BH: tl.constexpr, BW: tl.constexpr,
):
    plane = tl.program_id(0)
    c = plane % C
    h = tl.program_id(1) * BH + tl.arange(0, BH)
    w = tl.program_id(2) * BW + tl.arange(0, BW)
    base = plane * H * W

    acc = tl.zeros((BH, BW), dtype=tl.float32) + tl.load(b_ptr + c)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            hh = h + (i - 1)
            ww = w + (j - 1)
            ok = (hh[:, None] >= 0) & (hh[:, None] < H) & (ww[None, :] >= 0) & (ww[None, :] < W)
            v = tl.load(x_ptr + base + hh[:, None] * W + ww[None, :], mask=ok, other=0.0)
            acc += v * tl.load(w_ptr + c * 9 + i * 3 + j)
    acc = tl.minimum(tl.maximum(acc, 0.0), 6.0)
    tl.store(y_ptr + base + h[:, None] * W + w[None, :], acc, mask=(h[:, None] < H) & (w[None, :] < W))


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.dw = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        y = torch.empty_like(x)
        grid = lambda meta: (N * C, triton.cdiv(H, meta["BH"]), triton.cdiv(W, meta["BW"]))
        dw3x3_relu6_kernel[grid](x, self.dw.weight, self.dw.bias, y, C, H, W)
        return y
