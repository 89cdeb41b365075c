import torch
import triton
import triton.language as tl


# Sum and sum of squares in a single chunked pass. Values are in [0, 1): shift by 0.5 to limit cancellation.
@triton.jit
def row_var_moments(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    s1 = tl.zeros([BLOCK], tl.float32)
    s2 = tl.zeros([BLOCK], tl.float32)
    shift = tl.load(x_ptr + row * n_cols)  # any value of the row is a good shift
    for start in range(0, n_cols, BLOCK):
        c = start + offs
        x = tl.load(x_ptr + row * n_cols + c, mask=c < n_cols, other=0.0)
        d = tl.where(c < n_cols, x - shift, 0.0)
        s1 += d
        s2 += d * d
    a = tl.sum(s1, 0)
    b = tl.sum(s2, 0)
    var = (b - a * a / n_cols) / (n_cols - 1)
    tl.store(out_ptr + row, var)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, device=x.device, dtype=torch.float32)
    row_var_moments[(rows,)](x, out, cols, BLOCK=512, num_warps=4)
    return out
