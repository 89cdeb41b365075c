import torch
import triton
import triton.language as tl


# Two passes over the row in chunks. First accumulates the dot product lane by lane (one reduction at the end only),
# second recomputes from L1/L2. Low register pressure, high occupancy.
@triton.jit
def softmax_bwd_two_pass(y_ptr, g_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    y_ptr += row * n_cols
    g_ptr += row * n_cols
    out_ptr += row * n_cols
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        c = start + offs
        y = tl.load(y_ptr + c, mask=c < n_cols, other=0.0, eviction_policy="evict_last").to(tl.float32)
        g = tl.load(g_ptr + c, mask=c < n_cols, other=0.0, eviction_policy="evict_last").to(tl.float32)
        acc += y * g
    dot = tl.sum(acc, axis=0)
    for start in range(0, n_cols, BLOCK):
        c = start + offs
        y = tl.load(y_ptr + c, mask=c < n_cols, other=0.0, eviction_policy="evict_first").to(tl.float32)
        g = tl.load(g_ptr + c, mask=c < n_cols, other=0.0, eviction_policy="evict_first").to(tl.float32)
        tl.store(out_ptr + c, (y * (g - dot)).to(tl.bfloat16), mask=c < n_cols)


def kernel(y, grad):
    rows, cols = y.shape
    out = torch.empty_like(y)
    softmax_bwd_two_pass[(rows,)](y, grad, out, cols, BLOCK=512, num_warps=2)
    return out
