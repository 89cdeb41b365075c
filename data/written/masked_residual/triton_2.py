import torch
import triton
import triton.language as tl


@triton.jit
def dropout_add_row(x_ptr, keep_ptr, res_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    off = row * n_cols + cols
    keep = tl.load(keep_ptr + off, mask=mask, other=0)
    x = tl.load(x_ptr + off, mask=mask, other=0.0).to(tl.float32)
    res = tl.load(res_ptr + off, mask=mask, other=0.0).to(tl.float32)
    y = tl.where(keep != 0, res + 1.25 * x, res)
    tl.store(out_ptr + off, y.to(tl.bfloat16), mask=mask)


def kernel(x, keep, residual):
    x, keep, residual = x.contiguous(), keep.contiguous(), residual.contiguous()
    rows, cols = x.shape
    out = torch.empty_like(x)
    BLOCK = triton.next_power_of_2(cols)
    dropout_add_row[(rows,)](x, keep, residual, out, cols, BLOCK=BLOCK, num_warps=4 if BLOCK < 4096 else 8)
    return out
