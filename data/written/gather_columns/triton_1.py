import torch
import triton
import triton.language as tl


# Plain: one program per (row, block of output columns); the gather itself is served by L1/L2
# because a 16 KB row is touched by all of its programs.
@triton.jit
def gather_columns_kernel(x_ptr, index_ptr, out_ptr, cols, count, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = j < count
    idx = tl.load(index_ptr + j, mask=mask, other=0)
    v = tl.load(x_ptr + row * cols + idx, mask=mask)
    tl.store(out_ptr + row * count + j, v, mask=mask)


def kernel(x, index):
    rows, cols = x.shape
    count = index.numel()
    out = torch.empty((rows, count), dtype=x.dtype, device=x.device)
    BLOCK = 512
    grid = (rows, triton.cdiv(count, BLOCK))
    gather_columns_kernel[grid](x, index, out, cols, count, BLOCK=BLOCK, num_warps=4)
    return out
