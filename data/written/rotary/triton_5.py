import torch
import triton
import triton.language as tl


@triton.jit
def rotary_wide(x_ptr, cos_ptr, sin_ptr, out_ptr, n_vec, heads, ROWS: tl.constexpr, HALF: tl.constexpr):
    """Load the whole head vector as one contiguous [ROWS, 2, HALF] block, then split the halves in registers
    (permute + tl.split), and join them back before one contiguous store. All accesses are full-width."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    rm = r < n_vec
    d = tl.arange(0, 2 * HALF)
    offs = r[:, None] * (2 * HALF) + d[None, :]
    x = tl.load(x_ptr + offs, mask=rm[:, None], other=0.0)
    x = tl.permute(tl.reshape(x, (ROWS, 2, HALF)), (0, 2, 1))
    a, b = tl.split(x)
    a = a.to(tl.float32)
    b = b.to(tl.float32)

    token = r // heads
    i = tl.arange(0, HALF)
    co = token[:, None] * HALF + i[None, :]
    c = tl.load(cos_ptr + co, mask=rm[:, None], other=0.0).to(tl.float32)
    s = tl.load(sin_ptr + co, mask=rm[:, None], other=0.0).to(tl.float32)

    y = tl.join((a * c - b * s).to(tl.float16), (b * c + a * s).to(tl.float16))
    y = tl.reshape(tl.permute(y, (0, 2, 1)), (ROWS, 2 * HALF))
    tl.store(out_ptr + offs, y, mask=rm[:, None])


def kernel(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    n_vec = tokens * heads
    ROWS = max(4, 2048 // dim)
    rotary_wide[(triton.cdiv(n_vec, ROWS),)](x, cos, sin, out, n_vec, heads, ROWS=ROWS, HALF=dim // 2, num_warps=4)
    return out
