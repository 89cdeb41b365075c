import torch
import triton
import triton.language as tl


# Persistent and double buffered by hand: the next row is loaded into registers before the current one is reduced, so the two
# dependent reductions (mean, then deviations) are hidden behind the memory latency.
@triton.jit
def row_var_prefetch(x_ptr, out_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0)
    c = tl.arange(0, BLOCK)
    mask = c < n_cols
    inv_n = 1.0 / n_cols
    inv_n1 = 1.0 / (n_cols - 1)
    cur = tl.load(x_ptr + pid.to(tl.int64) * n_cols + c, mask=mask, other=0.0)
    for row in range(pid, n_rows, step):
        nxt_row = row + step
        nxt = tl.load(x_ptr + nxt_row.to(tl.int64) * n_cols + c, mask=mask & (nxt_row < n_rows), other=0.0)
        mean = tl.sum(cur, 0) * inv_n
        d = tl.where(mask, cur - mean, 0.0)
        tl.store(out_ptr + row, tl.sum(d * d, 0) * inv_n1)
        cur = nxt


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, device=x.device, dtype=torch.float32)
    BLOCK = triton.next_power_of_2(cols)
    num_warps = 8 if BLOCK >= 4096 else (4 if BLOCK >= 1024 else 1)
    per_sm = 32 // num_warps
    row_var_prefetch[(min(rows, 132 * per_sm),)](x, out, rows, cols, BLOCK=BLOCK, num_warps=num_warps)
    return out
