import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_two_pass(x_ptr, gamma_ptr, out_ptr, n_cols, eps, CHUNK: tl.constexpr):
    # Two sweeps over the row in chunks; the second one should be served by L1.
    row = tl.program_id(0)
    x_row = x_ptr + row * n_cols
    out_row = out_ptr + row * n_cols
    acc = tl.zeros((CHUNK,), dtype=tl.float32)
    for start in range(0, n_cols, CHUNK):
        cols = start + tl.arange(0, CHUNK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        acc += x * x
    rms = tl.rsqrt(tl.sum(acc) / n_cols + eps)
    for start in range(0, n_cols, CHUNK):
        cols = start + tl.arange(0, CHUNK)
        mask = cols < n_cols
        x = tl.load(x_row + cols, mask=mask, other=0.0).to(tl.float32)
        g = tl.load(gamma_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_row + cols, x * rms * g, mask=mask)


def kernel(x, gamma):
    rows, cols = x.shape
    out = torch.empty_like(x)
    rmsnorm_two_pass[(rows,)](x, gamma, out, cols, 1e-5, CHUNK=512, num_warps=4)
    return out
