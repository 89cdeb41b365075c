import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(logits_ptr, targets_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    # One program per row, the whole row lives in registers.
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK_SIZE)
    mask = offs < n_cols
    x = tl.load(logits_ptr + row * n_cols + offs, mask=mask, other=-float("inf"))
    target = tl.load(targets_ptr + row)
    x_max = tl.max(x, axis=0)
    lse = tl.log(tl.sum(tl.exp(x - x_max), axis=0)) + x_max
    x_t = tl.load(logits_ptr + row * n_cols + target)
    tl.store(out_ptr + row, lse - x_t)


def kernel(logits, targets):
    n_rows, n_cols = logits.shape
    out = torch.empty(n_rows, device=logits.device, dtype=torch.float32)
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    num_warps = 4 if BLOCK_SIZE <= 1024 else (8 if BLOCK_SIZE <= 4096 else 16)
    cross_entropy_kernel[(n_rows,)](logits, targets, out, n_cols, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps)
    return out
