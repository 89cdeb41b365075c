import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, r_ptr, kept_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)
    r = tl.load(r_ptr + i, mask=m, other=0.0).to(tl.float32)
    tl.store(kept_ptr + i, (x + r).to(tl.bfloat16), mask=m)


@triton.jit
def rms_kernel(s_ptr, gamma_ptr, out_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols
    s = tl.load(s_ptr + row * cols + c, mask=m, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(s * s, 0) / cols + eps)
    g = tl.load(gamma_ptr + c, mask=m, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + c, (s * rstd * g).to(tl.bfloat16), mask=m)


def kernel(x, residual, gamma):
    # unfused baseline: elementwise add, then rmsnorm
    rows, cols = x.shape
    kept = torch.empty_like(x)
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 2048),)](x, residual, kept, n, BLOCK=2048, num_warps=8)
    rms_kernel[(rows,)](kept, gamma, out, cols, 1e-5, BLOCK=triton.next_power_of_2(cols), num_warps=4)
    return out, kept
