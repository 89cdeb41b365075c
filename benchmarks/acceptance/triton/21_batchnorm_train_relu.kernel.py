import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _plane_stats(x_ptr, mean_ptr, m2_ptr, HW, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < HW
    x = tl.load(x_ptr + p * HW + offs, mask=mask, other=0.0)
    mu = tl.sum(x, axis=0) / HW
    d = tl.where(mask, x - mu, 0.0)
    tl.store(mean_ptr + p, mu)
    tl.store(m2_ptr + p, tl.sum(d * d, axis=0))


@triton.jit
def _merge_stats(
    mean_ptr, m2_ptr, w_ptr, b_ptr, rmean_ptr, rvar_ptr, scale_ptr, shift_ptr,
    N, C, HW, eps, momentum,
    BLOCK_N: tl.constexpr,
):
    # Chan's formula over the per-plane means and centred second moments of one channel
    c = tl.program_id(0)
    n = tl.arange(0, BLOCK_N)
    nm = n < N
    mus = tl.load(mean_ptr + n * C + c, mask=nm, other=0.0)
    m2s = tl.load(m2_ptr + n * C + c, mask=nm, other=0.0)
    mu = tl.sum(mus, axis=0) / N
    d = tl.where(nm, mus - mu, 0.0)
    m2 = tl.sum(m2s, axis=0) + HW * tl.sum(d * d, axis=0)
    count = N * HW
    var = m2 / count

    rm = tl.load(rmean_ptr + c)
    rv = tl.load(rvar_ptr + c)
    tl.store(rmean_ptr + c, rm + momentum * (mu - rm))
    tl.store(rvar_ptr + c, rv + momentum * (m2 / (count - 1) - rv))

    scale = tl.load(w_ptr + c) / tl.sqrt(var + eps)
    tl.store(scale_ptr + c, scale)
    tl.store(shift_ptr + c, tl.load(b_ptr + c) - mu * scale)


@triton.jit
def _affine_relu(x_ptr, scale_ptr, shift_ptr, y_ptr, C, HW, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    c = p % C
    s = tl.load(scale_ptr + c)
    t = tl.load(shift_ptr + c)
    offs = tl.arange(0, BLOCK)
    mask = offs < HW
    x = tl.load(x_ptr + p * HW + offs, mask=mask, other=0.0)
    tl.store(y_ptr + p * HW + offs, tl.maximum(x * s + t, 0.0), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_features):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features)

    def forward(self, x):
        bn = self.bn
        x = x.contiguous()
        N, C, H, W = x.shape
        HW = H * W
        BLOCK = triton.next_power_of_2(HW)
        y = torch.empty_like(x)
        if self.training:
            mean = torch.empty(N * C, device=x.device, dtype=torch.float32)
            m2 = torch.empty_like(mean)
            scale = torch.empty(C, device=x.device, dtype=torch.float32)
            shift = torch.empty_like(scale)
            _plane_stats[(N * C,)](x, mean, m2, HW, BLOCK=BLOCK, num_warps=8)
            _merge_stats[(C,)](
                mean, m2, bn.weight, bn.bias, bn.running_mean, bn.running_var, scale, shift,
                N, C, HW, bn.eps, bn.momentum,
                BLOCK_N=triton.next_power_of_2(N), num_warps=1,
            )
            bn.num_batches_tracked.add_(1)
        else:
            scale = bn.weight * torch.rsqrt(bn.running_var + bn.eps)
            shift = bn.bias - bn.running_mean * scale
        _affine_relu[(N * C,)](x, scale, shift, y, C, HW, BLOCK=BLOCK, num_warps=8)
        return y
