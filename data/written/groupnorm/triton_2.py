import torch
import triton
import triton.language as tl


@triton.jit
def groupnorm_resident_kernel(x_ptr, gamma_ptr, beta_ptr, out_ptr, HW: tl.constexpr, CPG: tl.constexpr, BLOCK: tl.constexpr):
    # The whole group lives in registers: x is read from HBM exactly once.
    pid = tl.program_id(0)
    group = pid % 32
    SIZE: tl.constexpr = HW * CPG
    offs = tl.arange(0, BLOCK)
    mask = offs < SIZE
    base = pid.to(tl.int64) * SIZE
    x = tl.load(x_ptr + base + offs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) * (1.0 / SIZE)
    xc = tl.where(mask, x - mean, 0.0)
    var = tl.sum(xc * xc, axis=0) * (1.0 / SIZE)
    rstd = tl.rsqrt(var + 1e-5)
    # HW is constexpr, so the division is a multiply/shift
    ch = group * CPG + offs // HW
    gamma = tl.load(gamma_ptr + ch, mask=mask, other=0.0).to(tl.float32)
    beta = tl.load(beta_ptr + ch, mask=mask, other=0.0).to(tl.float32)
    y = xc * rstd * gamma + beta
    tl.store(out_ptr + base + offs, y.to(out_ptr.dtype.element_ty), mask=mask)


def kernel(x, gamma, beta):
    n, c, hw = x.shape
    out = torch.empty_like(x)
    cpg = c // 32
    block = triton.next_power_of_2(cpg * hw)
    num_warps = min(max(block // 512, 1), 16)
    groupnorm_resident_kernel[(n * 32,)](x, gamma, beta, out, HW=hw, CPG=cpg, BLOCK=block, num_warps=num_warps)
    return out
