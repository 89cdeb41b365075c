import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gn_softsign_gain_kernel(
    y_ptr, w_ptr, b_ptr, gain_ptr, out_ptr,
    F, GS, G, eps,
    BG: tl.constexpr, BGS: tl.constexpr,
):
    """One row per program, seen as a (groups, group_size) tile."""
    row = tl.program_id(0)
    g = tl.arange(0, BG)
    j = tl.arange(0, BGS)
    cols = g[:, None] * GS + j[None, :]
    mask = (g[:, None] < G) & (j[None, :] < GS)

    y = tl.load(y_ptr + row * F + cols, mask=mask, other=0.0)
    mean = tl.sum(y, axis=1) / GS
    d = tl.where(mask, y - mean[:, None], 0.0)
    var = tl.sum(d * d, axis=1) / GS
    rstd = tl.rsqrt(var + eps)

    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0)
    gain = tl.load(gain_ptr + cols, mask=mask, other=0.0)
    z = d * rstd[:, None] * w + b
    z = z / (1.0 + tl.abs(z)) * gain
    tl.store(out_ptr + row * F + cols, z, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, num_groups):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.norm = nn.GroupNorm(num_groups, out_features)
        self.gain = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        y = torch.addmm(self.linear.bias, x, self.linear.weight.t())
        M, N = y.shape
        G = self.norm.num_groups
        GS = N // G
        out = torch.empty_like(y)
        gn_softsign_gain_kernel[(M,)](
            y, self.norm.weight, self.norm.bias, self.gain, out,
            N, GS, G, self.norm.eps,
            BG=triton.next_power_of_2(G), BGS=triton.next_power_of_2(GS), num_warps=4,
        )
        return out
