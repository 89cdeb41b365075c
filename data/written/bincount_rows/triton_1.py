import torch
import triton
import triton.language as tl


# Naive: one program per (row, chunk of columns), global atomics into the row's 64 bins.
@triton.jit
def bincount_rows_atomic(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    chunk = tl.program_id(1)
    offs = chunk * BLOCK + tl.arange(0, BLOCK)
    mask = offs < cols
    v = tl.load(x_ptr + row.to(tl.int64) * cols + offs, mask=mask, other=0)
    tl.atomic_add(out_ptr + row * 64 + v, tl.full((BLOCK,), 1, tl.int32), mask=mask)


def kernel(x):
    rows, cols = x.shape
    out = torch.zeros((rows, 64), dtype=torch.int32, device=x.device)
    BLOCK = 256
    grid = (rows, triton.cdiv(cols, BLOCK))
    bincount_rows_atomic[grid](x, out, cols, BLOCK=BLOCK, num_warps=4)
    return out
