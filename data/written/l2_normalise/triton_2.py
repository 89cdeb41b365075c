import torch
import triton
import triton.language as tl


@triton.jit
def l2norm_rows_kernel(x_ptr, out_ptr, rows, COLS: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    # tile of whole rows, sized so that every program moves about 32 KB whatever the width is
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    mask = (r < rows)[:, None] & (c < COLS)[None, :]
    offs = r[:, None] * COLS + c[None, :]
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    ss = tl.sum(x * x, axis=1)
    inv = 1.0 / tl.maximum(tl.sqrt(ss), 1e-12)
    tl.store(out_ptr + offs, x * inv[:, None], mask=mask)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    per = max(1, 8192 // block)
    l2norm_rows_kernel[(triton.cdiv(rows, per),)](x, out, rows, COLS=cols, BLOCK=block, ROWS=per, num_warps=8)
    return out
