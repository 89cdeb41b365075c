import torch
import triton
import triton.language as tl


# Several rows per program (good for cols = 256), autotuned row count.
@triton.autotune(
    configs=[
        triton.Config({"ROWS": 1}, num_warps=4),
        triton.Config({"ROWS": 1}, num_warps=8),
        triton.Config({"ROWS": 4}, num_warps=4),
        triton.Config({"ROWS": 8}, num_warps=4),
        triton.Config({"ROWS": 16}, num_warps=8),
    ],
    key=["rows", "cols"],
)
@triton.jit
def quant_fp8_rows_tile(x_ptr, codes_ptr, scales_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    offs = r[:, None].to(tl.int64) * cols + c[None, :]
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    top = tl.max(tl.abs(x), axis=1)
    e = (top.to(tl.int32, bitcast=True) >> 23) & 0xFF
    e = tl.where(top > 0.0, e, 126)                    # zero row: scale 2^-8
    scale = ((e - 7) << 23).to(tl.float32, bitcast=True)
    inv = ((261 - e) << 23).to(tl.float32, bitcast=True)   # exact reciprocal of a power of two
    q = (x * inv[:, None]).to(tl.float8e4nv)
    tl.store(codes_ptr + offs, q.to(tl.uint8, bitcast=True), mask=mask)
    tl.store(scales_ptr + r, scale, mask=r < rows)


def kernel(x):
    rows, cols = x.shape
    codes = torch.empty((rows, cols), dtype=torch.uint8, device=x.device)
    scales = torch.empty((rows,), dtype=torch.float32, device=x.device)
    grid = lambda m: (triton.cdiv(rows, m["ROWS"]),)
    quant_fp8_rows_tile[grid](x, codes, scales, rows, cols, BLOCK=triton.next_power_of_2(cols))
    return codes, scales
