import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, out_ptr, n_elements, n_cols, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offs % n_cols, mask=mask, other=0.0).to(tl.float32)
    v = x + bias
    inner = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    y = 0.5 * v * (1.0 + libdevice.tanh(inner))
    tl.store(out_ptr + offs, y.to(tl.float16), mask=mask)


def kernel(x, bias):
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    BLOCK_SIZE = 1024
    bias_gelu_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, bias, out, n, x.shape[1], BLOCK_SIZE=BLOCK_SIZE)
    return out
