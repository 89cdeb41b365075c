import torch
import triton
import triton.language as tl


# Two-level tree: partial sums per block, then one program sums the partials.
@triton.jit
def partial_sums(x_ptr, part_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(part_ptr + pid, tl.sum(x, axis=0))


@triton.jit
def final_sum(part_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(part_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr, tl.sum(acc, axis=0))


def kernel(x):
    n = x.numel()
    out = torch.empty((), device=x.device, dtype=torch.float32)
    BLOCK = 8192
    blocks = triton.cdiv(n, BLOCK)
    part = torch.empty(blocks, device=x.device, dtype=torch.float32)
    partial_sums[(blocks,)](x, part, n, BLOCK=BLOCK, num_warps=8)
    final_sum[(1,)](part, out, blocks, BLOCK=1024, num_warps=4)
    return out
