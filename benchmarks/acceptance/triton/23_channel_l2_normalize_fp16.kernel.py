import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def l2norm_channels(
    X, Y,
    C, P, eps,
    BC: tl.constexpr,
    BP: tl.constexpr,
):
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    n = tl.program_id(1)
    c = tl.arange(0, BC)
    m = (c[:, None] < C) & (p[None, :] < P)
    offs = n * C * P + c[:, None] * P + p[None, :]
    x = tl.load(X + offs, mask=m, other=0.0).to(tl.float32)
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    inv = 1.0 / tl.maximum(norm, eps)
    tl.store(Y + offs, (x * inv[None, :]).to(Y.dtype.element_ty), mask=m)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        B, C = x.shape[:2]
        P = x.numel() // (B * C)
        y = torch.empty_like(x)
        BP = 64
        l2norm_channels[(triton.cdiv(P, BP), B)](
            x, y, C, P, self.eps, BC=triton.next_power_of_2(C), BP=BP, num_warps=8
        )
        return y
