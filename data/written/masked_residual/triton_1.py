import torch
import triton
import triton.language as tl


@triton.jit
def masked_residual_kernel(x_ptr, keep_ptr, residual_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    keep = tl.load(keep_ptr + offs, mask=mask, other=0).to(tl.float32)
    residual = tl.load(residual_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    out = residual + x * keep * 1.25
    tl.store(out_ptr + offs, out.to(tl.bfloat16), mask=mask)


def kernel(x, keep, residual):
    out = torch.empty_like(x)
    n = x.numel()
    BLOCK_SIZE = 1024
    masked_residual_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, keep, residual, out, n, BLOCK_SIZE=BLOCK_SIZE)
    return out
