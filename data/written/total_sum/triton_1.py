import torch
import triton
import triton.language as tl


# Simplest thing that works: one block of the flat tensor per program, one atomic each.
@triton.jit
def sum_atomic_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))


def kernel(x):
    n = x.numel()
    out = torch.zeros((), device=x.device, dtype=torch.float32)
    BLOCK = 4096
    sum_atomic_kernel[(triton.cdiv(n, BLOCK),)](x, out, n, BLOCK=BLOCK, num_warps=8)
    return out
