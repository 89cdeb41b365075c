import torch
import triton
import triton.language as tl


@triton.jit
def permute_kernel(x_ptr, out_ptr, n, rows, cols, BLOCK: tl.constexpr):
    # flat over the output (coalesced writes, strided reads)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    i = offs % rows
    j = (offs // rows) % cols
    b = offs // (rows * cols)
    v = tl.load(x_ptr + b * rows * cols + i * cols + j, mask=mask)
    tl.store(out_ptr + offs, v, mask=mask)


def kernel(x):
    x = x.contiguous()
    batch, rows, cols = x.shape
    out = torch.empty((batch, cols, rows), device=x.device, dtype=x.dtype)
    n = x.numel()
    permute_kernel[(triton.cdiv(n, 1024),)](x, out, n, rows, cols, BLOCK=1024)
    return out
