import torch
import triton
import triton.language as tl


# Stage the full row on chip: coalesced load of the row, then tl.gather (shared memory lookup)
# for the permuted read.  DRAM sees only perfectly coalesced traffic; the random access happens
# in shared memory, where 4-byte gathers cost bank conflicts rather than sectors.
@triton.jit
def gather_onchip_kernel(x_ptr, index_ptr, out_ptr, cols, count, COLS: tl.constexpr, COUNT: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, COLS)
    line = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
    j = tl.arange(0, COUNT)
    idx = tl.load(index_ptr + j, mask=j < count, other=0).to(tl.int32)
    v = tl.gather(line, idx, axis=0)
    tl.store(out_ptr + row * count + j, v, mask=j < count)


def kernel(x, index):
    rows, cols = x.shape
    count = index.numel()
    out = torch.empty((rows, count), dtype=x.dtype, device=x.device)
    COLS = triton.next_power_of_2(cols)
    COUNT = triton.next_power_of_2(count)
    num_warps = 8 if COLS >= 2048 else 4
    gather_onchip_kernel[(rows,)](x, index, out, cols, count, COLS=COLS, COUNT=COUNT, num_warps=num_warps)
    return out
