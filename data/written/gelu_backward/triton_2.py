import torch
import triton
import triton.language as tl


@triton.jit
def gelu_grad(x):
    # gelu_tanh(x) = x * sigmoid(2u),  u = sqrt(2/pi) (x + 0.044715 x^3)
    # d/dx = s + x * s * (1 - s) * 2u'
    x2 = x * x
    two_u = 1.5957691216057308 * x * (1.0 + 0.044715 * x2)
    s = 1.0 / (1.0 + tl.exp(-two_u))
    two_du = 1.5957691216057308 * (1.0 + 0.134145 * x2)
    return s + x * s * (1.0 - s) * two_du


@triton.jit
def bwd_2d(grad_ptr, x_ptr, out_ptr, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    mask = (rm[:, None] < rows) & (rn[None, :] < cols)
    offs = rm[:, None] * cols + rn[None, :]
    g = tl.load(grad_ptr + offs, mask=mask, other=0.0)
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, g * gelu_grad(x), mask=mask)


def kernel(grad, x):
    grad, x = grad.contiguous(), x.contiguous()
    rows, cols = x.shape
    out = torch.empty_like(x)
    BM, BN = 8, 256
    grid = (triton.cdiv(rows, BM), triton.cdiv(cols, BN))
    bwd_2d[grid](grad, x, out, rows, cols, BM=BM, BN=BN, num_warps=4)
    return out
