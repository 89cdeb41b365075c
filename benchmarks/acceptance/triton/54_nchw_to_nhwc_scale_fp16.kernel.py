import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"TC": 32, "TP": 64}, num_warps=4),
        triton.Config({"TC": 64, "TP": 64}, num_warps=4),
        triton.Config({"TC": 64, "TP": 128}, num_warps=8),
        triton.Config({"TC": 128, "TP": 64}, num_warps=8),
    ],
    key=["C", "P"],
)
@triton.jit
def scale_permute_kernel(x_ptr, s_ptr, y_ptr, C, P, TC: tl.constexpr, TP: tl.constexpr):
    c = tl.program_id(1) * TC + tl.arange(0, TC)
    p = tl.program_id(0) * TP + tl.arange(0, TP)
    n = tl.program_id(2)
    cm = c < C
    pm = p < P
    base = n * C * P
    tile = tl.load(x_ptr + base + c[:, None] * P + p[None, :], mask=cm[:, None] & pm[None, :], other=0.0)
    s = tl.load(s_ptr + c, mask=cm, other=0.0)
    tile = (tile.to(tl.float32) * s.to(tl.float32)[:, None]).to(tl.float16)
    tl.store(
        y_ptr + base + p[:, None] * C + c[None, :],
        tl.trans(tile),
        mask=pm[:, None] & cm[None, :],
    )


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.scale = nn.Parameter((torch.rand(channels) + 0.5).half())

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        y = torch.empty((N, H, W, C), device=x.device, dtype=x.dtype)
        P = H * W
        grid = lambda META: (triton.cdiv(P, META["TP"]), triton.cdiv(C, META["TC"]), N)
        scale_permute_kernel[grid](x, self.scale, y, C, P)
        return y
