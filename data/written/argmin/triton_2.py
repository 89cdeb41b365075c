import torch
import triton
import triton.language as tl


# Chunked: per-lane best value and best index, strict < keeps the earliest index in each lane. At the end take the minimum
# value and, among the lanes that hold it, the smallest index.
@triton.jit
def argmin_lanes(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    best = tl.full([BLOCK], float("inf"), tl.float32)
    where = tl.full([BLOCK], 2147483647, tl.int32)
    for start in range(0, n_cols, BLOCK):
        c = start + offs
        v = tl.load(x_ptr + row * n_cols + c, mask=c < n_cols, other=float("inf"))
        better = v < best
        best = tl.where(better, v, best)
        where = tl.where(better, c, where)
    lowest = tl.min(best, axis=0)
    first = tl.min(tl.where(best == lowest, where, 2147483647), axis=0)
    tl.store(out_ptr + row, first.to(tl.int64))


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, device=x.device, dtype=torch.int64)
    argmin_lanes[(rows,)](x, out, cols, BLOCK=512, num_warps=4)
    return out
