import torch
import triton
import triton.language as tl


# Loop over column blocks up to the diagonal only (online max / sum), then write, then zero fill the rest of the row.
@triton.jit
def causal_softmax_online(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    b = tl.program_id(1)
    base = (b * size + row).to(tl.int64) * size
    cols = tl.arange(0, BLOCK)
    n = row + 1

    m = -float("inf")
    s = 0.0
    for start in range(0, n, BLOCK):
        c = start + cols
        x = tl.load(x_ptr + base + c, mask=c < n, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        s = s * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m = m_new

    inv = 1.0 / s
    for start in range(0, n, BLOCK):
        c = start + cols
        x = tl.load(x_ptr + base + c, mask=c < n, other=-float("inf")).to(tl.float32)
        y = tl.exp(x - m) * inv
        # columns in this block after the diagonal get exp(-inf) = 0
        tl.store(out_ptr + base + c, y.to(tl.bfloat16), mask=c < size)

    zero_start = tl.cdiv(n, BLOCK) * BLOCK
    zeros = tl.zeros([BLOCK], dtype=tl.bfloat16)
    for start in range(zero_start, size, BLOCK):
        c = start + cols
        tl.store(out_ptr + base + c, zeros, mask=c < size)


def kernel(x):
    batch, size, _ = x.shape
    out = torch.empty_like(x)
    BLOCK = min(1024, triton.next_power_of_2(size))
    causal_softmax_online[(size, batch)](x, out, size, BLOCK=BLOCK, num_warps=4)
    return out
