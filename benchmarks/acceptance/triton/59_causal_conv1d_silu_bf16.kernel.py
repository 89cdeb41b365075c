import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_conv1d_silu_kernel(
    x_ptr, w_ptr, b_ptr, o_ptr,
    D, L,
    sxb, sxd, sxl,
    sob, sod, sol,
    WIDTH: tl.constexpr,
    BLOCK_L: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    pid_d = tl.program_id(0)
    pid_l = tl.program_id(1)
    b = tl.program_id(2)
    d = pid_d * BLOCK_D + tl.arange(0, BLOCK_D)
    l = pid_l * BLOCK_L + tl.arange(0, BLOCK_L)
    dm = d < D

    bias = tl.load(b_ptr + d, mask=dm, other=0.0).to(tl.float32)
    acc = tl.zeros((BLOCK_L, BLOCK_D), dtype=tl.float32) + bias[None, :]
    for j in tl.static_range(WIDTH):
        src = l - (WIDTH - 1) + j
        ok = ((src >= 0) & (src < L))[:, None] & dm[None, :]
        x = tl.load(x_ptr + b * sxb + src[:, None] * sxl + d[None, :] * sxd, mask=ok, other=0.0)
        w = tl.load(w_ptr + d * WIDTH + j, mask=dm, other=0.0)
        acc += x.to(tl.float32) * w.to(tl.float32)[None, :]

    acc = acc / (1.0 + tl.exp(-acc))
    tl.store(
        o_ptr + b * sob + l[:, None] * sol + d[None, :] * sod,
        acc.to(tl.bfloat16),
        mask=(l < L)[:, None] & dm[None, :],
    )


class ModelNew(nn.Module):
    def __init__(self, dim, width):
        super().__init__()
        self.width = width
        self.conv = nn.Conv1d(dim, dim, width, groups=dim, padding=width - 1).to(torch.bfloat16)

    def forward(self, x):
        B, D, L = x.shape
        out = torch.empty_like(x)  # keeps the strides of the view
        BLOCK_L, BLOCK_D = 32, 128
        grid = (triton.cdiv(D, BLOCK_D), triton.cdiv(L, BLOCK_L), B)
        causal_conv1d_silu_kernel[grid](
            x, self.conv.weight, self.conv.bias, out, D, L,
            x.stride(0), x.stride(1), x.stride(2),
            out.stride(0), out.stride(1), out.stride(2),
            WIDTH=self.width, BLOCK_L=BLOCK_L, BLOCK_D=BLOCK_D, num_warps=4,
        )
        return out
