import torch
import triton
import triton.language as tl


# Flat element-wise: treat the output as one long array, 1-D blocks, div/mod to find the row.
# Simple and perfectly balanced for any dim, but every element pays an integer division and
# re-loads its index (served by L1).
@triton.jit
def select_scaled_flat(table_ptr, index_ptr, scale_ptr, out_ptr, total, dim, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < total
    row = offs // dim
    col = offs - row * dim
    src = tl.load(index_ptr + row, mask=mask, other=0)
    s = tl.load(scale_ptr + row, mask=mask, other=0.0).to(tl.float32)
    v = tl.load(table_ptr + src * dim + col, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offs, (v * s).to(tl.bfloat16), mask=mask)


def kernel(table, index, scale):
    vocab, dim = table.shape
    count = index.numel()
    out = torch.empty((count, dim), dtype=table.dtype, device=table.device)
    total = count * dim
    BLOCK = 2048
    select_scaled_flat[(triton.cdiv(total, BLOCK),)](table, index, scale, out, total, dim, BLOCK=BLOCK, num_warps=8)
    return out
