import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice


@triton.jit
def geglu_kernel(x_ptr, out_ptr, cols, n_out, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_out
    row = offs // cols
    col = offs % cols
    a = tl.load(x_ptr + row * 2 * cols + col, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + row * 2 * cols + cols + col, mask=mask, other=0.0).to(tl.float32)
    t = libdevice.tanh(0.7978845608028654 * (a + 0.044715 * a * a * a))
    y = 0.5 * a * (1.0 + t) * b
    tl.store(out_ptr + offs, y.to(tl.float16), mask=mask)


def kernel(x):
    x = x.contiguous()
    rows, cols2 = x.shape
    cols = cols2 // 2
    out = torch.empty((rows, cols), device=x.device, dtype=x.dtype)
    n = rows * cols
    geglu_kernel[(triton.cdiv(n, 1024),)](x, out, cols, n, BLOCK_SIZE=1024)
    return out
