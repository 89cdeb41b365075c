# task: transpose
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"A": 64, "B": 64}, num_warps=8), triton.Config({"A": 32, "B": 64}, num_warps=4),
                  triton.Config({"A": 64, "B": 32}, num_warps=4), triton.Config({"A": 128, "B": 32}, num_warps=8),
                  triton.Config({"A": 32, "B": 128}, num_warps=8)], key=["rows", "cols"])
@triton.jit
def move(x, out, rows, cols, A: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(1) * A + tl.arange(0, A)
    c = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + r[:, None].to(tl.int64) * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols))
    tl.store(out + c[:, None].to(tl.int64) * rows + r[None, :], tl.trans(v),
             mask=(c[:, None] < cols) & (r[None, :] < rows))


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
    move[lambda m: (triton.cdiv(cols, m["B"]), triton.cdiv(rows, m["A"]))](x, out, rows, cols)
    return out
