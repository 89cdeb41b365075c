import torch
import triton
import triton.language as tl


@triton.jit
def cos_rows_kernel(a_ptr, b_ptr, out_ptr, stride_a, stride_b, n_cols, BLOCK: tl.constexpr):
    """Chunked loop with three vector accumulators (dot, |a|^2, |b|^2), reduced together at the end."""
    row = tl.program_id(0).to(tl.int64)
    a_row = a_ptr + row * stride_a
    b_row = b_ptr + row * stride_b
    ab = tl.zeros([BLOCK], dtype=tl.float32)
    aa = tl.zeros([BLOCK], dtype=tl.float32)
    bb = tl.zeros([BLOCK], dtype=tl.float32)
    for k in range(0, n_cols, BLOCK):
        offs = k + tl.arange(0, BLOCK)
        m = offs < n_cols
        x = tl.load(a_row + offs, mask=m, other=0.0, eviction_policy="evict_first").to(tl.float32)
        y = tl.load(b_row + offs, mask=m, other=0.0, eviction_policy="evict_first").to(tl.float32)
        ab += x * y
        aa += x * x
        bb += y * y
    dot = tl.sum(ab, 0)
    na = tl.sum(aa, 0)
    nb = tl.sum(bb, 0)
    # torch clamps each squared norm by eps^2
    denom = tl.sqrt(tl.maximum(na, 1e-16)) * tl.sqrt(tl.maximum(nb, 1e-16))
    tl.store(out_ptr + row, dot / denom)


def kernel(a, b):
    rows, cols = a.shape
    out = torch.empty(rows, dtype=torch.float32, device=a.device)
    BLOCK = 1024 if cols > 512 else 512
    cos_rows_kernel[(rows,)](a, b, out, a.stride(0), b.stride(0), cols, BLOCK=BLOCK, num_warps=4)
    return out
