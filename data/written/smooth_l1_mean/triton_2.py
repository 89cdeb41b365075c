import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(a_ptr, b_ptr, part_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(a_ptr + offs, mask=mask, other=0.0)
    b = tl.load(b_ptr + offs, mask=mask, other=0.0)
    d = tl.abs(a - b)
    loss = tl.where(d < 0.5, d * d, d - 0.25)
    tl.store(part_ptr + pid, tl.sum(loss, axis=0))


@triton.jit
def final_kernel(part_ptr, out_ptr, n_parts, inv_n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, n_parts, BLOCK):
        offs = i + tl.arange(0, BLOCK)
        acc += tl.load(part_ptr + offs, mask=offs < n_parts, other=0.0)
    tl.store(out_ptr, tl.sum(acc, axis=0) * inv_n)


def kernel(a, b):
    n = a.numel()
    BLOCK = 8192
    n_parts = triton.cdiv(n, BLOCK)
    parts = torch.empty(n_parts, device=a.device, dtype=torch.float32)
    out = torch.empty((), device=a.device, dtype=torch.float32)
    partial_kernel[(n_parts,)](a, b, parts, n, BLOCK=BLOCK, num_warps=8)
    final_kernel[(1,)](parts, out, n_parts, 1.0 / n, BLOCK=1024, num_warps=8)
    return out
