import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice


@triton.jit
def gelu_backward_kernel(grad_ptr, x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    g = tl.load(grad_ptr + offs, mask=mask)
    x = tl.load(x_ptr + offs, mask=mask)

    kBeta = 0.7978845608028654  # sqrt(2/pi)
    kKappa = 0.044715
    x2 = x * x
    inner = kBeta * (x + kKappa * x2 * x)
    t = libdevice.tanh(inner)
    left = 0.5 * (1.0 + t)
    right = 0.5 * x * (1.0 - t * t) * kBeta * (1.0 + 3.0 * kKappa * x2)
    tl.store(out_ptr + offs, g * (left + right), mask=mask)


def kernel(grad, x):
    grad = grad.contiguous()
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    BLOCK = 1024
    gelu_backward_kernel[(triton.cdiv(n, BLOCK),)](grad, x, out, n, BLOCK=BLOCK)
    return out
