import torch
import triton
import triton.language as tl


@triton.jit
def fused_add_rmsnorm_kernel(x_ptr, res_ptr, gamma_ptr, out_ptr, kept_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < cols
    x = tl.load(x_ptr + row * cols + offs, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(res_ptr + row * cols + offs, mask=mask, other=0.0).to(tl.float32)
    s = (x + r).to(tl.bfloat16)
    tl.store(kept_ptr + row * cols + offs, s, mask=mask)
    s = s.to(tl.float32)  # normalise the rounded sum, as the reference does
    var = tl.sum(s * s, axis=0) / cols
    rstd = 1 / tl.sqrt(var + eps)
    g = tl.load(gamma_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offs, (s * rstd * g).to(tl.bfloat16), mask=mask)


def kernel(x, residual, gamma):
    rows, cols = x.shape
    out = torch.empty_like(x)
    kept = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(cols)
    fused_add_rmsnorm_kernel[(rows,)](x, residual, gamma, out, kept, cols, 1e-5, BLOCK=BLOCK, num_warps=8)
    return out, kept
