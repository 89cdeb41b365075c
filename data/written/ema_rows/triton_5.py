import torch
import triton
import triton.language as tl


@triton.jit
def compose(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


# Finite memory: 0.9^256 = 2e-12, so the state 256 columns ago is below fp32 resolution.  Every chunk of a row can hence
# be computed independently by starting a scan 256 columns early from zero -- full column parallelism, no carry chain,
# at the price of re-reading the warm-up (which is in L2, since the neighbour program just read it).
@triton.jit
def ema_halo_kernel(x_ptr, out_ptr, cols, CHUNK: tl.constexpr, HALO: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * CHUNK
    t = first - HALO + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + t, mask=(t >= 0) & (t < cols), other=0.0)
    a = tl.full((BLOCK,), 0.9, dtype=tl.float32)
    _, y = tl.associative_scan((a, 0.1 * x), 0, compose)
    tl.store(out_ptr + row * cols + t, y, mask=(t >= first) & (t < cols))


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    HALO, BLOCK = 256, 1024
    CHUNK = BLOCK - HALO
    # gridDim.y is limited to 65535, the row count can be 65536 -> launch rows in slabs
    for start in range(0, rows, 32768):
        n = min(32768, rows - start)
        ema_halo_kernel[(triton.cdiv(cols, CHUNK), n)](x[start:], out[start:], cols, CHUNK=CHUNK, HALO=HALO, BLOCK=BLOCK, num_warps=4)
    return out
