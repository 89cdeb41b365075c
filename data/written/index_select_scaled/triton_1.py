import torch
import triton
import triton.language as tl


# One program per output row.
@triton.jit
def select_scaled_kernel(table_ptr, index_ptr, scale_ptr, out_ptr, dim, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    src = tl.load(index_ptr + i)
    s = tl.load(scale_ptr + i).to(tl.float32)
    d = tl.arange(0, BLOCK)
    mask = d < dim
    v = tl.load(table_ptr + src * dim + d, mask=mask).to(tl.float32)
    tl.store(out_ptr + i.to(tl.int64) * dim + d, (v * s).to(tl.bfloat16), mask=mask)


def kernel(table, index, scale):
    vocab, dim = table.shape
    count = index.numel()
    out = torch.empty((count, dim), dtype=table.dtype, device=table.device)
    BLOCK = triton.next_power_of_2(dim)
    select_scaled_kernel[(count,)](table, index, scale, out, dim, BLOCK=BLOCK, num_warps=1 if BLOCK <= 256 else 4)
    return out
