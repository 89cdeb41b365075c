import torch
import triton
import triton.language as tl


# Multi-row tiles sorted as int32 keys: integer min/max are single instructions with no NaN
# handling, and several short rows per program keep all lanes busy.
@triton.autotune(
    configs=[
        triton.Config({"ROWS": 1}, num_warps=1),
        triton.Config({"ROWS": 1}, num_warps=4),
        triton.Config({"ROWS": 2}, num_warps=4),
        triton.Config({"ROWS": 4}, num_warps=4),
        triton.Config({"ROWS": 8}, num_warps=8),
    ],
    key=["rows", "cols"],
)
@triton.jit
def sort_rows_int_kernel(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    offs = r[:, None].to(tl.int64) * cols + c[None, :]
    v = tl.load(x_ptr + offs, mask=mask, other=float("inf"))
    bits = v.to(tl.int32, bitcast=True)
    # negative floats: flip the magnitude bits so that signed-int order == float order
    key = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    key = tl.sort(key, dim=1)
    bits = key ^ ((key >> 31) & 0x7FFFFFFF)
    tl.store(out_ptr + offs, bits.to(tl.float32, bitcast=True), mask=mask)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(cols)
    grid = lambda meta: (triton.cdiv(rows, meta["ROWS"]),)
    sort_rows_int_kernel[grid](x, out, rows, cols, BLOCK=BLOCK)
    return out
