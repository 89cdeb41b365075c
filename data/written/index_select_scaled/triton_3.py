import torch
import triton
import triton.language as tl


# 2-D tiles: ROWS gathered rows x BLOCK_D columns per program, so each program has many
# independent 16-byte loads outstanding.
@triton.autotune(
    configs=[
        triton.Config({"ROWS": 2, "BLOCK_D": 1024}, num_warps=4),
        triton.Config({"ROWS": 4, "BLOCK_D": 512}, num_warps=4),
        triton.Config({"ROWS": 8, "BLOCK_D": 256}, num_warps=4),
        triton.Config({"ROWS": 16, "BLOCK_D": 256}, num_warps=8),
        triton.Config({"ROWS": 32, "BLOCK_D": 128}, num_warps=4),
    ],
    key=["count", "dim"],
)
@triton.jit
def select_scaled_tile(table_ptr, index_ptr, scale_ptr, out_ptr, count, dim, ROWS: tl.constexpr, BLOCK_D: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    rm = r < count
    src = tl.load(index_ptr + r, mask=rm, other=0)
    s = tl.load(scale_ptr + r, mask=rm, other=0.0).to(tl.float32)
    mask = rm[:, None] & (d[None, :] < dim)
    v = tl.load(table_ptr + src[:, None] * dim + d[None, :], mask=mask, other=0.0).to(tl.float32)
    o = (v * s[:, None]).to(tl.bfloat16)
    tl.store(out_ptr + r[:, None].to(tl.int64) * dim + d[None, :], o, mask=mask)


def kernel(table, index, scale):
    vocab, dim = table.shape
    count = index.numel()
    out = torch.empty((count, dim), dtype=table.dtype, device=table.device)
    grid = lambda m: (triton.cdiv(count, m["ROWS"]), triton.cdiv(dim, m["BLOCK_D"]))
    select_scaled_tile[grid](table, index, scale, out, count, dim)
    return out
