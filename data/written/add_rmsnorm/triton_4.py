import torch
import triton
import triton.language as tl


@triton.jit
def add_rmsnorm_chunked(x_ptr, res_ptr, gamma_ptr, out_ptr, kept_ptr, cols, eps, CHUNK: tl.constexpr):
    # Pass 1 writes kept and accumulates squares; pass 2 re-reads kept, which was just written by the same
    # threads to the same addresses, so it comes from L1/L2. Low register pressure, high occupancy.
    row = tl.program_id(0).to(tl.int64)
    base = row * cols
    acc = tl.zeros((CHUNK,), tl.float32)
    for start in tl.range(0, cols, CHUNK, num_stages=2):
        c = start + tl.arange(0, CHUNK)
        m = c < cols
        s = tl.load(x_ptr + base + c, mask=m, other=0.0).to(tl.float32) + tl.load(
            res_ptr + base + c, mask=m, other=0.0
        ).to(tl.float32)
        s16 = s.to(tl.bfloat16)
        tl.store(kept_ptr + base + c, s16, mask=m)
        s = s16.to(tl.float32)
        acc += s * s
    rstd = tl.rsqrt(tl.sum(acc, 0) / cols + eps)
    for start in range(0, cols, CHUNK):
        c = start + tl.arange(0, CHUNK)
        m = c < cols
        s = tl.load(kept_ptr + base + c, mask=m, other=0.0).to(tl.float32)
        g = tl.load(gamma_ptr + c, mask=m, other=0.0).to(tl.float32)
        tl.store(out_ptr + base + c, (s * rstd * g).to(tl.bfloat16), mask=m)


def kernel(x, residual, gamma):
    rows, cols = x.shape
    out, kept = torch.empty_like(x), torch.empty_like(x)
    add_rmsnorm_chunked[(rows,)](x, residual, gamma, out, kept, cols, 1e-5, CHUNK=1024, num_warps=4)
    return out, kept
